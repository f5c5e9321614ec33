"""The flagship: a race of all arms on a growing sample, with swaps at every rung."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import (
    RandomOrder,
    RowOrder,
    TargetOrder,
    WeightedOrder,
    WeightedSampler,
)
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SavedState, SearchControl, StopKind, StopReason
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.race.race import RungResult, covered, race, ranked
from protobandit.search.drivers.race.schedule import (
    Rung,
    least_evaluations,
    planned_evaluations,
    rungs_for,
)
from protobandit.search.drivers.race.state import drop_state
from protobandit.search.methods.greedy import exact_guarantee
from protobandit.search.methods.method import Method, Outcome, Schedule
from protobandit.search.objectives.swap_state import SwapState

EFFORTS = {"fast": 1.0, "balanced": 2.5, "thorough": 6.0}
_EXPENSIVE_EFFORT = 0.6  # of the effort, where the metric is the user's own function
_AT_ONCE = 1 << 24  # dissimilarities that are computed at once rather than raced for
_AT_ONCE_IF_EXPENSIVE = 1 << 14
_ENDLESS = 1 << 62  # rows
_RESULT = "result of the race"  # the name of its saved state
_UNEVEN = 0.5  # share of effective rows below which rows are drawn by weight


@dataclass(frozen=True, kw_only=True)
class LazyBandit(Method):
    """All source rows race on a few target rows, fewer of them on more, improved by swaps.

    Evaluations: |S| (100 + 2 k) effort on the first rung and one to three times as many on all
    others together (six times for k up to 12), whatever the size of the target; where |S||T| is
    small or less than that, all are computed and the build is exact greedy. Its result is
    re-ordered greedily, so that every prefix is a good smaller selection.

    Parameters
    ----------
    effort
        "fast" (1), "balanced" (2.5), "thorough" (6), or a number: how many target rows the first
        rung reads, in units of 100 + 2 k, and everything else in proportion. From 5 on, and where
        |S||T| is at most 65,536, the 18 k arms that come nearest to an improvement are measured at
        all rows of the last rung, and forced swaps among them lead out of where no single swap
        helps.
    """

    name: ClassVar[str] = "lazybandit"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    effort: str | float = "balanced"

    def __post_init__(self) -> None:
        is_name = isinstance(self.effort, str) and self.effort in EFFORTS
        if not is_name and not (is_number(self.effort) and 0 < float(self.effort) < math.inf):
            raise InvalidInput(
                f"effort={self.effort!r} is not allowed. Use one of {list(EFFORTS)}, or a number "
                f"> 0."
            )

    @property
    def level(self) -> float:
        """Return the effort as a number."""
        return EFFORTS[self.effort] if isinstance(self.effort, str) else float(self.effort)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        return raced(oracle, random, control, schedule)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return race_schedule(problem, limits, self.level)

    def least_evaluations(self, problem: Problem) -> int:
        return least_evaluations(
            n_source=len(problem.source), n_target=len(problem.target), k=problem.k
        )

    def stream_rows(
        self, *, n_source: int, k: int, is_expensive: bool, limits: Limits
    ) -> int | None:
        rungs = _rungs(n_source, _ENDLESS, k, is_expensive, 8, limits, self.level)
        return rungs[-1].n_rows

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if outcome.is_proven else None


def raced(
    oracle: Oracle,
    random: np.random.Generator,
    control: SearchControl,
    schedule: Schedule,
    *,
    start: Ids | None = None,
) -> Iterator[Pick]:
    """Yield the prototypes that win the race, best first; ``start`` are some to improve."""
    rungs = schedule.rungs
    order, weights = _order(oracle, [rung.n_rows for rung in rungs], random)
    result = restore_result(control, rungs)
    if result is None:
        control.report(f"rung 1 of {len(rungs)}")
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
        result = _last_result(results, rungs, control)
    yield from in_order(oracle, result, random, _remark(oracle, result, control.stopped))


def _last_result(
    results: Iterator[RungResult], rungs: Sequence[Rung], control: SearchControl
) -> RungResult:
    """Return the last result of a race, or the one at which something ends it."""
    result: RungResult | None = None
    try:
        for result in results:
            n, k = rungs.index(result.rung) + 1, len(result.prototypes)
            doing = f"rung {min(n + 1, len(rungs))} of {len(rungs)}"
            control.report(doing, n_picked=k, cost=result.swap_state.cost)
            is_over = result.rung is rungs[-1]
            if (not is_over or control.is_interrupted()) and not control.allows():
                return result
            if is_over:
                break
        else:
            control.stop(StopReason(StopKind.EVALUATIONS, control.limits.evaluations))
    except Halt:
        if result is None:
            raise
        control.stop()
        return result
    assert result is not None
    drop_state(control)
    save_result(control, result, rungs)
    return result


def save_result(
    control: SearchControl, result: RungResult, rungs: Sequence[Rung], remark: str = ""
) -> None:
    """Save the last result of a race or of bandit swaps."""
    if not control.states.is_active:
        return
    values = {
        "place": rungs.index(result.rung),
        "n_swaps": result.n_swaps,
        "n_entrants": result.n_entrants,
        "is_exact": result.is_exact,
        "is_short": control.stopped is not None,
        "remark": remark,
    }
    arrays = {"prototypes": result.prototypes, **result.swap_state.notes()}
    arrays["members"] = np.arange(len(result.prototypes))
    control.states.save(_RESULT, SavedState(values, arrays))


def restore_result(control: SearchControl, rungs: Sequence[Rung]) -> RungResult | None:
    """Return the last result of an earlier run, or None."""
    saved = control.states.restore(_RESULT)
    if saved is None:
        return None
    values = saved.values
    if values["is_short"]:
        control.stop(StopReason(StopKind.EVALUATIONS, control.limits.evaluations))
    return RungResult(
        rungs[values["place"]],
        saved.arrays["prototypes"],
        SwapState.recalled(saved.arrays),
        values["n_swaps"],
        values["n_entrants"],
        values["is_exact"],
        values["remark"],
    )


def race_schedule(problem: Problem, limits: Limits, effort: float) -> Schedule:
    """Return the schedule of a race on this problem."""
    itemsize = problem.distance_dtype.itemsize
    n_source, n_target = len(problem.source), len(problem.target)
    is_expensive = problem.metric.is_expensive
    rungs = _rungs(n_source, n_target, problem.k, is_expensive, itemsize, limits, effort)
    first, last = rungs[0], rungs[-1]
    return Schedule(
        evaluations=planned_evaluations(rungs, problem.k),
        memory=(first.n_arms * first.n_rows + last.n_finalists * last.n_rows) * (itemsize + 4),
        rungs=tuple(rungs),
    )


def _rungs(
    n_source: int,
    n_target: int,
    k: int,
    is_expensive: bool,
    itemsize: int,
    limits: Limits,
    effort: float,
) -> list[Rung]:
    return rungs_for(
        n_source=n_source,
        n_target=n_target,
        k=k,
        effort=effort * (_EXPENSIVE_EFFORT if is_expensive else 1.0),
        at_once=_AT_ONCE_IF_EXPENSIVE if is_expensive else _AT_ONCE,
        entries=limits.room() // 2 // (itemsize + 4),
        evaluations=limits.evaluations,
    )


def _order(
    oracle: Oracle, n_rows: list[int], random: np.random.Generator
) -> tuple[TargetOrder, Doubles | None]:
    """Return the order of target rows, and weights where it does not follow them."""
    problem = oracle.problem
    n, weights = len(problem.target), problem.weights
    if n_rows[0] == n or problem.fresh is not None:
        return RowOrder(), weights
    is_uneven = weights is not None and weights.sum() ** 2 < _UNEVEN * n * (weights @ weights)
    if weights is not None and is_uneven and n_rows[-1] < n:
        return WeightedOrder(WeightedSampler(weights), random), None
    return RandomOrder(n, random), weights


def in_order(
    oracle: Oracle, result: RungResult, random: np.random.Generator, remark: str = ""
) -> Iterator[Pick]:
    """Yield the prototypes of a result, best first."""
    prototypes, is_proven = result.prototypes, result.is_exact
    if result.rung.n_rows == len(oracle.problem.target):
        for pick in covered(oracle, result, random):
            yield replace(
                pick,
                arms=prototypes[pick.arms],
                before=None,
                is_proven=is_proven,
                remark=remark,
            )
        return
    slots, gains = ranked(oracle, result, random)
    for i in range(len(slots)):
        yield Pick(
            arms=prototypes[slots[i : i + 1]],
            gains=gains[i : i + 1],
            objective=None,
            before=None,
            is_proven=is_proven,
            remark=remark,
        )


def _remark(oracle: Oracle, result: RungResult, stopped: StopReason | None) -> str:
    parts = []
    if stopped is not None:
        parts.append(f"The race was stopped at {result.rung.n_rows:,} target rows by {stopped}.")
    if result.n_entrants < len(oracle.problem.source):
        parts.append(f"{result.n_entrants:,} random source rows took part, as the limits allow.")
    return " ".join(parts)
