"""Far rows: few target rows so far from all prototypes that they may dominate the cost.

Theory of operation
-------------------
The first rung reads few target rows. A small cluster far from all others has perhaps none of them;
then its arms look useless and leave the race. So, after the first rung:

1. **Search.** More target rows are read than on any rung of a fast race, and those whose distance
   to every prototype exceeds a limit are found. The limit is a multiple of the typical distance. It
   is low for the first few thousand rows and higher for the others: a cluster that matters is
   either large or very far. A row is near as soon as one distance is within the limit, so that most
   rows need one to five evaluations instead of k. Three prototypes, the pivots, are compared first.
   The others follow in the order in which their nearest rows of the first rung resemble the row,
   judged by the distances to the pivots. The order has no effect on which rows are far. A prototype
   without a near row on the first rung does not count: it serves a few outliers there, and swaps
   that know of no row near it could remove it. Rows of very large weight count as far, whatever
   their distance, unless rows are drawn by weight: one such row can have most of the cost, and the
   first rung has it only by chance. They are found among all rows, without evaluations.
2. **Evidence.** If the far rows have a negligible share of the cost, nothing else happens. If very
   far rows have a share, more rows are read, so that the share is well estimated.
3. **Arms near far rows.** For up to 12 prototypes, all arms are measured at up to 64 far rows.
   Otherwise a far row is drawn in proportion to its weighted distance, as k-means++
   does. Its distances to all arms are computed, and the distances of some of the nearest arms to
   all far rows. The best of these would be its prototype; distances are updated, and the next row
   is drawn, until the far rows that are left have a negligible share.
   If there are too many far rows, some are left out. A cluster much farther than the others has
   almost all of their cost, but none once it has a prototype. So rows are first drawn from all far
   rows in this way, which divides them into groups, and every group keeps some of its rows.
4. **Strata.** The far rows stay in the sample for the rest of the race. A far row was found among
   ``extent`` rows of the target order. On a rung with n rows it has n / extent of its weight, but
   at most its weight, and the rung skips it in the order. So every rung has all far rows, and they
   count as much as they do in the target.

A row whose nearest source row is already a prototype cannot be improved. Rows with almost the same
distances to all prototypes are probably alike, so they are drawn less often after that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder, rows_at_shares
from protobandit.search.objectives.swap_state import SwapState, reach

_TYPICAL_ROWS = 128  # compared with all prototypes, to find the typical distance
_TRIMMED = 0.05  # share of the largest distances that are not typical
_MOST_TRIMMED = 0.25  # the same if there is a gap below more of them: several far clusters
_FAR = 5.0  # in units of the typical distance
_VERY_FAR = 15.0
# A cluster with a share p of the rows has no row among n with probability exp(-n p).
_FAR_ROWS = 4_500
SEARCHED_ROWS = 24_000
_MORE_ROWS = 72_000  # if there is evidence of very far rows
_EVIDENCE = 0.02  # share of the cost
_WEAK_EVIDENCE = 0.005  # for reading more rows
MOST_FAR_ROWS = 256  # that stay in the sample, unless all of the target is read
_GROUPED_ROWS = 2048  # far rows that are divided into groups, if some must be left out
_HEAVY = 10.0  # in units of the mean weight
_MOST_HEAVY_ROWS = 256  # if there are many more, the first rung has some of them
_FEWEST_DRAWS = 32  # at most, for few prototypes
_DRAWS_PER_PROTOTYPE = 2
_NEAREST_ARMS = 8  # of a drawn row
_OTHER_ARMS = 8  # much nearer to it than its prototype
_FEW_PROTOTYPES = 12  # up to here, all arms are measured at the far rows
_FAR_ROWS_OF_ALL_ARMS = 64
_IMPROVED = 0.9  # of its distance: a row above this is not improved
_ALIKE = 0.25  # of its distance: rows that differ less in their distances to prototypes are alike
_PIVOTS = 3
_PER_ROW = 1.5  # evaluations of a row that is not far (measured; for predictions only)
_BLOCK_ENTRIES = 1 << 22
_BLOCK_ROWS = 4096
_LIMITED_BLOCK_ROWS = 256  # a block must be within the budget even if all of its rows are far
_BUDGET = 0.1  # share of the evaluations left, if they are limited


def expected_evaluations(n_first: int, n_target: int, k: int, evaluations: int | None) -> float:
    """Return about how many dissimilarities the search computes if there are no far rows.

    ``evaluations`` is the limit of the race, if any.
    """
    n_rows = max(min(SEARCHED_ROWS, n_target) - n_first, 0)
    expected = _PER_ROW * n_rows + k * min(_TYPICAL_ROWS, n_target - n_first)
    return expected if evaluations is None else min(expected, _BUDGET * evaluations)


def most_evaluations(n_arms: int, n_target: int | None, k: int, n_whole: int = 0) -> int:
    """Return how many dissimilarities the search never exceeds; its `Budget` enforces it.

    Every row may have to be compared with every prototype. A draw computes one column, the
    distances of a few arms to all far rows that are kept, and those of one arm to all far rows that
    are grouped. ``n_target`` is None if the target order can repeat rows. ``n_whole`` is the number
    of rows of the first rung if the race reads all of the target.
    """
    per_draw = n_arms + (_NEAREST_ARMS + _OTHER_ARMS) * MOST_FAR_ROWS
    # Rows are drawn by weight, or those of large weight are compared with all prototypes.
    n_rows = _MORE_ROWS if n_target is None else min(_MORE_ROWS, n_target) + _MOST_HEAVY_ROWS
    n_of_all_arms = max(_FAR_ROWS_OF_ALL_ARMS, n_whole) if k <= _FEW_PROTOTYPES else 0
    near_rows = max(_most_draws(k) * per_draw, n_of_all_arms * n_arms)
    for_groups = _most_draws(k) * _GROUPED_ROWS
    return k * (n_rows + _TYPICAL_ROWS) + near_rows + for_groups


def _most_draws(k: int) -> int:
    """Return how many far rows are drawn at most: k prototypes can serve k far clusters."""
    return max(_FEWEST_DRAWS, _DRAWS_PER_PROTOTYPE * k)


@dataclass(frozen=True, eq=False)
class Strata:
    """The weights of the rows of the first rung and of the far rows, which depend on the rung.

    ``positions`` are those of all far rows in the target order, ascending. ``weights`` and
    ``extents`` have one number per row.
    """

    positions: Ids
    weights: Doubles
    extents: Doubles

    def weights_on(self, n_rows: int) -> Doubles:
        """Return the weights on a rung that reads this many rows."""
        return self.weights * np.minimum(1.0, n_rows / self.extents)


@dataclass(frozen=True, eq=False)
class FarSample:
    """Far rows that join the sample.

    Attributes
    ----------
    strata
        The weights of the rows of the first rung, and then of the far rows.
    rows, targets, matrix
        The numbers of the far rows, their operand, and their distances to the prototypes.
    drawn, columns
        Far rows, by position in ``rows``, whose distances to all arms are ``columns``, one row per
        drawn row.
    arms, distances
        Arms whose distances to all far rows are ``distances``, ascending.
    is_cut
        Whether distances that cannot matter with the present prototypes are left out.
    """

    strata: Strata
    rows: Ids
    targets: Operand
    matrix: Floats
    drawn: Ids
    columns: Floats
    arms: Ids
    distances: Floats
    is_cut: bool = True

    def entries(self) -> tuple[Ids, Ids, Floats]:
        """Return arms, ascending, far rows and distances: all that are known and may matter.

        At a row, arms farther than its fourth prototype are left out, as on the first rung, unless
        there are few prototypes.
        """
        limits = reach(self.matrix) if self.is_cut else np.full(len(self.rows), np.inf)
        is_other = np.ones(self.columns.shape[1], dtype=bool)
        is_other[self.arms] = False
        others, drawn = np.nonzero((self.columns < limits[self.drawn, None]).T & is_other[:, None])
        own, rows = np.nonzero(self.distances < limits)
        arms = np.concatenate([others, self.arms[own]])
        order = np.argsort(arms, kind="stable")
        return (
            arms[order].astype(np.int32),
            np.concatenate([self.drawn[drawn], rows])[order].astype(np.int32),
            np.concatenate([self.columns[drawn, others], self.distances[own, rows]])[order],
        )


@dataclass(frozen=True, eq=False)
class _Found:
    """Far rows by position in the target order, with their distances to all prototypes."""

    positions: Ids
    rows: Ids
    matrix: Floats

    @property
    def nearest(self) -> Doubles:
        nearest: Doubles = self.matrix.min(axis=0).astype(np.float64)
        return nearest

    def at(self, where: Any) -> _Found:
        """Return some of these rows."""
        return _Found(self.positions[where], self.rows[where], self.matrix[:, where])


class Budget:
    """The evaluations that the search for far rows may use: ``most``, and a share of the limit."""

    def __init__(self, oracle: Oracle, evaluations: int | None, most: int | None = None) -> None:
        self._oracle = oracle
        self.is_limited = evaluations is not None  # ``most`` suffices if all rows are far
        self.is_exceeded = False
        spent = oracle.evaluations.total()
        self._most = math.inf if most is None else spent + most
        if evaluations is not None:
            self._most = min(self._most, spent + _BUDGET * (evaluations - spent))

    def allows(self, n: int) -> bool:
        """Return whether ``n`` more evaluations are within the budget; remember if they are not."""
        if self._oracle.evaluations.total() + n <= self._most:
            return True
        self.is_exceeded = True
        return False


class FarRowSearch:
    """The search for far rows after the first rung.

    Parameters
    ----------
    oracle, order
        The problem and its target order.
    arms
        The source rows that take part.
    swap_state
        The prototypes, on the rows of the first rung.
    weights
        The weights of all target rows, or None if the order accounts for them.
    is_whole
        Whether the race reads all of the target. Then all far rows stay in the sample.
    budget
        The evaluations that may be used.
    """

    def __init__(
        self,
        oracle: Oracle,
        order: TargetOrder,
        arms: Ids,
        swap_state: SwapState,
        *,
        weights: Doubles | None,
        is_whole: bool,
        budget: Budget,
    ) -> None:
        self._oracle = oracle
        self._order = order
        self._arms = arms
        self._state = swap_state
        self._weights = weights
        self._is_whole = is_whole
        self._budget = budget
        self._prototypes = arms[swap_state.members]
        self._n_first = len(swap_state.weights)
        # Draws by weight never end, and can repeat a row.
        self._can_repeat = isinstance(order, WeightedOrder)
        self._n_rows = _MORE_ROWS if self._can_repeat else len(oracle.problem.target)
        self._near: Ids = np.empty(0, dtype=np.int64)
        self._common: Ids = np.arange(len(self._prototypes))  # those with near rows in the sample

    def find(self, random: np.random.Generator) -> FarSample | None:
        """Return the far rows with arms near them, or None if they do not matter."""
        typical = self._typical_distance()
        if typical is None:
            return None
        found, extents = self._far_rows(typical)
        weights = self._weights_of(found.rows)
        scale = typical * self._mean_weight()
        shares = weights * found.nearest / extents
        risk = (weights * found.matrix[self._common].min(axis=0) / extents).sum()
        if not risk > _EVIDENCE * (scale + risk):
            return None
        is_first = found.positions < self._n_first
        # What a row costs if its prototype goes: a far cluster that has one must keep its rows.
        losses = weights * _second_nearest(found.matrix) / extents
        has_few = len(self._prototypes) <= _FEW_PROTOTYPES
        most = _FAR_ROWS_OF_ALL_ARMS if has_few else MOST_FAR_ROWS
        losses[is_first] = 0.0
        kept, factors, columns = self._thinned(found, losses, shares, scale, most, random)
        if len(kept) == 0:
            return None
        targets = self._oracle.targets(found.rows[kept])
        matrix = np.ascontiguousarray(found.matrix[:, kept])
        sample: dict[str, Any] = {
            "strata": self._strata(found, extents, kept, weights[kept] * factors),
            "rows": found.rows[kept],
            "targets": targets,
            "matrix": matrix,
        }
        n_arms = len(self._arms)
        most = max(most, self._n_first) if self._is_whole else most
        n_new = n_arms * (len(kept) - len(columns))
        if has_few and len(kept) <= most and self._budget.allows(n_new):
            # The other prototypes may be far away: if one moves, all of its rows must be known.
            return FarSample(
                **sample,
                drawn=np.arange(len(kept)),
                columns=self._all_columns(targets, columns),
                arms=np.empty(0, dtype=np.int64),
                distances=np.empty((0, len(kept)), dtype=self._oracle.dtype),
                is_cut=False,
            )
        near = _NearFarRows(self._oracle, self._arms, targets, matrix, self._budget, columns)
        near.draw(shares[kept] * factors, scale, random)
        arms = sorted(near.arms)
        return FarSample(
            **sample,
            drawn=np.array(near.drawn, dtype=np.int64),
            columns=np.array(near.columns, dtype=self._oracle.dtype).reshape(-1, n_arms),
            arms=np.array(arms, dtype=np.int64),
            distances=np.array([near.arms[arm] for arm in arms], dtype=self._oracle.dtype).reshape(
                -1, len(kept)
            ),
        )

    # -- which rows are far ---------------------------------------------------------------------

    def _typical_distance(self) -> float | None:
        """Return the mean distance to the nearest prototype, without the largest, or None."""
        stop = min(self._n_first + _TYPICAL_ROWS, self._n_rows)
        n = stop - self._n_first
        if n == 0 or not self._budget.allows(n * len(self._prototypes)):
            return None
        rows = self._order.read(self._n_first, stop)
        nearest = self._oracle.distances(self._prototypes, self._oracle.targets(rows)).min(axis=0)
        return _typical(nearest.astype(np.float64))

    def _far_rows(self, typical: float) -> tuple[_Found, Doubles]:
        """Return the far rows and, for each, among how many rows it was found."""
        far, very_far = _FAR * typical, _VERY_FAR * typical
        # Rows near another prototype are not in the sample, so it may go, and they become far.
        has_near: Any = (self._state.matrix <= far).any(axis=1)
        if has_near.any():
            self._common = np.flatnonzero(has_near)
        nearest = self._state.matrix[self._common].min(axis=0)
        own = np.flatnonzero((far < nearest) & (self._state.weights > 0))
        first = _Found(own, self._order.read(0, self._n_first)[own], self._state.matrix[:, own])
        heavy = self._heavy_rows()
        low, n_low = self._beyond(self._n_first, self._extent(_FAR_ROWS), far)
        high, n_high = self._beyond(n_low, self._extent(SEARCHED_ROWS), very_far)
        parts = [first, low, high]
        if n_high == self._extent(SEARCHED_ROWS) and self._has_very_far(parts, typical, n_high):
            more, n_high = self._beyond(n_high, self._extent(_MORE_ROWS), very_far)
            parts.append(more)
        found = _joined(parts)
        found = found.at(~np.isin(found.positions, heavy.positions))
        nearest = found.matrix[self._common].min(axis=0)
        extents = np.where(nearest > very_far, float(n_high), float(n_low))
        extents = np.append(extents, np.full(len(heavy.positions), float(self._n_rows)))
        return _joined([found, heavy]), np.maximum(extents, self._n_first)

    def _heavy_rows(self) -> _Found:
        """Return the rows of largest weight that are not in the sample."""
        none = np.empty(0, dtype=np.int64)
        nothing = _Found(none, none, self._state.matrix[:, :0])
        if self._weights is None or self._can_repeat:
            return nothing
        limit = _HEAVY * self._mean_weight()
        if not self._weights.max() > limit:
            return nothing
        rows = self._order.read(self._n_first, self._n_rows)
        weights = self._weights[rows]
        heavy = np.flatnonzero(weights > limit)
        heavy = np.sort(heavy[np.argsort(-weights[heavy], kind="stable")[:_MOST_HEAVY_ROWS]])
        if len(heavy) == 0 or not self._budget.allows(len(heavy) * len(self._prototypes)):
            return nothing
        targets = self._oracle.targets(rows[heavy])
        matrix = self._oracle.distances(self._prototypes, targets)
        return _Found(self._n_first + heavy, rows[heavy], matrix)

    def _extent(self, n: int) -> int:
        """Return how many rows are read: ``n``, all there are, or those of the first rung."""
        return max(min(n, self._n_rows), self._n_first)

    def _has_very_far(self, parts: list[_Found], typical: float, n_rows: int) -> bool:
        found = _joined(parts)
        sums = self._weights_of(found.rows) * found.nearest * (found.nearest > _VERY_FAR * typical)
        share = sums.sum() / n_rows
        return bool(share > _WEAK_EVIDENCE * (typical * self._mean_weight() + share))

    def _beyond(self, start: int, stop: int, limit: float) -> tuple[_Found, int]:
        """Return the rows at these positions beyond the limit, and where the budget ended them."""
        k = len(self._prototypes)
        rows = self._order.read(start, stop)
        parts = [_Found(rows[:0], rows[:0], self._state.matrix[:, :0])]
        common, rare = self._common, np.delete(np.arange(k), self._common)
        scan = FarRowScan(self._oracle, self._prototypes[common], self._state.matrix[common], limit)
        most = _LIMITED_BLOCK_ROWS if self._budget.is_limited else _BLOCK_ROWS
        for cut in cuts(len(rows), min(most, max(_LIMITED_BLOCK_ROWS, _BLOCK_ENTRIES // k))):
            others = self._unseen(rows[cut])
            if not self._budget.allows(k * len(others)):
                return _joined(parts), start + cut.start
            targets = self._oracle.targets(others)
            places, block = scan.beyond(targets)
            matrix = np.empty((k, len(places)), dtype=self._oracle.dtype)
            matrix[common] = block
            if len(rare) and len(places):
                matrix[rare] = self._oracle.distances(self._prototypes[rare], targets.take(places))
            if self._can_repeat:
                self._near = np.concatenate([self._near, np.delete(others, places)])
            far = others[places]
            at = np.flatnonzero(np.isin(rows[cut], far))
            own = np.searchsorted(far, rows[cut][at])
            parts.append(_Found(start + cut.start + at, rows[cut][at], matrix[:, own]))
        return _joined(parts), start + len(rows)

    def _unseen(self, rows: Ids) -> Ids:
        """Return distinct rows, ascending, that have a weight and are not known to be near."""
        if self._can_repeat:
            rows = np.unique(rows)
            return rows[~np.isin(rows, self._near)]
        rows = np.sort(rows)
        return rows[self._weights_of(rows) > 0]

    # -- weights --------------------------------------------------------------------------------

    def _weights_of(self, rows: Ids) -> Doubles:
        return np.ones(len(rows)) if self._weights is None else self._weights[rows]

    def _mean_weight(self) -> float:
        return 1.0 if self._weights is None else float(self._weights.mean())

    def _thinned(
        self,
        found: _Found,
        losses: Doubles,
        shares: Doubles,
        rest: float,
        most: int,
        random: np.random.Generator,
    ) -> tuple[Ids, Doubles, dict[int, Floats]]:
        """Return the far rows that stay, and by which factor the weight of each is raised.

        Rows are drawn in proportion to their losses, those with a large loss always; and from every
        group of rows, in which they are drawn in proportion to their losses too. Rows whose
        distances to all arms were computed for that stay; these distances are returned too, by
        position among the rows that stay.
        """
        others = np.flatnonzero(losses > 0)
        if self._is_whole or len(others) <= most:
            return others, np.ones(len(others)), {}
        losses = losses[others] / losses.sum()
        kept, factors = _drawn(losses + 1 / len(others), _GROUPED_ROWS, random)
        others, losses = others[kept], losses[kept] * factors
        near = _NearFarRows(
            self._oracle,
            self._arms,
            self._oracle.targets(found.rows[others]),
            found.matrix[:, others],
            self._budget,
            n_nearest=1,
            n_others=0,
        )
        near.draw(shares[others] * factors, rest, random, most=most // 2)
        groups = near.groups()
        sums = np.bincount(groups, losses)
        sizes = losses + losses / sums[groups] / np.count_nonzero(sums)
        sizes[near.drawn] = sizes.sum()
        order = np.argsort(groups, kind="stable")
        kept, raised = _drawn(sizes[order], most, random)
        kept = order[kept]
        places = {int(row): place for place, row in enumerate(kept)}
        pairs = zip(near.drawn, near.columns, strict=True)
        columns = {places[row]: column for row, column in pairs if row in places}
        return others[kept], factors[kept] * raised, columns

    def _all_columns(self, targets: Operand, known: dict[int, Floats]) -> Floats:
        """Return the distances of far rows to all arms, of which some are known."""
        columns = np.empty((len(targets), len(self._arms)), dtype=self._oracle.dtype)
        for place, column in known.items():
            columns[place] = column
        new = np.setdiff1d(np.arange(len(targets)), list(known))
        block = np.empty((len(self._arms), len(new)), dtype=self._oracle.dtype)
        self._oracle.tabulate(self._arms, targets.take(new), block)
        columns[new] = block.T
        return columns

    def _strata(self, found: _Found, extents: Doubles, kept: Ids, weights: Doubles) -> Strata:
        first_weights, first_extents = self._state.weights.copy(), np.ones(self._n_first)
        own = np.flatnonzero(found.positions < self._n_first)
        first_extents[found.positions[own]] = extents[own]
        return Strata(
            positions=np.sort(found.positions),
            weights=np.concatenate([first_weights, weights]),
            extents=np.concatenate([first_extents, extents[kept]]),
        )


def _typical(distances: Doubles) -> float:
    """Return the mean without the largest distances, and without those beyond a gap."""
    ordered = np.sort(distances)
    fewest, most = (max(1, round((1 - cut) * len(ordered))) for cut in (_MOST_TRIMMED, _TRIMMED))
    means = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    others, before = ordered[fewest:most], slice(fewest - 1, most - 1)
    is_far = (others > _VERY_FAR * means[before]) & (others > _FAR * ordered[before])
    is_far &= ordered[before] > 0  # repeated rows are no gap
    n = fewest + int(is_far.argmax()) if is_far.any() else most
    return float(ordered[:n].mean())


def _second_nearest(matrix: Floats) -> Doubles:
    """Return the distances of rows to their second nearest prototype."""
    second: Doubles = np.partition(matrix, 1, axis=0)[1].astype(np.float64)
    return second


def _drawn(sizes: Doubles, n: int, random: np.random.Generator) -> tuple[Ids, Doubles]:
    """Draw about ``n`` numbers in proportion to sizes; return them and 1 / their probabilities.

    Every run of consecutive numbers has as many of them as it should, rounded up or down.
    """
    if n >= len(sizes):
        return np.arange(len(sizes)), np.ones(len(sizes))
    chances = _inclusion(sizes, n)
    ticks = np.floor(np.cumsum(chances) + random.random())
    kept = np.flatnonzero(np.diff(ticks, prepend=0.0) > 0)
    return kept, 1.0 / chances[kept]


def _inclusion(sizes: Doubles, n: int) -> Doubles:
    """Return probabilities, at most 1, in proportion to sizes, whose sum is about ``n``."""
    ordered = np.sort(sizes)[::-1]
    rest = np.cumsum(ordered[::-1])[::-1]
    # If the i largest are certain, the others share n - i in proportion.
    factors = (n - np.arange(n)) / rest[:n]
    n_certain = int(np.argmax(factors * ordered[:n] <= 1.0))
    chances: Doubles = np.minimum(1.0, factors[n_certain] * sizes)
    return chances


def _joined(parts: list[_Found]) -> _Found:
    return _Found(
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.hstack([part.matrix for part in parts]),
    )


class FarRowScan:
    """Find rows beyond a limit from all prototypes, with few evaluations for the others.

    ``matrix`` has the distances of the prototypes to the rows of the first rung.
    """

    def __init__(self, oracle: Oracle, prototypes: Ids, matrix: Floats, limit: float) -> None:
        self._oracle = oracle
        self._prototypes = prototypes
        self._limit = limit
        self._pivots = _pivots(matrix <= limit)
        self._others = np.setdiff1d(np.arange(len(prototypes)), self._pivots)
        # What the pivots are expected to see of a row that is near each other prototype.
        self._views = matrix[self._pivots][:, matrix[self._others].argmin(axis=1)]

    def beyond(self, targets: Operand) -> tuple[Ids, Floats]:
        """Return which rows are beyond the limit, and their distances to all prototypes."""
        known = np.full((len(self._prototypes), len(targets)), np.inf, dtype=self._oracle.dtype)
        left = np.arange(len(targets))
        for pivot in self._pivots:
            known[pivot, left] = self._compared(pivot, targets, left)
            left = left[known[pivot, left] > self._limit]
        gaps = self._gaps(known[np.ix_(self._pivots, left)])
        order = gaps.argmin(axis=1)[:, None] if gaps.size else np.zeros((len(left), 0), dtype=int)
        for some in _rounds(len(self._others)):
            if some.start == 1:
                order = np.argsort(gaps, axis=1, kind="stable")
            self._compare(targets, left, self._others[order[:, some]], known)
            is_left = known[:, left].min(axis=0) > self._limit
            left, order, gaps = left[is_left], order[is_left], gaps[is_left]
        return left, known[:, left]

    def _compared(self, slot: int, targets: Operand, rows: Ids) -> Floats:
        if len(rows) == 0:
            return np.empty(0, dtype=self._oracle.dtype)
        some = targets if len(rows) == len(targets) else targets.take(rows)
        distances: Floats = self._oracle.distances(self._prototypes[[slot]], some)[0]
        return distances

    def _gaps(self, seen: Floats) -> Floats:
        """Return how much each other prototype differs from each row, as the pivots see it."""
        gaps = np.zeros((seen.shape[1], len(self._others)), dtype=seen.dtype)
        for ours, theirs in zip(self._views, seen, strict=True):
            np.maximum(gaps, abs(theirs[:, None] - ours), out=gaps)
        return gaps

    def _compare(self, targets: Operand, rows: Ids, slots: Ids, known: Floats) -> None:
        """Compute the distances of each row to its slots."""
        if slots.size == 0:
            return
        flat = slots.ravel()
        order = np.argsort(flat, kind="stable")
        edges = np.flatnonzero(np.diff(flat[order], prepend=-1))
        groups = np.split(order, edges[1:])
        own = [rows[group // slots.shape[1]] for group in groups]
        patches = [
            (self._prototypes[flat[group[:1]]], targets.take(some))
            for group, some in zip(groups, own, strict=True)
        ]

        def place(block: Floats, patch: int) -> None:
            known[flat[groups[patch][0]], own[patch]] = block[0]

        self._oracle.each_patch(patches, place)


def _pivots(is_within: Any) -> Ids:
    """Return a few prototypes that together have many rows within the limit, best first."""
    left = np.ones(is_within.shape[1], dtype=bool)
    pivots: list[int] = []
    for _ in range(min(_PIVOTS, len(is_within))):
        counts = np.count_nonzero(is_within & left, axis=1)
        counts[pivots] = -1
        pivots.append(int(counts.argmax()))
        left &= ~is_within[pivots[-1]]
    return np.array(pivots)


def _rounds(n: int) -> Iterator[slice]:
    """Yield slices of lengths 1, 3, 12, ... that cover ``n``."""
    start, stop = 0, 1
    while start < n:
        yield slice(start, min(stop, n))
        start, stop = stop, 4 * stop


class _NearFarRows:
    """Draws far rows, and finds arms near them.

    The ``n_nearest`` arms of a drawn row are measured at all far rows, and ``n_others`` of those
    that are much nearer to it than its prototype. Rows whose distances to all arms are ``known``
    are drawn first.
    """

    def __init__(
        self,
        oracle: Oracle,
        arms: Ids,
        targets: Operand,
        matrix: Floats,
        budget: Budget,
        known: dict[int, Floats] | None = None,
        *,
        n_nearest: int = _NEAREST_ARMS,
        n_others: int = _OTHER_ARMS,
    ) -> None:
        self._oracle = oracle
        self._sources = arms
        self._targets = targets
        self._matrix = matrix
        self._budget = budget
        self._known = known or {}
        self._n_nearest = n_nearest
        self._n_others = n_others
        self.drawn: list[int] = []
        self.columns: list[Floats] = []
        self.arms: dict[int, Floats] = {}  # an arm's distances to all far rows

    def draw(
        self,
        shares: Doubles,
        rest: float,
        random: np.random.Generator,
        most: int | None = None,
    ) -> None:
        """Draw far rows until the others have a negligible share of the cost.

        ``shares`` are the parts of the cost that belong to the far rows; ``rest`` is the other
        part. ``most`` is a limit of the number of draws.
        """
        before = self._matrix.min(axis=0).astype(np.float64)
        nearest, chances = before.copy(), np.ones(len(before))
        # A row at a prototype has no share.
        weights = np.divide(shares, before, out=np.zeros(len(before)), where=before > 0)
        for_arms = (self._n_nearest + self._n_others) * len(before)
        first, n_draws = list(self._known), _most_draws(len(self._matrix))
        for number in range(n_draws if most is None else min(n_draws, most)):
            sizes = chances * weights * nearest
            left = sizes.sum()
            n_new = for_arms + (0 if number < len(first) else len(self._sources))
            if not left > _EVIDENCE * (rest + left) or not self._budget.allows(n_new):
                return
            if number < len(first):
                row = first[number]
            else:
                row = int(rows_at_shares(np.cumsum(sizes), random.random(1))[0])
            found, former = self._near(row, nearest[row]), nearest[row]
            nearest = np.minimum(nearest, self._best(found, weights, nearest))
            if nearest[row] > _IMPROVED * former:
                gaps = abs(self._matrix - self._matrix[:, [row]]).max(axis=0)
                chances[gaps <= _ALIKE * before[row]] /= 4

    def groups(self) -> Ids:
        """Return for each far row the measured arm nearest to it, or 0 if no one is nearer."""
        nearest: Ids = np.vstack([self._matrix.min(axis=0), *self.arms.values()]).argmin(axis=0)
        return nearest

    def _near(self, row: int, nearest: float) -> Ids:
        """Return arms near a far row, whose distances to all far rows are then known."""
        column = self._column(row)
        nearer = np.flatnonzero(column < nearest / 2)
        n_nearer, n = len(nearer), self._n_nearest
        if n_nearer == 0:
            nearer = np.array([column.argmin()])
        order = nearer[np.argsort(column[nearer], kind="stable")]
        spread = np.linspace(n, max(n_nearer - 1, n), self._n_others)
        ranks = np.append(np.arange(n), spread.astype(np.int64))
        chosen: Ids = np.unique(order[ranks[ranks < len(order)]])
        new = chosen[[int(arm) not in self.arms for arm in chosen]]
        block = np.empty((len(new), len(self._targets)), dtype=self._oracle.dtype)
        self._oracle.tabulate(self._sources[new], self._targets, block)
        self.arms.update(zip(new.tolist(), block, strict=True))
        return chosen

    def _column(self, row: int) -> Floats:
        """Return the distances of a far row to all arms."""
        if row in self.drawn:
            return self.columns[self.drawn.index(row)]
        if row in self._known:
            column = self._known[row]
        else:
            block = np.empty((len(self._sources), 1), dtype=self._oracle.dtype)
            self._oracle.tabulate(self._sources, self._targets.take(np.array([row])), block)
            column = block[:, 0]
        self.drawn.append(row)
        self.columns.append(column)
        return column

    def _best(self, arms: Ids, weights: Doubles, nearest: Doubles) -> Doubles:
        """Return the distances of the arm that lowers the cost of the far rows most."""
        blocks = np.array([self.arms[int(arm)] for arm in arms], dtype=np.float64)
        best: Doubles = blocks[(np.minimum(blocks, nearest) @ weights).argmin()]
        return best
