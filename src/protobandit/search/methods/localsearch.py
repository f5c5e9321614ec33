"""LocalSearch: moves of single prototypes on cells, for many rows and many prototypes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import draw_rows, order_for
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.rows.partitioned_rows import PartitionedRows
from protobandit.search.control import SearchControl
from protobandit.search.drivers.localsearch import cell_order
from protobandit.search.drivers.localsearch.cell_order import CellOrder
from protobandit.search.drivers.localsearch.part_search import (
    EXPECTED_PASSES,
    PartSearch,
    pass_evaluations,
)
from protobandit.search.drivers.localsearch.prototype_index import can_index
from protobandit.search.drivers.localsearch.schedule import Size, Stage
from protobandit.search.drivers.localsearch.stages import Found, StagedSearch
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.table_greedy import order_on_table
from protobandit.search.methods.effort import as_level, larger_effort
from protobandit.search.methods.memory import prepared_bytes, row_bytes
from protobandit.search.methods.method import Method, Schedule, reductions
from protobandit.search.objectives.coverage import assigned_coverage

# On which the order is computed: per prototype, times an effort below 1; all.
_ORDER_ROWS, _LEAST_ORDER_ROWS, _MOST_ORDER_ROWS = 20, 4096, 1 << 21
_ORDER_ENTRIES = 1 << 26  # distances for the order in one table, at most
_LEAST_ORDER_ENTRIES = 1 << 18  # under any limit of memory
# Prototypes that are ordered in one table; more of them in cells. Mean distance to the first 1,000
# and 3,000 of 20,000 prototypes (120,000 x 4, heavy tails): in a table on 3,355 rows 0.698 and
# 0.542, in cells 0.660 and 0.482, random rows 0.735 and 0.559; of 5,000: 0.665 and 0.482, in cells
# 0.653 and 0.469.
_MOST_IN_TABLE = 4096
_SMALL_BYTES = 8_000_000
_REST = "; behind the first {:,}, they are ordered by mass"


@dataclass(frozen=True, kw_only=True)
class LocalSearch(Method):
    """Moves of single prototypes, judged on the rows near them (for many rows and any k).

    Every target row has a list of its nearest prototypes. A pass over the source judges candidates
    for each cell, the rows served by one prototype: does the cost fall if the candidate replaces
    the prototype, or if a prototype that matters little elsewhere moves here? Every move that is
    made lowers the cost on the judged rows. Stages judge on more and more target rows; in the last
    one all source rows take part. Nothing of the size |S| x rows is kept.

    Evaluations: per pass about the length of the lists (4 to 20) for each judged row, up to 50,000
    for each cell, and k for each row to find its nearest prototypes (14 sqrt(k) from k = 2,000 on,
    by an index).
    Memory: the judged rows and their lists. The cost is exact if all target rows were judged.

    The order of the prototypes is that of their greedy gains on a sample of the target; more than
    4,096 are ordered in cells.

    Parameters
    ----------
    effort
        "fast" (1), "balanced" (2.5), "thorough" (6), or a number: the number of judged rows grows
        in proportion, the length of the lists and the numbers of candidates and passes with its
        square root.
    """

    name: ClassVar[str] = "localsearch"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    effort: str | float = "balanced"

    def __post_init__(self) -> None:
        as_level(self.effort)

    @property
    def level(self) -> float:
        """Return the effort as a number."""
        return as_level(self.effort)

    def with_more_effort(self) -> LocalSearch:
        return replace(self, effort=larger_effort(self.effort))

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        if problem.is_in_parts:
            return self._schedule_of_parts(problem, limits)
        size = _size_of(problem, limits)
        wanted = size.stages(self.level)
        stages = _affordable(size, limits, self.level, wanted)
        order, most_order = _order_evaluations(problem, self.level, limits)
        n, is_whole = size.evaluations(stages) + order, stages[-1].n_rows == problem.n_target
        return Schedule(
            evaluations=n if limits.evaluations is None else min(n, limits.evaluations),
            most_evaluations=size.most_evaluations(stages) + most_order,
            measuring=len(problem.target) * problem.k
            if is_whole and limits.evaluations is None
            else 0,
            memory=_memory(size, stages, problem, self.level, limits),
            stages=stages,
            reductions=reductions(
                target_rows=(stages[-1].n_rows, wanted[-1].n_rows),
                source_rows=(stages[-1].n_sources, wanted[-1].n_sources),
            ),
        )

    def _schedule_of_parts(self, problem: Problem, limits: Limits) -> Schedule:
        """Return the schedule of the sample, with the passes over all parts."""
        sample = problem.sample()
        own = self.schedule(sample, limits)
        n = 0
        if problem.source.is_partitioned:
            n = pass_evaluations(len(problem.source), problem.k, own.stages[-1], len(sample.target))
        rows = sum(each.n_cells * each.dtype.itemsize for each in {sample.source, sample.target})
        size = replace(_size_of(sample, limits), n_target=len(problem.target))
        wanted = max(stage.n_rows for stage in size.stages(self.level))
        is_limited = limits.memory is not None or limits.evaluations is not None
        return replace(
            own,
            evaluations=own.evaluations + EXPECTED_PASSES * n,
            most_evaluations=None,
            measuring=0,
            memory=own.memory + 2 * rows,
            reductions=reductions(target_rows=(own.stages[-1].n_rows, wanted))
            if is_limited
            else (),
        )

    def least_evaluations(self, problem: Problem) -> int:
        return problem.k

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        whole = oracle.problem
        if whole.is_in_parts:
            oracle = oracle.beside(whole.sample())
        stages, size, numbers = schedule.stages, _size_of(oracle.problem, control.limits), None
        order, weights = order_for(oracle.problem, [stage.n_rows for stage in stages], random)
        staged = StagedSearch(oracle, order, weights, stages, size, random, control)
        with oracle.during("swap"):
            if isinstance(whole.source, PartitionedRows):
                parts = PartSearch(staged, whole.source).run()
                oracle, found, numbers = parts.oracle, parts.found, parts.ids
            else:
                found = staged.run()
        is_whole = found.n_rows == len(whole.target)
        (prototypes, gains, n_rows), n_ordered, coverage = _by_mass(oracle, found), 0, None
        try:
            if control.is_interrupted():
                control.stop()  # what follows is not done, nor recorded for a resumed run
            else:
                with oracle.during("swap"):
                    prototypes, gains, n_rows, n_ordered = _ordered(
                        oracle, found, random, control, self.level
                    )
            if is_whole and control.stopped is None and control.limits.evaluations is None:
                control.report("assigning the target")
                with oracle.during("assign"):
                    coverage = assigned_coverage(oracle, prototypes)
        except Halt:
            control.stop()
        remark = _remark(found, control, n_rows, len(whole.target), n_ordered)
        for i, prototype in enumerate(prototypes if numbers is None else numbers[prototypes]):
            is_last = i + 1 == len(prototypes)
            yield Pick(
                arms=np.array([prototype]),
                gains=gains[i : i + 1],
                objective=coverage if is_last else None,
                before=None,
                is_proven=False,
                remark=remark if is_last else "",
            )


def _remark(
    found: Found, control: SearchControl, n_rows: int, n_target: int, n_ordered: int
) -> str:
    moves = f"{found.n_moves:,} move{'' if found.n_moves == 1 else 's'}"
    moves += f" in {found.n_passes:,} pass{'' if found.n_passes == 1 else 'es'}"
    parts = [f"The search made {moves}, judged on {found.n_rows:,} target rows."]
    if control.stopped is not None:
        parts = [f"The search was stopped by {control.stopped} after {moves}."]
    if n_rows == 0:
        parts.append("The prototypes are ordered by mass.")
    elif n_rows < n_target or n_ordered < len(found.prototypes):
        rest = "" if n_ordered == len(found.prototypes) else _REST.format(n_ordered)
        parts.append(f"The order of the prototypes was computed on {n_rows:,} target rows{rest}.")
    return " ".join(parts)


def _size_of(problem: Problem, limits: Limits) -> Size:
    return Size(
        n_source=len(problem.source),
        n_target=len(problem.target),
        k=problem.k,
        is_same=problem.target is problem.source,
        is_indexed=can_index(problem.metric),
        row_bytes=row_bytes(problem.target),
        itemsize=problem.distance_dtype.itemsize,
        limit=limits.evaluations,
    )


def _affordable(
    size: Size, limits: Limits, effort: float, wanted: tuple[Stage, ...]
) -> tuple[Stage, ...]:
    """Return the stages that the limits allow, by judging fewer rows."""

    def is_within(stages: tuple[Stage, ...]) -> bool:
        n = limits.evaluations
        return size.memory(stages) <= limits.memory_budget and (
            n is None or size.least_evaluations(stages) + size.k <= n
        )

    if is_within(wanted):
        return wanted
    low, high = 1, wanted[-1].n_rows
    while high - low > 1 + low // 100:
        middle = (low + high) // 2
        low, high = (middle, high) if is_within(size.stages(effort, middle)) else (low, middle)
    return size.stages(effort, low)


def _memory(
    size: Size, stages: tuple[Stage, ...], problem: Problem, effort: float, limits: Limits
) -> int:
    if _is_ordered_in_cells(problem, limits):
        order = _largest_block(problem, limits) * size.itemsize
    else:
        order = _n_order_rows(problem, effort, limits) * problem.k * size.itemsize
    return max(size.memory(stages), 2 * order) + prepared_bytes(problem) + _SMALL_BYTES


def _is_ordered_in_cells(problem: Problem, limits: Limits) -> bool:
    return problem.k > _MOST_IN_TABLE and limits.evaluations is None


def _largest_block(problem: Problem, limits: Limits) -> int:
    """Return the largest number of distances that the order of the prototypes keeps at once."""
    is_in_cells = _is_ordered_in_cells(problem, limits)
    most = cell_order.largest_block(problem.k) if is_in_cells else _ORDER_ENTRIES
    if limits.memory is None:
        return most
    own = limits.memory_budget // (4 * problem.distance_dtype.itemsize)
    return min(most, max(_LEAST_ORDER_ENTRIES, own))


def _n_order_rows(problem: Problem, effort: float, limits: Limits) -> int:
    """Return the number of target rows on which the order is computed."""
    wanted = max(round(_ORDER_ROWS * problem.k * min(1.0, effort)), _LEAST_ORDER_ROWS)
    wanted = min(wanted, len(problem.target))
    if _is_ordered_in_cells(problem, limits):
        return min(wanted, _MOST_ORDER_ROWS)
    return min(wanted, max(1, _largest_block(problem, limits) // problem.k))


def _order_evaluations(problem: Problem, effort: float, limits: Limits) -> tuple[int, int]:
    """Return about how many evaluations the order of the prototypes has, and at most."""
    n, k = _n_order_rows(problem, effort, limits), problem.k
    if _is_ordered_in_cells(problem, limits):
        return cell_order.expected_evaluations(k, n), cell_order.most_evaluations(k, n)
    return n * k, n * k


def _by_mass(oracle: Oracle, found: Found) -> tuple[Ids, Doubles, int]:
    """Return the prototypes by mass, fixed ones first, without gains: on no rows."""
    fixed = np.isin(found.prototypes, oracle.problem.feasibility.fixed)
    order = np.lexsort((-found.mass, ~fixed))
    first = oracle.problem.feasibility.fixed
    prototypes = np.append(first, found.prototypes[order][len(first) :])
    return prototypes, np.zeros(len(prototypes)), 0


def _ordered(
    oracle: Oracle,
    found: Found,
    random: np.random.Generator,
    control: SearchControl,
    effort: float,
) -> tuple[Ids, Doubles, int, int]:
    """Return the prototypes by greedy gain, their gains, on how many rows, and how many have one.

    Prototypes without a gain on these rows follow by their mass.
    """
    problem, prototypes, limits = oracle.problem, found.prototypes, control.limits
    n, n_target = _n_order_rows(problem, effort, limits), len(problem.target)
    if control.limits.evaluations is not None:
        left = control.limits.evaluations - control.counts.total
        n = min(n, left // problem.k)
        if n <= 0:
            return *_by_mass(oracle, found), 0
    if n == n_target:
        rows, weights = np.arange(n), problem.target_weights
    else:
        rows, weights = draw_rows(n_target, problem.weights, n, random), np.ones(n)
    fixed = (prototypes == problem.feasibility.fixed[:, None]).argmax(axis=1)
    if _is_ordered_in_cells(problem, limits):
        rows, at = np.unique(rows, return_inverse=True)
        own = np.bincount(at, weights).astype(np.float64)
        largest = _largest_block(problem, limits)
        first, gains = CellOrder(oracle, prototypes, rows, own, fixed, largest).found()
    else:
        matrix = oracle.distances(prototypes, oracle.targets(rows))
        table = FullTable(oracle=oracle, arms=prototypes, matrix=matrix)
        first, gains = order_on_table(table, weights, fixed)
    rest = np.setdiff1d(np.arange(len(prototypes)), first)
    rest = rest[np.argsort(-found.mass[rest], kind="stable")]
    every = np.concatenate([first, rest])
    return prototypes[every], np.append(gains, np.zeros(len(rest))), n, len(first)
