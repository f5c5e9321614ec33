"""Means, variances and ranges of columns, computed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput

Blocks = Callable[[], Iterator[Doubles]]  # yields all rows in blocks, at each call


class ColumnMoments(NamedTuple):
    """The number of rows, and the mean and variance of each column."""

    n: int
    mean: Doubles
    variance: Doubles


def moments(blocks: Blocks) -> ColumnMoments:
    """Return mean and variance in two passes, which avoids cancellation."""
    with np.errstate(over="ignore", invalid="ignore"):
        n = sum(len(block) for block in blocks())
        mean = _total(block.sum(axis=0) for block in blocks()) / n
        variance = _total(((block - mean) ** 2).sum(axis=0) for block in blocks()) / n
    return ColumnMoments(n, mean, variance)


def _total(parts: Iterator[Doubles]) -> Doubles:
    total = next(parts).copy()
    for part in parts:
        total += part
    return total


def standard_deviations(found: ColumnMoments, label: Callable[[int], str], *, name: str) -> Doubles:
    """Return standard deviations, 0 for columns that are constant up to rounding.

    ``label(at)`` is the name of column ``at`` in errors.
    """
    n, mean, variance = found
    if not np.isfinite(variance).all():
        at = int(np.flatnonzero(~np.isfinite(variance))[0])
        raise InvalidInput(
            f"{name} has numbers in {label(at)} whose squares overflow float64. Rescale that "
            f"column, or omit it."
        )
    eps = np.finfo(np.float64).eps
    is_constant = variance <= n * eps * variance + (n * mean * eps) ** 2
    return np.where(is_constant, 0.0, np.sqrt(variance))


def ranges(blocks: Blocks) -> tuple[Doubles, Doubles]:
    """Return the minimum of each column, and its maximum minus its minimum."""
    low = np.minimum.reduce([block.min(axis=0) for block in blocks()])
    high = np.maximum.reduce([block.max(axis=0) for block in blocks()])
    with np.errstate(over="ignore"):
        return low, high - low
