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
from protobandit.search.objectives.objective import Tally
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
        """Return the part of the stretch that lies between two positions."""
        start, stop = max(start, self.start), min(stop, self.stop)
        part = slice(start - self.start, stop - self.start)
        return RowRange(start, stop, self.targets.take(part), self.nearest[part])


class OrderLedger:
    """Even weights: a random order of the target without repetition, so that its end is exact."""

    def __init__(self, sample: SampledTarget, arms: Ids, random: np.random.Generator) -> None:
        self._sample = sample
        self._random = random
        self._tally = Tally(arms)
        self._restart()

    def _restart(self) -> None:
        self._tally.restart()
        self._order = self._sample.new_order(self._random)
        self._stretches: list[RowRange] = []

    def pull(self, pull: Pull) -> Moments:
        if pull.anew:
            self._restart()
        slots = self._tally.slots(pull.arms)
        for start, group in self._tally.by_position(slots):
            stop = min(start + pull.n, self._sample.population)
            for stretch in self._read(start, stop):
                total, squares = reward_sums(self._sample, self._tally.arms[group], stretch)
                self._tally.total[group] += total
                self._tally.squares[group] += squares
            self._tally.position[group] = stop
        return self._tally.moments(slots)

    def _read(self, start: int, stop: int) -> Iterator[RowRange]:
        """Yield the rows at these positions; the first few thousand are read once a round."""
        for stretch in self._stretches:
            if stretch.start < stop and stretch.stop > start:
                yield stretch.between(start, stop)
        start = max(start, self._stretches[-1].stop if self._stretches else 0)
        while start < stop:
            stretch = self._fresh(start, min(start + CHUNK, stop))
            if stretch.stop <= _KEPT_ROWS:
                self._stretches.append(stretch)
            yield stretch
            start = stretch.stop

    def _fresh(self, start: int, stop: int) -> RowRange:
        ids = self._order.read(start, stop)
        targets = self._sample.oracle.targets(ids)
        return RowRange(start, stop, targets, self._sample.nearest(ids, targets))


class DrawsLedger:
    """Uneven weights: independent draws by weight; a row drawn again is looked up.

    Rows drawn once are kept in a table (arms by distinct rows), so an arm never costs more than one
    evaluation a target row; after as many draws as there are rows, the rest of the target is
    computed and the mean is exact.
    """

    def __init__(self, sample: SampledTarget, arms: Ids, random: np.random.Generator) -> None:
        self._sample = sample
        self._random = random
        self._tally = Tally(arms)
        self._restart()

    def _restart(self) -> None:
        self._tally.restart()
        self._draws = self._sample.new_order(self._random)
        self._rows: Ids = np.empty(0, dtype=np.int64)  # distinct rows, in the order first drawn
        self._nearest: Floats = np.empty(0, dtype=self._sample.oracle.dtype)
        self._table: Floats = np.empty((len(self._tally.arms), 0), dtype=self._nearest.dtype)
        self._known = np.zeros(len(self._tally.arms), dtype=np.int64)  # columns filled, by arm

    def pull(self, pull: Pull) -> Moments:
        if pull.anew:
            self._restart()
        slots = self._tally.slots(pull.arms)
        population = self._sample.population
        for start, group in self._tally.by_position(slots):
            stop = min(start + pull.n, population)
            if stop < population:
                self._extend(group, self._draws.read(start, stop))
            elif start < population:
                self._finish(group)
            self._tally.position[group] = stop
        return self._tally.moments(slots)

    def _extend(self, group: Ids, ids: Ids) -> None:
        self._meet(ids)
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
        self._tally.total[group] += sums[0]
        self._tally.squares[group] += sums[1]

    def _meet(self, ids: Ids) -> None:
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
        oracle, known = self._sample.oracle, self._known[group]
        computed = 0
        for start in np.unique(known[known < stop]):
            some = group[known == start]
            targets = oracle.targets(self._rows[start:stop])
            self._table[some, start:stop] = oracle.distances(self._tally.arms[some], targets)
            self._known[some] = stop
            computed += len(some) * (stop - int(start))
        return computed

    def _finish(self, group: Ids) -> None:
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
            drops += weighted_drops(sample, self._tally.arms[group], targets, nearest, weights[ids])
        total = np.minimum(drops / weights.sum() / sample.scale, 1.0) * sample.population
        self._tally.total[group] = total
        self._tally.squares[group] = total**2 / sample.population


def reward_sums(sample: SampledTarget, arms: Ids, stretch: RowRange) -> tuple[Doubles, Doubles]:
    """Return each arm's sum of rewards, and of their squares, on these target rows."""
    total, squares = np.zeros(len(arms)), np.zeros(len(arms))
    limit = np.minimum(stretch.nearest, sample.scale)

    def visit(block: Floats, tile: slice) -> None:
        coverage_kernels.rewards(block, limit, sample.scale, total[tile], squares[tile])
        count_clipped(sample, block, stretch.nearest)

    sample.oracle.visit(arms, stretch.targets, visit)
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
