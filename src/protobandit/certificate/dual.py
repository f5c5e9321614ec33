"""A lower bound on the k-median problem on some target rows, by its dual.

Row t has one value y_ti per arm i. For any prices a_t and any set A of arms,
min over A of y_ti >= a_t - sum over A of max(a_t - y_ti, 0). Average this with weights w_t that sum
to 1. Then no k arms reach less than

    sum_t w_t a_t  -  (sum of the k largest over i of sum_t w_t max(a_t - y_ti, 0)).

This holds for any prices. Subgradient steps raise the bound to the value of the linear relaxation
(Cornuejols, Fisher, Nemhauser 1977). Only the values of each row's nearest arms are stored: a price
is never set above the largest stored value of its row, so values that are not stored contribute 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.selection import smallest
from protobandit.foundation.slices import cuts
from protobandit.kernels.dual import Arms, arm_savings, count_serving_arms
from protobandit.oracle.oracle import Oracle

# Arms stored per row, as multiples of |S| / k: usually, and at least. One in |S| / k arms serves a
# row, and its price rarely exceeds the values of twice as many arms.
_REACH = 4.0
_LEAST_REACH = 1.5
_MOST_CELLS = 1 << 25  # of the table
_TUNED_CELLS = 1 << 22  # of a table of candidates
_LEAST_ROWS = 256  # of the table, even if not all their arms can be stored
_TRANSPOSED_ROWS = 128  # per block
_MOST_STEPS = 1000
_FEW_CELLS = 1 << 18  # of a table on which steps are cheap
_PATIENCE = (6, 20)  # steps without improvement; the second where steps are cheap
_SHORTEST_STEP = 2.0**-7
_WARM_STEP = 0.25  # the first step from given prices
_N_PARTS = 8  # of the rows of a large table, for several threads
_MOMENTUM = 0.7
_TOLERANCE = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class DualSample:
    """Target rows (None: all of them), weights that sum to 1, and the values of their distances.

    ``value(gaps, cut)`` returns y for the gaps d(t, i) - D_t of the rows ``cut`` of the sample,
    where D_t is the distance to the nearest prototype, or ``largest`` if that is less. It increases
    with the gap, and is 0 at 0.
    """

    rows: Ids | None
    weights: Doubles
    value: Callable[[Doubles, slice], Doubles]
    largest: float = math.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class DualTable:
    """Each row's nearest arms with their values in ascending order.

    ``nearest`` is the distance of each row to its nearest prototype.
    """

    n_arms: int
    weights: Doubles
    arms: Arms
    values: Floats
    nearest: Doubles

    @property
    def cost(self) -> float:
        """Return the weighted mean distance to the nearest prototype."""
        return float(self.weights @ self.nearest)

    def least_values(self, arms: Ids) -> Doubles:
        """Return the smallest value of ``arms`` in each row, or the largest one stored."""
        is_chosen = np.zeros(self.n_arms, dtype=bool)
        is_chosen[arms] = True
        values = np.where(is_chosen[self.arms], self.values, np.inf).min(axis=1)
        least: Doubles = np.minimum(values, self.values[:, -1]).astype(np.float64)
        return least


def most_rows(n_arms: int, k: int) -> int:
    """Return the largest number of rows for which a table can store enough arms."""
    return max(_MOST_CELLS // _arms_per_row(_LEAST_REACH, n_arms, k), _LEAST_ROWS)


def fits_table(n_rows: int, n_arms: int, k: int, *, is_large: bool = False) -> bool:
    """Return whether prices of ``n_rows`` rows can be tuned quickly on a table of ``n_arms`` arms.

    If ``is_large``, return whether a table can hold them at all: candidates among few arms are no
    better than all of them.
    """
    most = _MOST_CELLS if is_large else _TUNED_CELLS
    return n_rows * _arms_per_row(_REACH, n_arms, k) <= most


def most_arms(n_rows: int, k: int) -> int:
    """Return the largest number of arms on which prices of ``n_rows`` rows are tuned quickly."""
    return max(math.floor(_TUNED_CELLS / n_rows * max(k / _REACH, 1)), 2 * k)


def _arms_per_row(reach: float, n_arms: int, k: int) -> int:
    return min(n_arms, math.ceil(reach * n_arms / k))


def dual_table(
    oracle: Oracle, prototypes: Ids, sample: DualSample, arms: Ids | None = None
) -> DualTable:
    """Evaluate the arms on the sample, and store each row's nearest arms.

    ``arms`` are source rows in ascending order, the prototypes among them; all of them by default.
    The table numbers them from 0.

    Cost: one evaluation per row and arm.
    """
    sources = np.arange(oracle.problem.n_source) if arms is None else arms
    own = np.searchsorted(sources, prototypes)
    n_arms, n = len(sources), len(sample.weights)
    width = min(_arms_per_row(_REACH, n_arms, len(prototypes)), max(1, _MOST_CELLS // n))
    stored, nearest = np.empty((n, width), dtype=np.int32), np.empty(n)
    values = np.empty((n, width), dtype=np.float32)

    def visit(block: Floats, cut: slice) -> None:
        nearest[cut] = block[own].min(axis=0)
        by_row = _transposed(block)
        near = np.argpartition(by_row, width - 1, axis=1)[:, :width]
        distances = np.take_along_axis(by_row, near, axis=1)
        order = np.argsort(distances, axis=1)
        stored[cut] = np.take_along_axis(near, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1).astype(np.float64)
        base: Doubles = np.minimum(nearest[cut, None], sample.largest)
        rounded = sample.value(distances - base, cut).astype(np.float32)
        # Values are rounded down, so that a lower bound stays a lower bound.
        values[cut] = np.nextafter(rounded, np.float32(-np.inf))

    oracle.each_chunk(sources, visit, sample.rows)
    return DualTable(
        n_arms=n_arms, weights=sample.weights, arms=stored, values=values, nearest=nearest
    )


def _transposed(block: Floats) -> Floats:
    out = np.empty(block.T.shape, dtype=block.dtype)
    for cut in cuts(len(block), _TRANSPOSED_ROWS):  # the whole block would not fit the cache
        out[:, cut] = block[cut].T
    return out


class DualSolution(NamedTuple):
    """A lower bound on the weighted mean of the values of any k arms, and its prices.

    ``opened`` are the k arms with the largest savings at these prices: a guess at the best arms.
    """

    bound: float
    prices: Doubles
    opened: Ids


def solve_dual(
    oracle: Oracle, table: DualTable, k: int, start: Doubles | None = None
) -> DualSolution:
    """Return a lower bound on the weighted mean of the values of any ``k`` arms.

    The first prices are ``start``, or 0, that is D_t: they give the bound by submodularity. A
    subgradient at row t is 1 minus the number of open arms that serve it. The step length is
    Polyak's towards 0, the value that the prototypes themselves reach. If the bound does not
    improve for some steps, the search returns to the best prices and halves the step length.
    """
    weights, sums = table.weights, _Sums(oracle, table)
    patience = _PATIENCE[table.values.size <= _FEW_CELLS]
    caps = table.values[:, -1].astype(np.float64)
    # Every set has at least the mean of the least values. They have the unit of the bound; the
    # distances of the table may have another one.
    enough = _TOLERANCE * float(weights @ np.minimum(table.values[:, 0], 0.0))
    no_direction = np.zeros(len(weights))
    prices = best_prices = np.minimum(0.0 if start is None else start, caps)
    best, n_stale, direction, best_opened = -np.inf, 0, no_direction, np.arange(k)
    step = 1.0 if start is None else _WARM_STEP
    for _ in range(_MOST_STEPS):
        worth = sums.savings(prices)
        opened = smallest(-worth, k)
        bound = float(weights @ prices - worth[opened].sum())
        n_stale += 1
        if bound > best:
            best, best_prices, best_opened, n_stale = bound, prices, opened, 0
        elif n_stale > patience:
            prices, step, n_stale, direction = best_prices, step / 2, 0, no_direction
            if step < _SHORTEST_STEP:
                break
            continue
        direction = _MOMENTUM * direction + (1 - sums.n_serving(prices, opened))
        length = float(weights @ direction**2)
        if length == 0 or bound >= enough:
            break
        prices = np.minimum(prices - step * bound / length * direction, caps)
    return DualSolution(min(best, 0.0), best_prices, best_opened)


class _Sums:
    """The sums of a table for given prices, on all threads.

    The table alone determines how its rows are divided, so the sums have the same bits on any
    number of threads.
    """

    def __init__(self, oracle: Oracle, table: DualTable) -> None:
        self._oracle = oracle
        self._table = table
        n, size = len(table.weights), table.values.size
        n_parts = _N_PARTS if size >= _N_PARTS * max(table.n_arms, _FEW_CELLS) else 1
        self._cuts = list(cuts(n, -(-n // n_parts)))
        self._worth = np.empty((len(self._cuts), table.n_arms))
        self._served = np.empty(n)

    def savings(self, prices: Doubles) -> Doubles:
        """Return for each arm the weighted sum of max(price - value, 0)."""
        table = self._table

        def fill(part: int) -> None:
            cut = self._cuts[part]
            rows = table.arms[cut], table.values[cut], prices[cut], table.weights[cut]
            arm_savings(*rows, self._worth[part])

        self._oracle.share(fill, range(len(self._cuts)), table.values.size)
        worth: Doubles = self._worth.sum(axis=0)
        return worth

    def n_serving(self, prices: Doubles, opened: Ids) -> Doubles:
        """Return for each row the number of open arms with a value below its price."""
        table, is_open = self._table, np.zeros(self._table.n_arms)
        is_open[opened] = 1

        def fill(part: int) -> None:
            cut = self._cuts[part]
            rows = table.arms[cut], table.values[cut], prices[cut]
            count_serving_arms(*rows, is_open, self._served[cut])

        self._oracle.share(fill, range(len(self._cuts)), table.values.size)
        return self._served
