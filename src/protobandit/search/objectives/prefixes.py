"""Coverage judged on the first rows of one target order, whose distances all rounds share.

Theory of operation
-------------------
All rounds use one random order of the target, and every round reads it from its beginning, in the
same steps. The rows of one step are a `PrefixRange`: a matrix with one line for each arm that was
pulled that far. Most arms are eliminated early, so most ranges have few lines. Distances that were
computed once are looked up later. Arms that were prototypes are known on all rows.

Rows without weight are left out. The others are in uniform random order, independent of their
weight, and rewards are multiplied by w / mean(w). So the mean over a prefix is an unbiased estimate
of the weighted mean, and exact once all rows are read. The more unequal the weights, the larger the
variance.

Distances that do not fit in memory are computed, and counted, again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.kernels import moments as moments_kernels
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder
from protobandit.oracle.tasks import CHUNK
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import Objective, RewardSums, Round, advance

_TASK_ENTRIES = 1 << 18
_ROWS_AT_ONCE = 4 * CHUNK
_TINY = 1e-290  # smaller squares may have underflowed

Visit: TypeAlias = "Callable[[Floats, Ids, Ids], None]"


class PrefixRange:
    """The target rows at positions ``start`` to ``stop``, and the distances of some arms to them.

    ``lines[arm]`` is the line of an arm in ``matrix``, or -1.
    """

    def __init__(self, start: int, stop: int, n_source: int, like: Floats) -> None:
        self.start = start
        self.stop = stop
        self.lines: Ids = np.full(n_source, -1, dtype=np.int64)
        self.matrix: Floats = np.empty((0, stop - start), dtype=like.dtype)
        self.n_lines = 0

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def n_free(self) -> int:
        """Return the number of lines that are reserved and not used."""
        return len(self.matrix) - self.n_lines

    def reserve(self, n: int, room: int) -> int:
        """Reserve ``n`` more lines, or as many as fit in ``room`` bytes; return the bytes used."""
        line_bytes = self.matrix.itemsize * len(self)
        most = min(len(self.matrix) + room // line_bytes, len(self.lines))
        needed = min(self.n_lines + n, most)
        n_added = min(max(needed, 2 * len(self.matrix)), most) - len(self.matrix)
        if needed <= len(self.matrix):
            return 0
        # In place, since a copy would double the memory; no view of the matrix exists here.
        self.matrix.resize((len(self.matrix) + n_added, len(self)), refcheck=False)
        return n_added * line_bytes

    def append(self, arms: Ids) -> Floats:
        """Assign reserved lines to these arms, and return the lines to be filled in."""
        lines = slice(self.n_lines, self.n_lines + len(arms))
        self.lines[arms] = np.arange(lines.start, lines.stop)
        self.n_lines = lines.stop
        return self.matrix[lines]


class Prefixes:
    """One order of the target, and the distances computed along it.

    Parameters
    ----------
    oracle
        Computes the distances.
    random
        The generator of the order.
    room
        The number of bytes of distances that may be kept.
    """

    def __init__(self, oracle: Oracle, random: np.random.Generator, *, room: int) -> None:
        weights = oracle.problem.weights
        n = len(oracle.problem.target)
        ids = np.arange(n) if weights is None else np.flatnonzero(weights)
        self.oracle = oracle
        self.rows: Ids = ids[RandomOrder(len(ids), random).read(0, len(ids))]
        self.weights: Doubles = np.ones(n)
        if weights is not None:
            self.weights = weights[self.rows] / weights[ids].mean()
        self._room = room
        self._ranges: list[PrefixRange] = []
        self._columns: dict[int, Floats] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def show(self, arms: Ids, start: int, stop: int, visit: Visit) -> None:
        """Call ``visit`` with the distances of these arms at these positions of the order.

        ``visit`` gets a matrix, the lines to read, and the positions of their arms in ``arms``. It
        runs on several threads and must write only to the entries of these arms.
        """
        step = self._range(start, stop)
        is_new = step.lines[arms] < 0
        n_known = len(arms) - int(is_new.sum())
        self.oracle.look_up(n_known * len(step))
        self._keep(step, arms[is_new])
        lines = step.lines[arms]
        known, unkept = np.flatnonzero(lines >= 0), np.flatnonzero(lines < 0)

        def visit_known(cut: slice) -> None:
            visit(step.matrix, lines[known[cut]], known[cut])

        size = max(1, _TASK_ENTRIES // len(step))
        self.oracle.share(visit_known, cuts(len(known), size), len(known) * len(step))
        self._visit_unkept(step, arms, unkept, visit)

    def column(self, arm: int) -> Floats:
        """Return the distances of one arm along the whole order; they are kept if there is room."""
        if arm in self._columns:
            self.oracle.look_up(len(self))
            return self._columns[arm]
        column = np.empty(len(self), dtype=self.oracle.dtype)
        is_known = np.zeros(len(self), dtype=bool)
        for step in self._ranges:
            if step.lines[arm] >= 0:
                own = slice(step.start, step.stop)
                column[own], is_known[own] = step.matrix[step.lines[arm]], True
        self.oracle.look_up(int(is_known.sum()))
        rest = np.flatnonzero(~is_known)

        def fill(block: Floats, cut: slice) -> None:
            column[rest[cut]] = block[0]

        if len(rest):
            self.oracle.each_chunk(np.array([arm]), fill, self.rows[rest])
        if column.nbytes <= self._room:
            self._room -= column.nbytes
            self._columns[arm] = column
        return column

    def _range(self, start: int, stop: int) -> PrefixRange:
        for step in self._ranges:
            if step.start == start:
                assert step.stop == stop, "every round uses the same steps"
                return step
        n_source = len(self.oracle.problem.source)
        new = PrefixRange(start, stop, n_source, np.empty(0, dtype=self.oracle.dtype))
        self._ranges.append(new)
        return new

    def _keep(self, step: PrefixRange, arms: Ids) -> None:
        """Compute the distances of these arms and keep as many as there is room for."""
        self._room -= step.reserve(len(arms), self._room)
        arms = arms[: step.n_free]
        if len(arms) == 0:
            return
        whole = np.isin(arms, np.fromiter(self._columns, dtype=np.int64))
        own = slice(step.start, step.stop)
        if whole.any():
            self.oracle.look_up(int(whole.sum()) * len(step))
            lines = step.append(arms[whole])
            for line, arm in zip(lines, arms[whole].tolist(), strict=True):
                line[:] = self._columns[arm][own]
        others = arms[~whole]
        self._compute(step, others, step.append(others))

    def _visit_unkept(self, step: PrefixRange, arms: Ids, which: Ids, visit: Visit) -> None:
        """Compute the distances of some of the arms without keeping them."""
        for cut in cuts(len(which), max(1, _TASK_ENTRIES // len(step))):
            some = which[cut]
            block = np.empty((len(some), len(step)), dtype=self.oracle.dtype)
            self._compute(step, arms[some], block)
            visit(block, np.arange(len(some)), some)

    def _compute(self, step: PrefixRange, arms: Ids, out: Floats) -> None:
        rows = self.rows[step.start : step.stop]
        for cut in cuts(len(rows), _ROWS_AT_ONCE):
            self.oracle.tabulate(arms, self.oracle.targets(rows[cut]), out[:, cut])


def moments_of(count: Ids, total: Doubles, squares: Doubles, dtype: np.dtype[Any]) -> Moments:
    """Return the moments of arms from the sums of their rewards and of the squares.

    If squares overflow float64, the variance is infinite, which separates no arms. If a sum is not
    finite, the metric overflows; if all squares are tiny but sums are not 0, it underflows.
    """
    if not np.isfinite(total).all():
        raise InvalidInput(
            f"The metric overflows {dtype} on these rows of source and target. Rescale them, or "
            f"pass float64."
        )
    if squares.max(initial=0) < _TINY and total.any():
        raise InvalidInput(
            "The metric underflows: squares of its differences are 0 in float64. Rescale the rows, "
            "or multiply your own metric by a large number."
        )
    mean = total / count
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.maximum(squares / count - mean**2, 0)
    return Moments(count, mean, np.where(np.isfinite(spread), spread, np.inf))


@dataclass(frozen=True, kw_only=True, eq=False)
class PrefixCoverage(Objective):
    """The drop of d(target, nearest prototype), on the rows that an arm was pulled on.

    Before the first prototype the gain of an arm is minus its mean distance.

    Attributes
    ----------
    prefixes
        The distances along the order.
    matrix
        The distances of the prototypes along the order, one line per prototype. All objects share
        it: `commit` fills in the next line, so that no line is copied.
    nearest
        The distance of each row of the order to its nearest prototype.
    """

    prefixes: Prefixes
    matrix: Floats
    nearest: Floats
    prototypes: Ids

    @classmethod
    def of(cls, prefixes: Prefixes, k: int) -> PrefixCoverage:
        """Return the coverage without prototypes, with memory for ``k`` of them."""
        dtype = prefixes.oracle.dtype
        return cls(
            prefixes=prefixes,
            matrix=np.empty((k, len(prefixes)), dtype=dtype),
            nearest=np.full(len(prefixes), np.inf, dtype=dtype),
            prototypes=np.empty(0, dtype=np.int64),
        )

    @property
    def population(self) -> int:
        return len(self.prefixes)

    @property
    def is_bounding(self) -> bool:
        """Return whether every row is at a prototype: only then are all further gains known."""
        return not self.nearest.any()

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        return _NothingToGain(self.population) if self.is_bounding else _PrefixRound(self, arms)

    def commit(self, arms: Ids) -> PrefixCoverage:
        nearest, n = self.nearest, len(self.prototypes)
        with self.prefixes.oracle.during("assign"):
            for place, arm in enumerate(arms.tolist(), start=n):
                self.matrix[place] = self.prefixes.column(arm)
                nearest = np.minimum(nearest, self.matrix[place])
        return replace(self, nearest=nearest, prototypes=np.append(self.prototypes, arms))


class _PrefixRound:
    """Pulls arms along the order, each from its beginning."""

    def __init__(self, coverage: PrefixCoverage, arms: Ids) -> None:
        self._coverage = coverage
        self._sums = RewardSums(arms)

    def pull(self, pull: Pull) -> Moments:
        assert not pull.new_order, "all rounds share one order"
        sums, coverage = self._sums, self._coverage
        slots = sums.slots(pull.arms)
        advance(sums.count, slots, pull.n, coverage.population, self._add)
        dtype = coverage.nearest.dtype
        return moments_of(sums.count[slots], sums.total[slots], sums.squares[slots], dtype)

    def _add(self, group: Ids, start: int, stop: int) -> None:
        sums, prefixes = self._sums, self._coverage.prefixes
        nearest, weights = self._coverage.nearest[start:stop], prefixes.weights[start:stop]
        level = nearest if len(self._coverage.prototypes) else np.zeros_like(nearest)

        def visit(matrix: Floats, lines: Ids, which: Ids) -> None:
            total, squares = np.zeros((2, len(which)))
            moments_kernels.gain_moments(matrix, lines, nearest, level, weights, total, squares)
            sums.total[group[which]] += total
            sums.squares[group[which]] += squares

        prefixes.show(sums.arms[group], start, stop, visit)


@dataclass(frozen=True)
class _NothingToGain:
    """Answers pulls when every row is at a prototype: no distance is needed."""

    population: int

    def pull(self, pull: Pull) -> Moments:
        n = len(pull.arms)
        return Moments(np.full(n, self.population), np.zeros(n), np.zeros(n))
