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
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.foundation.endless import ENDLESS
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

_KEPT_ROWS = 2 * CHUNK
_SHARED_ROWS = 8 * CHUNK  # of a stream, whose rows cannot be read again


class SeenRows:
    """Keeps min d(j, M) of each target row that was read, and the number of prototypes compared.

    A row that is read again is compared only with the prototypes that were added since.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._nearest: Floats = np.empty(0, dtype=oracle.dtype)
        self._n_compared: Ids = np.empty(0, dtype=np.int64)
        self._prepared: tuple[Ids, Operand] | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def nearest(self, ids: Ids, targets: Operand, prototypes: Ids) -> Floats:
        """Return min d(j, prototypes) of these distinct rows, given also in prepared form."""
        at = np.searchsorted(self._ids, ids)
        is_seen = at < len(self._ids)
        is_seen[is_seen] = self._ids[at[is_seen]] == ids[is_seen]
        old, new = at[is_seen], ~is_seen
        n_compared = np.zeros(len(ids), dtype=np.int64)
        n_compared[is_seen] = self._n_compared[old]
        nearest = self._oracle.nearest_since(self._prepare(prototypes), targets, n_compared)
        nearest[is_seen] = np.minimum(nearest[is_seen], self._nearest[old])
        self._nearest[old] = nearest[is_seen]
        self._n_compared[old] = len(prototypes)
        self._insert(ids[new], nearest[new], len(prototypes))
        return nearest

    def state(self) -> dict[str, Any]:
        """Return copies of the arrays from which `restore` makes the same object."""
        return {
            "ids": self._ids.copy(),
            "nearest": self._nearest.copy(),
            "applied": self._n_compared.copy(),
        }

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Set what `state` returned; raise if it cannot be a state."""
        shapes = {arrays[name].shape for name in ("ids", "nearest", "applied")}
        require_restorable(
            len(shapes) == 1
            and arrays["ids"].ndim == 1
            and are_within(arrays["ids"], 0, ENDLESS)
            and bool((np.diff(arrays["ids"]) > 0).all())
            and arrays["nearest"].dtype == self._oracle.dtype
            and are_within(arrays["applied"], 0, ENDLESS),
            "sampled rows",
        )
        self._ids, self._nearest = arrays["ids"], arrays["nearest"]
        self._n_compared = arrays["applied"]

    def _prepare(self, prototypes: Ids) -> Operand:
        if self._prepared is None or self._prepared[0] is not prototypes:
            self._prepared = prototypes, self._oracle.sources(prototypes)
        return self._prepared[1]

    def _insert(self, ids: Ids, nearest: Floats, n_compared: int) -> None:
        order = np.argsort(ids)
        at = np.searchsorted(self._ids, ids[order])
        is_old = np.ones(len(self._ids) + len(ids), dtype=bool)
        is_old[at + np.arange(len(ids))] = False
        self._ids = _merged(is_old, self._ids, ids[order])
        self._nearest = _merged(is_old, self._nearest, nearest[order])
        self._n_compared = _merged(is_old, self._n_compared, np.full(len(ids), n_compared))


