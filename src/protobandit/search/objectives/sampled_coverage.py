"""Coverage judged on sampled target rows; no step reads the whole target.

All arms of a round read one order of target rows, each from its own position. So the distance of a
row to its nearest prototype is computed once per row, not once per arm and row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import coverage as coverage_kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import (
    RandomOrder,
    TargetOrder,
    WeightedOrder,
    WeightedSampler,
)
from protobandit.oracle.tasks import CHUNK
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import (
    Clipping,
    Objective,
    RewardSums,
    Round,
    advance,
)
from protobandit.search.objectives.seen_rows import SeenRows

_KEPT_ROWS = 2 * CHUNK


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledTarget:
    """Orders of target rows, and the distances of these rows to their nearest prototype.

    Before the first prototype the distance of every target row to its nearest prototype is
    ``scale``. A distance above ``scale`` counts as ``scale``. ``clipped`` holds, block by block,
    the number of pulls that this changed; `with_prototypes` shares it.
    """

    oracle: Oracle
    scale: float
    prototypes: Ids
    seen: SeenRows
    sampler: WeightedSampler | None
    clipped: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, oracle: Oracle, *, scale: float) -> SampledTarget:
        """Return the target of the problem, without prototypes."""
        weights = oracle.problem.weights
        return cls(
            oracle=oracle,
            scale=scale,
            prototypes=np.empty(0, dtype=np.int64),
            seen=SeenRows(oracle),
            sampler=None if weights is None else WeightedSampler(weights),
        )

    @property
    def population(self) -> int:
        """Return the number of target rows."""
        return len(self.oracle.problem.target)

    def new_order(self, random: np.random.Generator) -> TargetOrder:
        """Return a new order of target rows: a permutation, or draws by weight."""
        if self.sampler is None:
            return RandomOrder(self.population, random)
        return WeightedOrder(self.sampler, random)

    def nearest(self, ids: Ids, targets: Operand) -> Floats:
        """Return the distances of these distinct target rows to their nearest prototype."""
        if len(self.prototypes) == 0:
            return np.full(len(ids), self.scale, dtype=self.oracle.dtype)
        return self.seen.nearest(ids, targets, self.prototypes)

    def with_prototypes(self, arms: Ids) -> SampledTarget:
        """Return the target with these arms added to the prototypes."""
        return replace(self, prototypes=np.append(self.prototypes, arms))


@dataclass(frozen=True, eq=False)
class SampledCoverage(Objective):
    """The drop of d(target, nearest prototype), divided by the scale: a reward in [0, 1]."""

    sample: SampledTarget

    @classmethod
    def of(cls, oracle: Oracle, *, scale: float) -> SampledCoverage:
        """Return the coverage of the problem without prototypes."""
        return cls(SampledTarget.of(oracle, scale=scale))

    @property
    def population(self) -> int:
        return self.sample.population

    @property
    def clipping(self) -> Clipping:
        return Clipping(scale=self.sample.scale, n_clipped=sum(self.sample.clipped))

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        kind = PermutationRound if self.sample.sampler is None else WeightedRound
        return kind(self.sample, arms, random)

    def commit(self, arms: Ids) -> SampledCoverage:
        return SampledCoverage(self.sample.with_prototypes(arms))

    def gains(self, means: Doubles) -> Doubles:
        return means * self.sample.scale

    def state(self) -> dict[str, Any]:
        return {"clipped": np.array([sum(self.sample.clipped)]), **self.sample.seen.state()}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        self.sample.clipped[:] = arrays["clipped"].tolist()
        self.sample.seen.restore(arrays)

    notes, recall = state, restore  # the old names, until drivers use the new ones


@dataclass(frozen=True, eq=False)
class RowRange:
    """Target rows at consecutive positions of an order, and their distances to the prototypes."""

    start: int
    stop: int
    targets: Operand
    nearest: Floats

    def between(self, start: int, stop: int) -> RowRange:
        """Return the rows between two positions."""
        start, stop = max(start, self.start), min(stop, self.stop)
        part = slice(start - self.start, stop - self.start)
        return RowRange(start, stop, self.targets.take(part), self.nearest[part])


class _SampledRound:
    """Pulls arms along an order of target rows, and sums their rewards."""

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
        """Yield the rows at these positions; the first few thousand are read once per round."""
        for rows in self._ranges:
            if rows.start < stop and rows.stop > start:
                yield rows.between(start, stop)
        start = max(start, self._ranges[-1].stop if self._ranges else 0)
        while start < stop:
            rows = self._new_range(start, min(start + CHUNK, stop))
            if rows.stop <= _KEPT_ROWS:
                self._ranges.append(rows)
            yield rows
            start = rows.stop

    def _new_range(self, start: int, stop: int) -> RowRange:
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
        """Add the rows that no arm has read."""
        new, first = np.unique(ids[~np.isin(ids, self._rows)], return_index=True)
        if len(new) == 0:
            return
        new = new[np.argsort(first)]
        nearest = self._sample.nearest(new, self._sample.oracle.targets(new))
        self._rows = np.append(self._rows, new)
        self._nearest = np.append(self._nearest, nearest)
        columns = np.empty((len(self._table), len(new)), dtype=self._table.dtype)
        self._table = np.hstack([self._table, columns])

    def _fill(self, group: Ids, stop: int) -> int:
        """Compute the missing columns below ``stop`` of these arms; return the number of values."""
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
        """Add the rest of the target, in chunks; the weighted means are then exact."""
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
    """Return the sums of rewards and of their squares of each arm on these target rows."""
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
    """Return the weighted sum by which each arm lowers ``nearest`` on these target rows."""
    drops = np.zeros(len(arms))
    limit = np.minimum(nearest, sample.scale)

    def visit(block: Floats, tile: slice) -> None:
        coverage_kernels.gains(block, np.arange(len(block)), 0, limit, weights, CHUNK, drops[tile])
        count_clipped(sample, block, nearest)

    sample.oracle.visit(arms, targets, visit)
    return drops


def count_clipped(sample: SampledTarget, block: Floats, nearest: Floats) -> None:
    """Count the pulls whose reward the scale changed."""
    if len(sample.prototypes) == 0:
        sample.clipped.append(int(np.count_nonzero(block > sample.scale)))
    else:
        is_changed = (nearest > sample.scale) & (block < nearest)
        sample.clipped.append(int(np.count_nonzero(is_changed)))
