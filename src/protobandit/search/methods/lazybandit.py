"""The flagship: a race of all arms on a growing sample, with swaps at every rung."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
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
from protobandit.run.progress.watch import Watch
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.race.race import RungResult, covered, race, ranked
from protobandit.search.drivers.race.schedule import (
    Rung,
    least_evaluations,
    planned_evaluations,
    rungs_for,
)
from protobandit.search.methods.greedy import exact_guarantee
from protobandit.search.methods.method import Forecast, Outcome, is_number
from protobandit.search.objectives.swap_state import SwapState

EFFORTS = {"fast": 1.0, "balanced": 2.5, "thorough": 6.0}
_DEAR = 0.6  # of the effort, where an evaluation is a call of the user's own function
_AT_ONCE = 1 << 24  # dissimilarities that are computed at once rather than raced for
_AT_ONCE_IF_DEAR = 1 << 14
_ENDLESS = 1 << 62  # rows
_UNEVEN = 0.5  # share of effective rows below which rows are drawn by weight


@dataclass(frozen=True, kw_only=True)
class LazyBandit:
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

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        return raced(oracle, random, watch, effort=self.level)

    def least_evaluations(self, oracle: Oracle) -> int:
        problem = oracle.problem
        return least_evaluations(
            n_source=len(problem.source), n_target=len(problem.target), k=problem.k
        )

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return race_forecast(problem, limits, self.level)

    def rows_read(self, *, n_source: int, k: int, is_expensive: bool, limits: Limits) -> int:
        """Return how many rows of an endless target the race reads."""
        rungs = _rungs(n_source, _ENDLESS, k, is_expensive, 8, limits, self.level)
        return rungs[-1].n_rows

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if outcome.is_proven else None


def raced(
    oracle: Oracle,
    random: np.random.Generator,
    watch: Watch,
    *,
    effort: float,
    start: Ids | None = None,
) -> Iterator[Pick]:
    """Yield the prototypes that win the race, best first; ``start`` are some to improve."""
    limits, k = watch.limits, oracle.problem.k
    planned = planned_rungs(oracle.problem, oracle.dtype.itemsize, limits, effort)
    # How many rows there is room for may be another number when the race is taken up again.
    numbers = watch.decide("rungs", [list(astuple(rung)) for rung in planned])
    rungs = [Rung(*row) for row in numbers]
    order, weights = _order(oracle, [rung.n_rows for rung in rungs], random)
    lap = lap_before(watch, rungs)
    if lap is None:
        watch.tell(f"rung 1 of {len(rungs)}")
        laps = race(
            oracle,
            order,
            rungs,
            k=k,
            weights=weights,
            random=random,
            start=start,
            evaluations=limits.evaluations,
            watch=watch,
        )
        lap = _finished(laps, rungs, watch)
    yield from in_order(oracle, lap, random, _remark(oracle, lap, watch.stopped))


def _finished(laps: Iterator[RungResult], rungs: list[Rung], watch: Watch) -> RungResult:
    """Return the last lap of a race, or where something ends it."""
    lap: RungResult | None = None
    try:
        for lap in laps:
            n, k = rungs.index(lap.rung) + 1, len(lap.prototypes)
            doing = f"rung {min(n + 1, len(rungs))} of {len(rungs)}"
            watch.tell(doing, n_picked=k, cost=lap.swap_state.cost)
            is_over = lap.rung is rungs[-1]
            if (not is_over or watch.asks_to_stop()) and not watch.allows():
                return lap
            if is_over:
                break
        else:
            watch.stopped = f"the limit of {watch.limits.evaluations:,} evaluations"
    except Halt:
        if lap is None:
            raise
        watch.halted()
        return lap
    assert lap is not None
    note_lap(watch, lap, rungs)
    return lap


def note_lap(watch: Watch, lap: RungResult, rungs: list[Rung]) -> None:
    """Write down the last lap of a race in the place of all others."""
    if not watch.is_noting:
        return
    values = {
        "place": rungs.index(lap.rung),
        "n_swaps": lap.n_swaps,
        "n_entrants": lap.n_entrants,
        "is_exact": lap.is_exact,
        "stopped": watch.stopped,
    }
    arrays = {"prototypes": lap.prototypes, **lap.swap_state.notes()}
    watch.drop("race")
    watch.note("last lap", values, {**arrays, "members": np.arange(len(lap.prototypes))})


def lap_before(watch: Watch, rungs: list[Rung]) -> RungResult | None:
    """Return the last lap of a race that an earlier run has finished, or None."""
    stage = watch.recall("last lap")
    if stage is None:
        return None
    values = stage.values
    watch.stopped = values["stopped"]
    return RungResult(
        rungs[values["place"]],
        stage.arrays["prototypes"],
        SwapState.recalled(stage.arrays),
        values["n_swaps"],
        values["n_entrants"],
        values["is_exact"],
    )


def race_forecast(problem: Problem, limits: Limits, effort: float) -> Forecast:
    """Return what the race on this problem is expected to take."""
    itemsize = problem.dtype.itemsize
    rungs = planned_rungs(problem, itemsize, limits, effort)
    first, last = rungs[0], rungs[-1]
    return Forecast(
        evaluations=planned_evaluations(rungs, problem.k),
        memory=(first.n_arms * first.n_rows + last.n_finalists * last.n_rows) * (itemsize + 4),
    )


def planned_rungs(problem: Problem, itemsize: int, limits: Limits, effort: float) -> list[Rung]:
    """Return the rungs of the race on this problem."""
    n_source, n_target = len(problem.source), len(problem.target)
    is_expensive = problem.metric.is_expensive
    return _rungs(n_source, n_target, problem.k, is_expensive, itemsize, limits, effort)


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
        effort=effort * (_DEAR if is_expensive else 1.0),
        at_once=_AT_ONCE_IF_DEAR if is_expensive else _AT_ONCE,
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
    oracle: Oracle, lap: RungResult, random: np.random.Generator, remark: str = ""
) -> Iterator[Pick]:
    """Yield the prototypes of a lap, best first."""
    prototypes, is_proven = lap.prototypes, lap.is_exact
    if lap.rung.n_rows == len(oracle.problem.target):
        for pick in covered(oracle, lap, random):
            yield replace(
                pick,
                arms=prototypes[pick.arms],
                before=None,
                is_proven=is_proven,
                remark=remark,
            )
        return
    slots, gains = ranked(oracle, lap, random)
    for i in range(len(slots)):
        yield Pick(
            arms=prototypes[slots[i : i + 1]],
            gains=gains[i : i + 1],
            objective=None,
            before=None,
            is_proven=is_proven,
            remark=remark,
        )


def _remark(oracle: Oracle, lap: RungResult, stopped: str | None) -> str:
    parts = []
    if stopped is not None:
        parts.append(f"The race was stopped at {lap.rung.n_rows:,} target rows by {stopped}.")
    if lap.n_entrants < len(oracle.problem.source):
        parts.append(f"{lap.n_entrants:,} random source rows took part, as the limits allow.")
    return " ".join(parts)