def _merged(is_old: Any, old: Any, new: Any) -> Any:
    out = np.empty(len(is_old), dtype=old.dtype)
    out[is_old] = old
    out[~is_old] = new
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledCoverage(Objective):
    """The drop of d(target, nearest prototype), divided by the scale: a reward in [0, 1].

    Before the first prototype the distance of every target row to its nearest prototype is
    ``scale``. A distance above ``scale`` counts as ``scale``. ``clipped`` holds, block by block,
    the number of pulls that this changed; `commit` shares it.
    """

    oracle: Oracle
    scale: float
    prototypes: Ids
    seen: SeenRows
    sampler: WeightedSampler | None
    clipped: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, oracle: Oracle, *, scale: float) -> SampledCoverage:
        """Return the coverage of the problem without prototypes."""
        weights = oracle.problem.weights
        kind = cls if oracle.problem.stream is None else StreamedCoverage
        return kind(
            oracle=oracle,
            scale=scale,
            prototypes=np.empty(0, dtype=np.int64),
            seen=SeenRows(oracle),
            sampler=None if weights is None else WeightedSampler(weights),
        )

    @property
    def population(self) -> int:
        return self.oracle.problem.population

    @property
    def clipping(self) -> Clipping:
        return Clipping(scale=self.scale, n_clipped=sum(self.clipped))

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        kind = PermutationRound if self.sampler is None else WeightedRound
        return kind(self, arms, random)

    def commit(self, arms: Ids) -> SampledCoverage:
        return replace(self, prototypes=np.append(self.prototypes, arms))

    def gains(self, means: Doubles) -> Doubles:
        return means * self.scale

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

    def state(self) -> dict[str, Any]:
        own = {"clipped": sum(self.clipped), "pulls": self.oracle.counts.pulls}
        return {**{name: np.array([n]) for name, n in own.items()}, **self.seen.state()}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        require_restorable(
            all(_is_count(arrays[name]) for name in ("clipped", "pulls")), "sampled rows"
        )
        self.clipped[:] = arrays["clipped"].tolist()
        self.oracle.counts.pulls = int(arrays["pulls"][0])
        self.seen.restore(arrays)


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamedCoverage(SampledCoverage):
    """The same reward on rows that are drawn from a stream, each of them in one round only."""

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        return StreamRound(self, arms, random)

    def draw(self, n: int) -> tuple[Operand, Floats]:
        """Return the next ``n`` rows of the stream, and their distances to the prototypes."""
        stream, oracle = self.oracle.problem.stream, self.oracle
        assert stream is not None
        targets = oracle.operand(stream.draw(n))
        if len(self.prototypes) == 0:
            return targets, np.full(n, self.scale, dtype=oracle.dtype)
        first = np.zeros(n, dtype=np.int64)
        return targets, oracle.nearest_since(oracle.sources(self.prototypes), targets, first)

    def state(self) -> dict[str, Any]:
        stream = self.oracle.problem.stream
        assert stream is not None
        return {**super().state(), "rows_read": np.array([stream.n_read])}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        super().restore(arrays)
        require_restorable(_is_count(arrays["rows_read"]), "sampled rows")
        stream = self.oracle.problem.stream
        assert stream is not None
        stream.skip_to(int(arrays["rows_read"][0]))


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

    def __init__(self, coverage: SampledCoverage, arms: Ids, random: np.random.Generator) -> None:
        self._coverage = coverage
        self._random = random
        self._sums = RewardSums(arms)
        self._restart()

    def pull(self, pull: Pull) -> Moments:
        if pull.new_order:
            self._sums.clear()
            self._restart()
        slots = self._sums.slots(pull.arms)
        n_before = int(self._sums.count[slots].sum())
        advance(self._sums.count, slots, pull.n, self._coverage.population, self._add)
        self._coverage.oracle.counts.pulls += int(self._sums.count[slots].sum()) - n_before
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
        self._order = self._coverage.new_order(self._random)
        self._ranges: list[RowRange] = []

    def _add(self, group: Ids, start: int, stop: int) -> None:
        for rows in self._read(start, stop):
            total, squares = reward_sums(self._coverage, self._sums.arms[group], rows)
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
        targets = self._coverage.oracle.targets(ids)
        return RowRange(start, stop, targets, self._coverage.nearest(ids, targets))


class StreamRound(PermutationRound):
    """Rows of a stream, in order of arrival; a round reads no row of another round.

    All arms share the first 16,384 rows of the round, which are kept until it ends. After
    them, every group of arms that are pulled together reads rows of its own, which are dropped at
    once. So the memory of a round does not depend on how many rows it reads.

    Guarantees hold as for one shared order. They need, for each arm and each fixed number s, that
    the mean of the first s rewards of the arm is bounded like that of s independent draws. The
    kept rows are the same for all arms, whenever they are read, so rewards on them are independent
    draws. A later row is read by nobody before its arms are pulled on it, so given everything
    before, its reward is a new draw; the exponential moments of both parts multiply. Whether a
    position has a kept row depends on the position alone, never on rewards. Strategies that compare
    arms in pairs pull them together, and so on the same rows.
    """

    def __init__(self, coverage: StreamedCoverage, arms: Ids, random: np.random.Generator) -> None:
        self._streamed = coverage
        super().__init__(coverage, arms, random)

    def _restart(self) -> None:
        self._ranges = []

    def _read(self, start: int, stop: int) -> Iterator[RowRange]:
        for rows in self._ranges:
            if rows.start < stop and rows.stop > start:
                yield rows.between(start, stop)
        start = max(start, self._ranges[-1].stop if self._ranges else 0)
        while start < stop:
            end = _SHARED_ROWS if start < _SHARED_ROWS else stop
            rows = self._new_range(start, min(start + CHUNK, stop, end))
            if start < _SHARED_ROWS:
                self._ranges.append(rows)
            yield rows
            start = rows.stop

    def _new_range(self, start: int, stop: int) -> RowRange:
        targets, nearest = self._streamed.draw(stop - start)
        return RowRange(start, stop, targets, nearest)


