"""LazyBandit, the default method: a race of all source rows with swaps on every rung."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.observer import Halt
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import order_for
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SearchControl
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.race.far_rows import SEARCHED_ROWS
from protobandit.search.drivers.race.memory import race_memory, with_most_entries
from protobandit.search.drivers.race.race import race
from protobandit.search.drivers.race.schedule import (
    Rung,
    least_evaluations,
    most_evaluations,
    planned_evaluations,
    rungs_for,
)
from protobandit.search.drivers.race.state import (
    RungResult,
    restore_result,
    save_result,
)
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.methods.effort import as_level, larger_effort
from protobandit.search.methods.greedy_bounds import exact_guarantee
from protobandit.search.methods.memory import prepared_bytes, row_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule, reductions

_EXPENSIVE_EFFORT = 0.6  # factor of the effort if the metric is the user's own function
AT_ONCE = 1 << 24  # dissimilarities; up to this many are all computed on one rung
_AT_ONCE_IF_EXPENSIVE = 1 << 14
_ENDLESS = 1 << 62  # rows
_LIMITED_SEARCH = RunWarning(
    WarningKind.LIMITED_SEARCH,
    "the limit of evaluations was too low for a complete search for small clusters far from all "
    "other target rows; one may have been overlooked. Allow more evaluations.",
)


@dataclass(frozen=True, kw_only=True)
class LazyBandit(Method):
    """Race of all source rows on a growing sample of the target, improved by swaps.

    On the first rung all source rows are compared on a few target rows. Every later rung keeps
    fewer source rows and reads more target rows. After the first rung, target rows far from all
    prototypes are searched, so that small far clusters are found (from 0.05 % of the weight on, if
    k > 1).
    The result is ordered by greedy gain, so that its first prototypes are a good smaller selection.

    Evaluations: F = |S| max(k + 1, (100 + 2 k) effort) on the first rung, and about one to three
    times as many on all later rungs together (seven times for k up to 12); never more than 13 F in
    total, or 4 F from k = 100 on (from effort 5 on, 14 F and 11 F), whatever the data and |T|. The
    search for far rows adds one to five for each of up to 24,000 target rows; if it finds rows that
    matter, at most 73,664 k + 64 |S| + max(32, 2 k) (|S| + 7,100).
    ``plan(...).most_evaluations`` is the number for a problem. If |S||T| is at most 2^24 (2^14 for
    a user's own function), which may be more than these, or less than planned, all dissimilarities
    are computed and the start is exact greedy selection. Memory: the distances of the first rung,
    and about as many of later rungs, with their columns (`race_memory`); the plan stays within
    4 GiB, or within ``Limits(memory)``, by leaving out random source rows, and the run then warns.

    Parameters
    ----------
    effort
        "fast" (1), "balanced" (2.5), "thorough" (6), or a number: the number of target rows on the
        first rung in units of 100 + 2 k; everything else is in proportion. From 5 on, the distances
        of the 18 k source rows that are closest to an improvement are computed at all rows of the
        last rung, and forced swaps among them improve on results that no single swap improves. If
        all dissimilarities are computed, swaps from other starts do so at any effort, without
        further evaluations; more effort tries more starts and is never worse.
    """

    name: ClassVar[str] = "lazybandit"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    effort: str | float = "balanced"

    def __post_init__(self) -> None:
        as_level(self.effort)

    @property
    def level(self) -> float:
        """Return the effort as a number."""
        return as_level(self.effort)

    def with_more_effort(self) -> LazyBandit:
        return replace(self, effort=larger_effort(self.effort))

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        return run_race(oracle, random, control, schedule)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return race_schedule(problem, limits, self.level)

    def least_evaluations(self, problem: Problem) -> int:
        return least_evaluations(
            n_source=len(problem.source), n_target=len(problem.target), k=problem.k
        )

    def stream_rows(
        self, *, n_source: int, k: int, is_expensive: bool, limits: Limits
    ) -> int | None:
        size = _Size(
            n_source=n_source,
            n_target=_ENDLESS,
            k=k,
            is_expensive=is_expensive,
            itemsize=8,
        )
        n_rows = _affordable_rungs(size, limits, self.level)[-1].n_rows
        # Fewer rows may contain none of a small far cluster.
        is_searched = k > 1 and limits.evaluations is None
        return max(n_rows, SEARCHED_ROWS) if is_searched else n_rows

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if outcome.is_proven else None


def run_race(
    oracle: Oracle,
    random: np.random.Generator,
    control: SearchControl,
    schedule: Schedule,
    *,
    start: Ids | None = None,
) -> Iterator[Pick]:
    """Yield the prototypes of a race, best first; ``start`` are prototypes to improve."""
    rungs = schedule.rungs
    order, weights = order_for(oracle.problem, [rung.n_rows for rung in rungs], random)
    result = restore_result(control, oracle, rungs)
    if result is None:
        control.report(f"round 1 of {len(rungs)}")
        results = race(
            oracle,
            order,
            rungs,
            k=oracle.problem.k,
            weights=weights,
            random=random,
            start=start,
            evaluations=control.limits.evaluations,
            control=control,
        )
        result = _last_result(oracle, results, rungs, control)
    if not result.is_searched:
        control.warn(_LIMITED_SEARCH)
    remark, state = "", result.swap_state
    if control.stopped is not None:
        n_rows = result.rung.n_rows
        remark = f"The race was stopped at {n_rows:,} target rows by {control.stopped}."
    is_whole = result.rung.n_rows == len(oracle.problem.target)
    table = FullTable(oracle=oracle, arms=result.prototypes, matrix=state.matrix)
    slots = np.arange(len(result.prototypes))
    for pick in order_by_gain(table, slots, state.weights, random, is_whole=is_whole):
        yield replace(pick, is_proven=result.is_exact, remark=remark)


def _last_result(
    oracle: Oracle, results: Iterator[RungResult], rungs: Sequence[Rung], control: SearchControl
) -> RungResult:
    """Return the last result of a race, or the one at which something ends the race."""
    result: RungResult | None = None
    try:
        for result in results:
            n, k = rungs.index(result.rung) + 1, len(result.prototypes)
            doing = f"round {min(n + 1, len(rungs))} of {len(rungs)}"
            # On a sample the cost is too low, so that it would rise with the next one.
            is_whole = result.rung.n_rows == len(oracle.problem.target)
            control.report(doing, n_picked=k, cost=result.swap_state.cost if is_whole else None)
            is_over = result.rung is rungs[-1]
            if (not is_over or control.is_interrupted()) and not control.allows():
                return result
            if is_over:
                break
        else:
            control.stop(control.limit_of_evaluations())
    except Halt:
        if result is None:
            raise
        control.stop()
        return result
    assert result is not None
    save_result(control, oracle, result, rungs)
    return result


def race_schedule(problem: Problem, limits: Limits, effort: float) -> Schedule:
    """Return the schedule of a race on this problem."""
    n_source, k = len(problem.source), problem.k
    size = _Size(
        n_source=n_source,
        n_target=len(problem.target),
        k=k,
        is_expensive=problem.metric.is_expensive,
        itemsize=problem.distance_dtype.itemsize,
        row_bytes=row_bytes(problem.target),
        beside=prepared_bytes(problem),
    )
    wanted, rungs = size.rungs(effort), _affordable_rungs(size, limits, effort)
    return Schedule(
        evaluations=planned_evaluations(
            rungs, k, size.n_target, limits.evaluations, n_columns=problem.target.n_columns
        ),
        most_evaluations=most_evaluations(
            rungs, k, size.n_target, can_repeat=problem.weights is not None
        ),
        memory=size.memory(rungs),
        rungs=tuple(rungs),
        reductions=reductions(
            source_rows=(rungs[0].n_arms, n_source),
            target_rows=(rungs[-1].n_rows, wanted[-1].n_rows),
            finalists=(rungs[-1].n_finalists, wanted[-1].n_finalists),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Size:
    """The size of a problem, as far as the rungs of a race depend on it."""

    n_source: int
    n_target: int
    k: int
    is_expensive: bool
    itemsize: int
    row_bytes: float = 0.0
    beside: int = 0  # bytes that do not depend on the rungs

    def rungs(
        self, effort: float, *, entries: int = _ENDLESS, evaluations: int | None = None
    ) -> list[Rung]:
        return rungs_for(
            n_source=self.n_source,
            n_target=self.n_target,
            k=self.k,
            effort=effort * (_EXPENSIVE_EFFORT if self.is_expensive else 1.0),
            at_once=_AT_ONCE_IF_EXPENSIVE if self.is_expensive else AT_ONCE,
            entries=entries,
            evaluations=evaluations,
        )

    def memory(self, rungs: Sequence[Rung]) -> int:
        needed = race_memory(rungs, self.k, itemsize=self.itemsize, row_bytes=self.row_bytes)
        return needed + self.beside


def _affordable_rungs(size: _Size, limits: Limits, effort: float) -> list[Rung]:
    """Return the rungs of the race that the limits allow."""
    rungs = size.rungs(effort, evaluations=limits.evaluations)
    if size.memory(rungs) > limits.memory_budget:
        rungs = _smaller_rungs(size, limits, effort, rungs)
    if limits.memory is None:
        return rungs
    spare = limits.memory - size.memory(rungs)
    return with_most_entries(rungs, size.k, itemsize=size.itemsize, spare=spare)


def _smaller_rungs(size: _Size, limits: Limits, effort: float, rungs: Sequence[Rung]) -> list[Rung]:
    """Return rungs that keep as many dissimilarities as the memory budget allows."""
    low, high = 0, sum(rung.n_arms * rung.n_rows for rung in rungs)
    while high - low > 1 + low // 1000:
        entries = (low + high) // 2
        rungs = size.rungs(effort, entries=entries, evaluations=limits.evaluations)
        is_within = size.memory(rungs) <= limits.memory_budget
        low, high = (entries, high) if is_within else (low, entries)
    return size.rungs(effort, entries=low, evaluations=limits.evaluations)
