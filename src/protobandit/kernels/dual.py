"""Sums over the dual variables of the k-median problem.

Each row t has a price, its dual variable. ``arms[t]`` are the arms with the smallest values for
row t and ``values[t]`` are these values in ascending order, so a loop over a row ends at its price.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.kernels.jit import kernel

Arms = np.ndarray[Any, np.dtype[np.int32]]


def arm_savings_reference(
    arms: Arms, values: Floats, prices: Doubles, weights: Doubles, out: Doubles
) -> None:
    """Write to ``out[i]`` the sum over rows of weight * max(price - value of arm i, 0)."""
    saved = np.maximum(prices[:, None] - values, 0) * weights[:, None]
    out[:] = np.bincount(arms.ravel(), saved.ravel(), minlength=len(out))


@kernel(arm_savings_reference)
def arm_savings(arms, values, prices, weights, out):  # type: ignore[no-untyped-def]
    out[:] = 0.0
    for t in range(values.shape[0]):
        for e in range(values.shape[1]):
            saved = prices[t] - values[t, e]
            if saved <= 0:
                break
            out[arms[t, e]] += weights[t] * saved


def count_serving_arms_reference(
    arms: Arms, values: Floats, prices: Doubles, is_open: Doubles, out: Doubles
) -> None:
    """Write to ``out[t]`` the number of open arms whose value for row t is below its price."""
    out[:] = (is_open[arms] * (values < prices[:, None])).sum(axis=1)


@kernel(count_serving_arms_reference)
def count_serving_arms(arms, values, prices, is_open, out):  # type: ignore[no-untyped-def]
    for t in range(values.shape[0]):
        n = 0.0
        for e in range(values.shape[1]):
            if values[t, e] >= prices[t]:
                break
            n += is_open[arms[t, e]]
        out[t] = n


def block_savings_reference(block: Floats, prices: Doubles, weights: Doubles, out: Doubles) -> None:
    """Write to ``out[i]`` the sum over columns of weight * max(price - block[i], 0)."""
    out[:] = np.maximum(prices - block, 0) @ weights


@kernel(block_savings_reference)
def block_savings(block, prices, weights, out):  # type: ignore[no-untyped-def]
    for i in range(block.shape[0]):
        total = 0.0
        for t in range(block.shape[1]):
            total += weights[t] * max(prices[t] - block[i, t], 0.0)
        out[i] = total
