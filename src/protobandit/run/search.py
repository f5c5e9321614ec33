"""One search, from its first pick to the fields of its selection."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import Interrupted, InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import PHASES, Oracle
from protobandit.problem.goals import Knee
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.assessment import Assessment, assess
from protobandit.run.checkpoint.identity import identity_of
from protobandit.run.goals import at_knee, remark_on, require_reachable
from protobandit.run.progress.watch import Watch
from protobandit.run.settings import RunSettings, Step
from protobandit.search.drivers.greedy import Pick
from protobandit.search.methods.greedy import LazyGreedy
from protobandit.search.methods.method import Method, Outcome, parameters_of
from protobandit.search.methods.table import METHODS, as_method
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.discrepancy import Discrepancy
from protobandit.search.objectives.mixture import Mixture
from protobandit.search.objectives.objective import Objective

ASSESSED_ROWS = 4096


class Status(Enum):
    """How a run ended; the value is the sentence the user reads."""

    SETTLED = "Selected {found}; cost and mass are exact over all {n_target} target rows."
    SAMPLED = (
        "Selected {found} on sampled target rows; cost and mass are estimated on "
        "{n_assessed} fresh ones."
    )
    STOPPED = "Stopped by {reason} after {n} of the {k} prototypes asked for."
    STOPPED_EARLY = "Stopped by {reason} after {found}, before the search had ended."

    def told(self, *, n: int, **facts: Any) -> str:
        """Return the sentence about a run that found ``n`` prototypes."""
        found = f"{n} prototype{'' if n == 1 else 's'}"
        return str(self.value).format(n=n, found=found, **facts)


def chosen_method(method: Any, problem: Problem) -> tuple[Method, str]:
    """Return a method that can solve the problem, and what the user should know of the choice."""
    chosen = as_method(method)
    missing = problem.needs - supported(chosen)
    if not missing:
        return chosen, ""
    shown = {"until": "k='auto'"} if isinstance(problem.goal, Knee) else {}
    words = " and ".join(shown.get(name, repr(name)) for name in sorted(missing))
    if isinstance(method, str) and method == "auto":
        other = LazyGreedy()
        return other, f"method='auto' was {other.name}, since {chosen.name} takes no {words}."
    able = [name for name, each in METHODS.items() if problem.needs <= supported(each)]
    raise InvalidInput(
        f"method={chosen.name!r} does not heed {words}, which this call asks for. Use one of "
        f"{['auto', *able]}, or leave it out."
    )


def supported(method: Any) -> frozenset[str]:
    """Return which constraints and goals a method heeds."""
    names: frozenset[str] = getattr(method, "supports", frozenset())
    return names


def search(
    problem: Problem,
    method: Method,
    means: RunSettings,
    *,
    remark: str = "",
    start: tuple[Step, ...] = (),
) -> dict[str, Any]:
    """Solve a problem and return the fields of its selection.

    ``remark`` goes into the status; ``start`` are the steps of the rows that are fixed, if they
    come from an earlier run.
    """
    oracle = Oracle(problem, n_jobs=means.n_jobs)
    _require_affordable(method, oracle, means.limits)
    opened = means.opened(lambda: call_of(problem, method, means.limits))
    run = _SearchRun(oracle, method, opened, remark, start)
    try:
        with oracle.at_work():
            return run.finish()
    finally:
        if opened.store is not None and opened is not means:
            opened.store.close()


def call_of(problem: Problem, method: Method, limits: Limits) -> dict[str, Any]:
    """Return what a checkpoint must know of a call to tell it from others."""
    named = (method.name, parameters_of(method))
    return identity_of(problem, fingerprints(problem), named, limits)


def _require_affordable(method: Method, oracle: Oracle, limits: Limits) -> None:
    least = method.least_evaluations(oracle)
    if limits.evaluations is not None and limits.evaluations < least:
        other = "" if method.name == "lazybandit" else ", or use method='lazybandit'"
        raise InvalidInput(
            f"limits: evaluations={limits.evaluations:,} is less than the {least:,} that "
            f"method={method.name!r} computes for the first prototype. Allow as many{other}."
        )


class _SearchRun:
    """One search: repeats picks, keeps the steps, and ends where something asks it to.

    Of the objectives only the last is kept: each may hold two numbers a target row.
    """

    def __init__(
        self,
        oracle: Oracle,
        method: Method,
        means: RunSettings,
        remark: str,
        start: tuple[Step, ...],
    ) -> None:
        self.oracle = oracle
        self.method = method
        self.means = means
        self.start = start
        self.steps: list[Step] = []
        self.is_proven = True
        self.stopped: str | None = None
        self.curve: Doubles | None = None
        self.remarks = {"choice": remark, "method": "", "goal": ""}
        self.objective: Objective | None = None
        self.watch = Watch(
            oracle,
            means.limits,
            random=means.random,
            planned=method.forecast(oracle.problem, means.limits).evaluations,
            listener=means.progress,
            interrupt=means.interrupt,
            store=means.store,
            name=means.name,
        )

    def finish(self) -> dict[str, Any]:
        """Run the search to its end, or to where something stops it."""
        try:
            self._search()
        except Halt:
            self.watch.halted()
            self.stopped = self.watch.stopped
            if not self.steps:
                self.watch.settle()
                raise Interrupted(self._nothing_found()) from None
        self.watch.settle()
        self.watch.tell("judging the result")
        fields = self._fields(self._at_goal(self.objective))
        self.watch.finish(
            len(self.steps),
            float(fields["costs"][-1]),
            is_last=self.means.is_last,
            is_complete=self.stopped is None and self.watch.stopped is None,
        )
        if self.watch.remark:
            fields["status"] = f"{fields['status']} {self.watch.remark}"
        return fields

    def _search(self) -> None:
        self.watch.tell("choosing")
        picks = self.method.picks(self.oracle, self.means.random, self.watch)
        require_reachable(self.oracle)
        for pick in picks:
            n_kept, n_taken = self._kept(pick), 0
            if n_kept:
                n_taken = self._take(pick, n_kept)
                self.remarks["method"] = pick.remark
                self.objective = pick.objective
            if 0 < n_taken < len(pick.arms):
                self.objective = pick.before and pick.before.commit(pick.arms[:n_taken])
            if self.stopped is not None or n_kept < len(pick.arms) or self._is_met(self.objective):
                break

    def _nothing_found(self) -> str:
        n, seconds = self.watch.evaluations().total(), self.watch.seconds
        kept = "; the checkpoint has how far it was" if self.means.store is not None else ""
        return (
            f"The search was interrupted after {n:,} evaluations and {seconds:.1f} seconds, before "
            f"anything had been found{kept}. Let it run for longer."
        )

    # -- steps ----------------------------------------------------------------------------------

    def _kept(self, pick: Pick) -> int:
        """Return how many arms of a pick the goal has use for."""
        goal = self.oracle.problem.goal
        return len(pick.arms) if goal is None else goal.kept(self._gains(pick))

    def _take(self, pick: Pick, n_kept: int) -> int:
        """Record a pick's steps; return how many, fewer than ``n_kept`` if something stops it."""
        self.is_proven &= pick.is_proven
        n_before, callback = len(self.steps), self.means.callback
        steps = self._steps(pick.arms, self._gains(pick))[:n_kept]
        if pick.before is not None:
            self.watch.tell("choosing", n_picked=n_before + n_kept, cost=_cost(pick))
        for step in steps:
            self.steps.append(step)
            if callback is not None and _is_true(callback(step)):
                self.stopped = "the callback"
                break
        else:
            self._heed_limits(pick)
        return len(self.steps) - n_before

    def _heed_limits(self, pick: Pick) -> None:
        is_costly = pick.before is not None  # else the picks only put what was found in order
        if is_costly and not self.watch.allows():
            self.stopped = self.watch.stopped

    def _gains(self, pick: Pick) -> Doubles:
        """Return the gains of a pick; those of an earlier run are as it saw them."""
        n = len(self.steps)
        gains = np.array(pick.gains) if n else np.full(len(pick.arms), np.nan)
        earlier = self.start[n : n + len(gains)]
        gains[: len(earlier)] = [step.gain for step in earlier]
        return gains

    def _steps(self, arms: Ids, gains: Doubles) -> list[Step]:
        spent = sum(self.oracle.evaluations.values())
        seconds = self.watch.seconds
        return [
            Step(index=int(arm), gain=float(gain), evaluations=spent, seconds=seconds)
            for arm, gain in zip(arms, gains, strict=True)
        ]

    # -- goals ----------------------------------------------------------------------------------

    def _is_met(self, objective: Objective | None) -> bool:
        goal = self.oracle.problem.goal
        if goal is None:
            return False
        assert isinstance(objective, ExactCoverage), "goals need the exact coverage of the target"
        return goal.is_met(objective.nearest, objective.weights)

    def _at_goal(self, objective: Objective | None) -> Objective | None:
        """Say how the goal was met, and return the objective of what belongs to it."""
        goal = self.oracle.problem.goal
        if goal is None or self.stopped is not None:
            return objective
        assert isinstance(objective, ExactCoverage)
        if not isinstance(goal, Knee):
            self.remarks["goal"] = remark_on(self.oracle.problem, objective)
            return objective
        knee = at_knee(self.oracle, objective, self.means.random)
        self.curve, self.remarks["goal"] = knee.curve, knee.remark
        gains = np.diff(-np.array(knee.coverage.costs), prepend=np.nan)
        self.steps = self._steps(knee.coverage.prototypes, gains)
        return knee.coverage

    # -- the result -----------------------------------------------------------------------------

    def _fields(self, objective: Objective | None) -> dict[str, Any]:
        problem = self.oracle.problem
        indices = np.array([step.index for step in self.steps], dtype=np.int64)
        result = self._assessed(indices, objective)
        finish = getattr(self.method, "finish", None)
        besides = {} if finish is None else finish(objective)
        spent = self.watch.evaluations()
        outcome = Outcome(
            objective=objective,
            is_proven=self.is_proven,
            cost=float(result.costs[-1]),
            k=len(indices),
            feasibility=problem.feasibility,
        )
        return {
            "indices": indices,
            "costs": result.costs,
            "mass": result.mass,
            "cost_error": result.error,
            "evaluations_by_phase": {phase: spent[phase] for phase in PHASES},
            "lookups": self.watch.lookups(),
            "guarantee": self._guarantee(outcome),
            "status": self._sentence(result),
            "steps": tuple(self.steps),
            "method": self.method.name,
            "parameters": parameters_of(self.method),
            "metric": problem.metric,
            "prototypes": problem.source.take(indices),
            "fingerprints": fingerprints(problem),
            "problem": problem,
            "curve": self.curve,
            "spent": problem.feasibility.paid(indices),
            **besides,
        }

    def _guarantee(self, outcome: Outcome) -> Guarantee | None:
        found = None if self._is_stopped else self.method.guarantee(outcome)
        if found is None or self.oracle.problem.fresh is None:
            return found
        limit = "the target is the rows of the stream that were read"
        return replace(found, conditions=(*found.conditions, limit))

    @property
    def _is_stopped(self) -> bool:
        is_short = len(self.steps) < self.oracle.problem.k
        return is_short and (self.stopped is not None or not self.oracle.problem.is_open_ended)

    def _sentence(self, result: Assessment) -> str:
        problem = self.oracle.problem
        words = self._status(result).told(
            n=len(self.steps),
            k=problem.k,
            n_target=len(problem.target),
            n_assessed=result.n_rows,
            reason=self.stopped or self.watch.stopped or "a limit",
        )
        return " ".join(part for part in (words, *self.remarks.values()) if part)

    def _status(self, result: Assessment) -> Status:
        problem = self.oracle.problem
        if self._is_stopped:
            return Status.STOPPED_EARLY if problem.is_open_ended else Status.STOPPED
        if result.n_rows < len(problem.target) or problem.fresh is not None:
            return Status.SAMPLED
        return Status.SETTLED

    def _assessed(self, indices: Ids, objective: Objective | None) -> Assessment:
        if self.oracle.problem.fresh is not None:
            return _on_fresh(self.oracle, indices, self.means.random)
        if isinstance(objective, ExactCoverage):
            n_rows = len(self.oracle.problem.target)
            costs = np.array(objective.costs)
            return Assessment(costs=costs, mass=objective.mass, error=0.0, n_rows=n_rows)
        has_read_all = isinstance(objective, (Discrepancy, Mixture))
        n_rows = len(self.oracle.problem.target) if has_read_all else ASSESSED_ROWS
        return _assessed(self.oracle, indices, n_rows, self.means.random)


