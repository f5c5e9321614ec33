"""Rounds on sampled target rows: one order for all arms, each reading on from where it stands.

Sharing the order means that a row's distance to its nearest prototype is found once a row, not once
an arm and row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import coverage as coverage_kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.tasks import CHUNK
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import RewardSums, advance
from protobandit.search.objectives.sampled_target import SampledTarget

_KEPT_ROWS = 2 * CHUNK


@dataclass(frozen=True, eq=False)
class RowRange:
    """Target rows at consecutive positions of an order, and how far each is from the prototypes."""

    start: int
    stop: int
    targets: Operand
    nearest: Floats

    def between(self, start: int, stop: int) -> RowRange:
        """Return the part of the rows that lies between two positions."""
        start, stop = max(start, self.start), min(stop, self.stop)
        part = slice(start - self.start, stop - self.start)
        return RowRange(start, stop, self.targets.take(part), self.nearest[part])


class _SampledRound:
    """What the two kinds of rounds share: an order of target rows, and sums of rewards along it."""

    def __init__(self, sample: SampledTarget, arms: Ids, random: np.random.Generator) -> None:
        self._sample = sample
        self._random = random
        self._sums = RewardSums(arms)
        self._restart()

    def pull(self, pull: Pull) -> Moments:
        if pull.new_order:
            self._sums.clear()
            self._restart()
        slots = self._sums.slots(pull.arms)
        advance(self._sums.count, slots, pull.n, self._sample.population, self._add)
        return self._sums.moments(slots)

    def _restart(self) -> None:
        """Begin a new order."""
        raise NotImplementedError

    def _add(self, group: Ids, start: int, stop: int) -> None:
        """Add to the sums of these slots the rewards at these positions of the order."""
        raise NotImplementedError


class PermutationRound(_SampledRound):
    """Equal weights: a random permutation of the target, so that its end is exact."""

    def _restart(self) -> None:
        self._order = self._sample.new_order(self._random)
        self._ranges: list[RowRange] = []

    def _add(self, group: Ids, start: int, stop: int) -> None:
        for rows in self._read(start, stop):
            total, squares = reward_sums(self._sample, self._sums.arms[group], rows)
            self._sums.total[group] += total
            self._sums.squares[group] += squares

    def _read(self, start: int, stop: int) -> Iterator[RowRange]:
        """Yield the rows at these positions; the first few thousand are read once a round."""
        for rows in self._ranges:
            if rows.start < stop and rows.stop > start:
                yield rows.between(start, stop)
        start = max(start, self._ranges[-1].stop if self._ranges else 0)
        while start < stop:
            rows = self._fresh(start, min(start + CHUNK, stop))
            if rows.stop <= _KEPT_ROWS:
                self._ranges.append(rows)
            yield rows
            start = rows.stop

    def _fresh(self, start: int, stop: int) -> RowRange:
        ids = self._order.read(start, stop)
        targets = self._sample.oracle.targets(ids)
        return RowRange(start, stop, targets, self._sample.nearest(ids, targets))


class WeightedRound(_SampledRound):
    """Unequal weights: independent draws by weight; a row drawn again is looked up.

    Rows are kept in a table (arms by distinct rows), so an arm never costs more than one evaluation
    per target row. After as many draws as there are rows, the rest of the target is computed and
    the mean is exact.
    """

    def _restart(self) -> None:
        self._order = self._sample.new_order(self._random)
        n_arms = len(self._sums.arms)
        self._rows: Ids = np.empty(0, dtype=np.int64)  # distinct rows, in the order first drawn
        self._nearest: Floats = np.empty(0, dtype=self._sample.oracle.dtype)
        self._table: Floats = np.empty((n_arms, 0), dtype=self._nearest.dtype)
        self._n_known = np.zeros(n_arms, dtype=np.int64)  # columns filled, by arm

    def _add(self, group: Ids, start: int, stop: int) -> None:
        population = self._sample.population
        if stop < population:
            self._add_draws(group, self._order.read(start, stop))
        elif start < population:
            self._add_rest(group)

    def _add_draws(self, group: Ids, ids: Ids) -> None:
        self._add_rows(ids)
        sorter = np.argsort(self._rows)
        columns = sorter[np.searchsorted(self._rows, ids, sorter=sorter)]
        computed = self._fill(group, int(columns.max()) + 1)
        oracle = self._sample.oracle
        oracle.lookups[oracle.phase] += len(group) * len(ids) - computed
        block, nearest = self._table[np.ix_(group, columns)], self._nearest[columns]
        count_clipped(self._sample, block, nearest)
        sums = np.zeros((2, len(group)))
        scale = self._sample.scale
        coverage_kernels.rewards(block, np.minimum(nearest, scale), scale, sums[0], sums[1])
        self._sums.total[group] += sums[0]
        self._sums.squares[group] += sums[1]

    def _add_rows(self, ids: Ids) -> None:
        """Add those of the rows that no arm has met."""
        new, first = np.unique(ids[~np.isin(ids, self._rows)], return_index=True)
        if len(new) == 0:
            return
        new = new[np.argsort(first)]
        nearest = self._sample.nearest(new, self._sample.oracle.targets(new))
        self._rows = np.append(self._rows, new)
        self._nearest = np.append(self._nearest, nearest)
        room = np.empty((len(self._table), len(new)), dtype=self._table.dtype)
        self._table = np.hstack([self._table, room])

    def _fill(self, group: Ids, stop: int) -> int:
        """Compute the columns below ``stop`` that arms of this group lack; return how many."""
        oracle, known = self._sample.oracle, self._n_known[group]
        computed = 0
        for start in np.unique(known[known < stop]):
            some = group[known == start]
            targets = oracle.targets(self._rows[start:stop])
            self._table[some, start:stop] = oracle.distances(self._sums.arms[some], targets)
            self._n_known[some] = stop
            computed += len(some) * (stop - int(start))
        return computed

    def _add_rest(self, group: Ids) -> None:
        """Add the rest of the target in chunks; the weighted means are then exact."""
        sample = self._sample
        weights = sample.oracle.problem.weights
        assert weights is not None
        self._fill(group, len(self._rows))
        drops = np.zeros(len(group))
        limit = np.minimum(self._nearest, sample.scale)
        coverage_kernels.gains(self._table, group, 0, limit, weights[self._rows], CHUNK, drops)
        count_clipped(sample, self._table[group], self._nearest)
        rest = np.setdiff1d(np.flatnonzero(weights), self._rows)
        for start in range(0, len(rest), CHUNK):
            ids = rest[start : start + CHUNK]
            targets = sample.oracle.targets(ids)
            nearest = sample.nearest(ids, targets)
            drops += weighted_drops(sample, self._sums.arms[group], targets, nearest, weights[ids])
        total = np.minimum(drops / weights.sum() / sample.scale, 1.0) * sample.population
        self._sums.total[group] = total
        self._sums.squares[group] = total**2 / sample.population


def reward_sums(sample: SampledTarget, arms: Ids, rows: RowRange) -> tuple[Doubles, Doubles]:
    """Return each arm's sum of rewards, and of their squares, on these target rows."""
    total, squares = np.zeros(len(arms)), np.zeros(len(arms))
    limit = np.minimum(rows.nearest, sample.scale)

    def visit(block: Floats, tile: slice) -> None:
        coverage_kernels.rewards(block, limit, sample.scale, total[tile], squares[tile])
        count_clipped(sample, block, rows.nearest)

    sample.oracle.visit(arms, rows.targets, visit)
    return total, squares


def weighted_drops(
    sample: SampledTarget, arms: Ids, targets: Operand, nearest: Floats, weights: Doubles
) -> Doubles:
    """Return each arm's weighted sum of drops below ``nearest`` on these target rows."""
    drops = np.zeros(len(arms))
    limit = np.minimum(nearest, sample.scale)

    def visit(block: Floats, tile: slice) -> None:
        coverage_kernels.gains(block, np.arange(len(block)), 0, limit, weights, CHUNK, drops[tile])
        count_clipped(sample, block, nearest)

    sample.oracle.visit(arms, targets, visit)
    return drops


def count_clipped(sample: SampledTarget, block: Floats, nearest: Floats) -> None:
    """Count the pulls whose reward the scale has changed."""
    if len(sample.prototypes) == 0:
        sample.clipped.append(int(np.count_nonzero(block > sample.scale)))
    else:
        is_changed = (nearest > sample.scale) & (block < nearest)
        sample.clipped.append(int(np.count_nonzero(is_changed)))
