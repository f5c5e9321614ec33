"""Target orders: in which order target rows are sampled.

A target order is a sequence of row numbers that can be read from any position to any other one.
Uniform weights give a `RandomOrder`: every row once, in random order, without ever holding them
all. Uneven weights give `WeightedOrder`: independent draws by weight.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.kernels.permutation import N_KEYS, permuted
from protobandit.problem.problem import Problem

_SMALL = 4096
_UNEVEN = 0.5  # share of effective rows below which rows are drawn by weight
_HEAVY = 2.0  # in units of the mean weight: few rows can have a weight above it and matter


class TargetOrder(Protocol):
    """Target rows in the order in which arms are measured at them."""

    def read(self, start: int, stop: int) -> Ids:
        """Return the row numbers at these positions."""
        ...


class RowOrder:
    """Target rows in their own order, for callers that read all of them at once."""

    def read(self, start: int, stop: int) -> Ids:
        return np.arange(start, stop)


class RandomOrder:
    """Every number below ``n`` once, in random order; its memory does not grow with ``n``.

    Above a few thousand rows the order is a keyed Feistel network over the next power of four,
    applied until the number is below ``n`` (Black and Rogaway 2002).
    """

    def __init__(self, n: int, random: np.random.Generator) -> None:
        self.n = n
        self._few = random.permutation(n) if n <= _SMALL else None
        self._keys = random.integers(2**63, size=N_KEYS, dtype=np.int64).astype(np.uint64)

    def read(self, start: int, stop: int) -> Ids:
        stop = min(stop, self.n)
        if self._few is not None:
            return self._few[start:stop]
        out = np.empty(stop - start, dtype=np.int64)
        permuted(start, self.n, self._keys, out)
        return out


class WeightedOrder:
    """Independent draws in proportion to weights; draws that were read are kept."""

    def __init__(self, lottery: WeightedSampler, random: np.random.Generator) -> None:
        self._lottery = lottery
        self._random = random
        self._drawn: Ids = np.empty(0, dtype=np.int64)

    def read(self, start: int, stop: int) -> Ids:
        missing = stop - len(self._drawn)
        if missing > 0:
            self._drawn = np.append(self._drawn, self._lottery.draw(missing, self._random))
        return self._drawn[start:stop]

    @property
    def drawn(self) -> Ids:
        """Return all draws so far."""
        return self._drawn

    def restore(self, drawn: Ids) -> None:
        """Continue after the draws of an earlier run; raise if they cannot be draws."""
        is_valid = drawn.ndim == 1 and are_within(drawn, 0, self._lottery.n_rows)
        require_restorable(is_valid, "rows")
        self._drawn = drawn


class WeightedSampler:
    """Draws rows in proportion to weights, in time logarithmic in their number."""

    def __init__(self, weights: Doubles) -> None:
        self._weights = weights

    @property
    def n_rows(self) -> int:
        """Return the number of rows, drawn or not."""
        return len(self._weights)

    @cached_property
    def _ladder(self) -> Doubles:
        return np.cumsum(self._weights)

    def draw(self, n: int, random: np.random.Generator) -> Ids:
        """Return ``n`` independent draws."""
        return rows_at_shares(self._ladder, random.random(n))


def rows_at_shares(cumulative: Doubles, shares: Doubles) -> Ids:
    """Return the rows at these shares of the total of cumulative weights."""
    last = int(np.searchsorted(cumulative, cumulative[-1]))  # rounding must not go beyond this row
    found = np.searchsorted(cumulative, shares * cumulative[-1], side="right")
    rows: Ids = np.minimum(found, last).astype(np.int64)
    return rows


def draw_rows(n_rows: int, weights: Doubles | None, n: int, random: np.random.Generator) -> Ids:
    """Return ``n`` rows: distinct ones when weights are even, else independent draws by weight."""
    if weights is None:
        return RandomOrder(n_rows, random).read(0, min(n, n_rows))
    return WeightedSampler(weights).draw(n, random)


def order_for(
    problem: Problem, n_rows: list[int], random: np.random.Generator
) -> tuple[TargetOrder, Doubles | None]:
    """Return the order of target rows, and their weights unless the order accounts for them.

    ``n_rows`` are the numbers of rows that will be read, ascending.
    """
    n, weights = len(problem.target), problem.weights
    if n_rows[0] == n or problem.fresh is not None:
        return RowOrder(), weights
    if weights is not None and _is_uneven(weights) and n_rows[-1] < n:
        return WeightedOrder(WeightedSampler(weights), random), None
    return RandomOrder(n, random), weights


def _is_uneven(weights: Doubles) -> bool:
    """Return whether rows should be drawn by weight: the order must not miss heavy rows."""
    n, total = len(weights), weights.sum()
    is_heavy = weights.max() > _HEAVY * total / n
    return bool(is_heavy or total**2 < _UNEVEN * n * (weights @ weights))