def assessed_rows(
    oracle: Oracle, indices: Ids, is_exact: bool, random: np.random.Generator
) -> Assessment:
    """Judge prototypes on the whole target, or on as many rows as any sampled method is."""
    n_rows = len(oracle.problem.target) if is_exact else ASSESSED_ROWS
    with oracle.at_work():
        return _assessed(oracle, indices, n_rows, random)


def _on_fresh(oracle: Oracle, indices: Ids, random: np.random.Generator) -> Assessment:
    """Judge prototypes on the rows of a stream that came after the target."""
    fresh = oracle.problem.fresh
    assert fresh is not None, "the problem is of a stream"
    beside = oracle.beside(replace(oracle.problem, target=fresh, weights=None))
    return _assessed(beside, indices, len(fresh), random, is_endless=True)


def _assessed(
    oracle: Oracle,
    indices: Ids,
    n_rows: int,
    random: np.random.Generator,
    *,
    is_endless: bool = False,
) -> Assessment:
    """Judge prototypes on target rows; refuse distances that overflow."""
    result = assess(oracle, indices, n_rows=n_rows, random=random, is_endless=is_endless)
    if not np.isfinite(result.costs).all():
        name = oracle.problem.metric.name
        raise InvalidInput(
            f"metric={name!r} overflows {oracle.dtype} on these rows. Rescale them, or pass "
            f"float64."
        )
    return result


def fingerprints(problem: Problem) -> dict[str, str]:
    """Return digests of source and target."""
    target = problem.target.fingerprint()
    is_one = problem.target is problem.source
    return {"source": target if is_one else problem.source.fingerprint(), "target": target}


def _cost(pick: Pick) -> float:
    """Return the cost after a pick, as far as its objective knows it."""
    coverage = pick.objective
    return coverage.costs[-1] if isinstance(coverage, ExactCoverage) else float("nan")


def _is_true(answer: Any) -> bool:
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
