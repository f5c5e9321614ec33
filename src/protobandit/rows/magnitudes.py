"""How large the numbers of rows are, as far as that matters.

Squares and sums of numbers of ordinary size neither overflow nor underflow. One pass shows that
numbers are ordinary; only those that are not are looked at more closely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# The sums of squares of a block that show that its numbers are finite and of ordinary size.
_ORDINARY = {"float32": (1e-30, 1e30), "float64": (1e-130, 1e130)}


def is_ordinary(block: np.ndarray[Any, Any]) -> bool:
    """Return whether a block is known to hold finite numbers of ordinary size, not all 0."""
    low, high = _ORDINARY.get(block.dtype.name, (np.inf, -np.inf))
    numbers = block.ravel(order="K")  # no copy, unless the block has gaps
    with np.errstate(all="ignore"):
        return bool(low < np.vdot(numbers, numbers) < high)


def largest_of(block: np.ndarray[Any, Any]) -> float | None:
    """Return the largest absolute value of finite numbers; None if their size is ordinary."""
    if block.dtype.kind != "f" or is_ordinary(block):
        return None
    return float(max(block.max(initial=0), -block.min(initial=0)))
