"""The dual of the k-median problem: what rows would pay, and whom.

Row t has a price, the most it would pay to be served. ``arms[t]`` are the arms that serve it
cheapest and ``values[t]`` at what cost, cheapest first: a loop over a row ends at its price.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.kernels.jit import kernel

Arms = np.ndarray[Any, np.dtype[np.int32]]


def worths_reference(
    arms: Arms, values: Floats, prices: Doubles, weights: Doubles, out: Doubles
) -> None:
    """Write to ``out[i]`` what the rows would save by arm i: sum of w (price - value) where > 0."""
    saved = np.maximum(prices[:, None] - values, 0) * weights[:, None]
    out[:] = np.bincount(arms.ravel(), saved.ravel(), minlength=len(out))


@kernel(worths_reference)
def worths(arms, values, prices, weights, out):  # type: ignore[no-untyped-def]
    out[:] = 0.0
    for t in range(values.shape[0]):
        for e in range(values.shape[1]):
            saved = prices[t] - values[t, e]
            if saved <= 0:
                break
            out[arms[t, e]] += weights[t] * saved


def servers_reference(
    arms: Arms, values: Floats, prices: Doubles, is_open: Doubles, out: Doubles
) -> None:
    """Write to ``out[t]`` how many of the open arms serve row t below its price."""
    out[:] = (is_open[arms] * (values < prices[:, None])).sum(axis=1)


@kernel(servers_reference)
def servers(arms, values, prices, is_open, out):  # type: ignore[no-untyped-def]
    for t in range(values.shape[0]):
        n = 0.0
        for e in range(values.shape[1]):
            if values[t, e] >= prices[t]:
                break
            n += is_open[arms[t, e]]
        out[t] = n