class WeightedRound(_SampledRound):
    """Unequal weights: independent draws by weight; a row drawn again is looked up.

    Rows are kept in a table (arms by distinct rows), so an arm never costs more than one evaluation
    per target row. After as many draws as there are rows, the rest of the target is computed and
    the mean is exact.
    """

    def _restart(self) -> None:
        self._order = self._coverage.new_order(self._random)
        n_arms = len(self._sums.arms)
        self._rows: Ids = np.empty(0, dtype=np.int64)  # distinct rows, in the order first drawn
        self._nearest: Floats = np.empty(0, dtype=self._coverage.oracle.dtype)
        self._table: Floats = np.empty((n_arms, 0), dtype=self._nearest.dtype)
        self._n_known = np.zeros(n_arms, dtype=np.int64)  # columns filled, by arm

    def _add(self, group: Ids, start: int, stop: int) -> None:
        population = self._coverage.population
        if stop < population:
            self._add_draws(group, self._order.read(start, stop))
        elif start < population:
            self._add_rest(group)

    def _add_draws(self, group: Ids, ids: Ids) -> None:
        self._add_rows(ids)
        sorter = np.argsort(self._rows)
        columns = sorter[np.searchsorted(self._rows, ids, sorter=sorter)]
        computed = self._fill(group, int(columns.max()) + 1)
        oracle = self._coverage.oracle
        oracle.lookups[oracle.phase] += len(group) * len(ids) - computed
        block, nearest = self._table[np.ix_(group, columns)], self._nearest[columns]
        count_clipped(self._coverage, block, nearest)
        sums = np.zeros((2, len(group)))
        scale = self._coverage.scale
        coverage_kernels.rewards(block, np.minimum(nearest, scale), scale, sums[0], sums[1])
        self._sums.total[group] += sums[0]
        self._sums.squares[group] += sums[1]

    def _add_rows(self, ids: Ids) -> None:
        """Add the rows that no arm has read."""
        new, first = np.unique(ids[~np.isin(ids, self._rows)], return_index=True)
        if len(new) == 0:
            return
        new = new[np.argsort(first)]
        nearest = self._coverage.nearest(new, self._coverage.oracle.targets(new))
        self._rows = np.append(self._rows, new)
        self._nearest = np.append(self._nearest, nearest)
        columns = np.empty((len(self._table), len(new)), dtype=self._table.dtype)
        self._table = np.hstack([self._table, columns])

    def _fill(self, group: Ids, stop: int) -> int:
        """Compute the missing columns below ``stop`` of these arms; return the number of values."""
        oracle, known = self._coverage.oracle, self._n_known[group]
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
        coverage = self._coverage
        weights = coverage.oracle.problem.weights
        assert weights is not None
        self._fill(group, len(self._rows))
        drops = np.zeros(len(group))
        limit = np.minimum(self._nearest, coverage.scale)
        coverage_kernels.gains(self._table, group, 0, limit, weights[self._rows], CHUNK, drops)
        count_clipped(coverage, self._table[group], self._nearest)
        arms, rest = self._sums.arms[group], np.setdiff1d(np.flatnonzero(weights), self._rows)
        for start in range(0, len(rest), CHUNK):
            ids = rest[start : start + CHUNK]
            targets = coverage.oracle.targets(ids)
            nearest = coverage.nearest(ids, targets)
            drops += weighted_drops(coverage, arms, targets, nearest, weights[ids])
        total = np.minimum(drops / weights.sum() / coverage.scale, 1.0) * coverage.population
        self._sums.total[group] = total
        self._sums.squares[group] = total**2 / coverage.population


def reward_sums(coverage: SampledCoverage, arms: Ids, rows: RowRange) -> tuple[Doubles, Doubles]:
    """Return the sums of rewards and of their squares of each arm on these target rows."""
    total, squares = np.zeros(len(arms)), np.zeros(len(arms))
    limit = np.minimum(rows.nearest, coverage.scale)

    def visit(block: Floats, tile: slice) -> None:
        coverage_kernels.rewards(block, limit, coverage.scale, total[tile], squares[tile])
        count_clipped(coverage, block, rows.nearest)

    coverage.oracle.visit(arms, rows.targets, visit)
    return total, squares


def weighted_drops(
    coverage: SampledCoverage, arms: Ids, targets: Operand, nearest: Floats, weights: Doubles
) -> Doubles:
    """Return the weighted sum by which each arm lowers ``nearest`` on these target rows."""
    drops = np.zeros(len(arms))
    limit = np.minimum(nearest, coverage.scale)

    def visit(block: Floats, tile: slice) -> None:
        coverage_kernels.gains(block, np.arange(len(block)), 0, limit, weights, CHUNK, drops[tile])
        count_clipped(coverage, block, nearest)

    coverage.oracle.visit(arms, targets, visit)
    return drops


def _is_count(array: Any) -> bool:
    """Return whether an array of a checkpoint holds one number of things, and nothing else."""
    return array.shape == (1,) and are_within(array, 0, ENDLESS)


def count_clipped(coverage: SampledCoverage, block: Floats, nearest: Floats) -> None:
    """Count the pulls whose reward the scale changed."""
    if len(coverage.prototypes) == 0:
        coverage.clipped.append(int(np.count_nonzero(block > coverage.scale)))
    else:
        is_changed = (nearest > coverage.scale) & (block < nearest)
        coverage.clipped.append(int(np.count_nonzero(is_changed)))
