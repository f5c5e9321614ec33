"""The smallest of many numbers, the same ones on every processor."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Floats, Ids


def smallest(values: Floats, n: int) -> Ids:
    """Return the positions of the ``n`` smallest values, ascending; of equal ones the first.

    `numpy.argpartition` takes some of the equal ones, and which depends on the processor.
    """
    if n >= len(values):
        return np.arange(len(values))
    if n <= 0:
        return np.arange(0)
    limit = np.partition(values, n - 1)[n - 1]
    is_chosen = values < limit
    equal = np.flatnonzero(values == limit)
    is_chosen[equal[: n - np.count_nonzero(is_chosen)]] = True
    return np.flatnonzero(is_chosen)
