"""One search, from its first pick to the fields of its selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any

import numpy as np

from protobandit._ends import at_knee, remark_on, require_reachable
from protobandit._errors import InvalidInput
from protobandit._goals import Knee
from protobandit._limits import Limits, as_limits
from protobandit._oracle import PHASES, Oracle
from protobandit._problem import Problem
from protobandit._sampling import as_generator
from protobandit._typing import Doubles, Ids
from protobandit.drivers import Assessment, Pick, assess
from protobandit.methods import METHODS, LazyGreedy, Method, Outcome, as_method, parameters_of
from protobandit.objectives import Coverage, Discrepancy, Mixture, Objective

ASSESSED_ROWS = 4096


class Status(Enum):
    """How a run ended; the value is the sentence the user reads."""

    SETTLED = "Selected {n} prototypes; cost and mass are exact over all {n_target} target rows."
    SAMPLED = (
        "Selected {n} prototypes on sampled target rows; cost and mass are estimated on "
        "{n_assessed} fresh ones."
    )
    STOPPED = "Stopped by {reason} after {n} of the {k} prototypes asked for."
    STOPPED_EARLY = "Stopped by {reason} after {n} prototypes, before the search had ended."


@dataclass(frozen=True, kw_only=True)
class Step:
    """One prototype: which source row, what it brought, and what had been spent by then.

    ``gain`` is the drop of the cost as the search saw it (NaN for the first prototype, before which
    there is no cost, and for those that were fixed); ``evaluations`` and ``seconds`` count from the
    start of the run.
    """

    index: int
    gain: float
    evaluations: int
    seconds: float


Callback = Callable[[Step], "bool | None"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Means:
    """What a search may use, and who watches it."""

    random: np.random.Generator
    limits: Limits
    n_jobs: int | None = None
    callback: Callback | None = None


def as_means(random_state: Any, limits: Any, n_jobs: int | None, callback: Any) -> Means:
    """Validate what the user passed besides the problem."""
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback={callback!r} is not callable. Pass a function of one Step.")
    return Means(
        random=as_generator(random_state),
        limits=as_limits(limits),
        n_jobs=n_jobs,
        callback=callback,
    )


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
    means: Means,
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
    run = _Run(oracle, method, means, remark, start)
    with oracle.at_work():
        return run.finish()


def _require_affordable(method: Method, oracle: Oracle, limits: Limits) -> None:
    least = method.least_evaluations(oracle)
    if limits.evaluations is not None and limits.evaluations < least:
        raise InvalidInput(
            f"limits: evaluations={limits.evaluations:,} is less than the {least:,} that "
            f"method={method.name!r} computes for the first prototype. Allow more, or use "
            f"method='lazybandit'."
        )


class _Run:
    """One search: repeats picks, keeps the steps, and ends where something asks it to.

    Of the objectives only the last is kept: each may hold two numbers a target row.
    """

    def __init__(
        self,
        oracle: Oracle,
        method: Method,
        means: Means,
        remark: str,
        start: tuple[Step, ...],
    ) -> None:
        self.oracle = oracle
        self.method = method
        self.means = means
        self.started = perf_counter()
        self.start = start
        self.steps: list[Step] = []
        self.is_proven = True
        self.stopped: str | None = None
        self.curve: Doubles | None = None
        self.remarks = {"choice": remark, "method": "", "goal": ""}

    def finish(self) -> dict[str, Any]:
        """Run the search to its end, or to where something stops it."""
        objective: Objective | None = None
        picks = self.method.picks(self.oracle, self.means.random, self.means.limits)
        require_reachable(self.oracle)
        for pick in picks:
            n_kept, n_taken = self._kept(pick), 0
            if n_kept:
                n_taken = self._take(pick, n_kept)
                self.remarks["method"] = pick.remark
                objective = pick.objective
            if 0 < n_taken < len(pick.arms):
                objective = pick.before and pick.before.commit(pick.arms[:n_taken])
            if self.stopped is not None or n_kept < len(pick.arms) or self._is_met(objective):
                break
        objective = self._at_goal(objective)
        return self._fields(objective)

    # -- steps ----------------------------------------------------------------------------------

    def _kept(self, pick: Pick) -> int:
        """Return how many arms of a pick the goal has use for."""
        goal = self.oracle.problem.goal
        return len(pick.arms) if goal is None else goal.kept(self._gains(pick))

    def _take(self, pick: Pick, n_kept: int) -> int:
        """Record a pick's steps; return how many, fewer than ``n_kept`` if something stops it."""
        self.is_proven &= pick.is_proven
        n_before, callback = len(self.steps), self.means.callback
        for step in self._steps(pick.arms, self._gains(pick))[:n_kept]:
            self.steps.append(step)
            if callback is not None and _is_true(callback(step)):
                self.stopped = "the callback"
                break
        else:
            self._heed_limits(pick)
        return len(self.steps) - n_before

    def _heed_limits(self, pick: Pick) -> None:
        is_costly = pick.before is not None  # else the picks only put what was found in order
        limit = self.means.limits.reached(self.steps[-1].evaluations, self.steps[-1].seconds)
        self.stopped = f"the limit of {limit}" if limit and is_costly else None

    def _gains(self, pick: Pick) -> Doubles:
        """Return the gains of a pick; those of an earlier run are as it saw them."""
        n = len(self.steps)
        gains = np.array(pick.gains) if n else np.full(len(pick.arms), np.nan)
        earlier = self.start[n : n + len(gains)]
        gains[: len(earlier)] = [step.gain for step in earlier]
        return gains

    def _steps(self, arms: Ids, gains: Doubles) -> list[Step]:
        spent = sum(self.oracle.evaluations.values())
        seconds = perf_counter() - self.started
        return [
            Step(index=int(arm), gain=float(gain), evaluations=spent, seconds=seconds)
            for arm, gain in zip(arms, gains, strict=True)
        ]

    # -- goals ----------------------------------------------------------------------------------

    def _is_met(self, objective: Objective | None) -> bool:
        goal = self.oracle.problem.goal
        if goal is None:
            return False
        assert isinstance(objective, Coverage), "goals need the exact coverage of the target"
        return goal.is_met(objective.nearest, objective.weights)

    def _at_goal(self, objective: Objective | None) -> Objective | None:
        """Say how the goal was met, and return the objective of what belongs to it."""
        goal = self.oracle.problem.goal
        if goal is None or self.stopped is not None:
            return objective
        assert isinstance(objective, Coverage)
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
        outcome = Outcome(
            objective=objective,
            is_proven=self.is_proven,
            cost=float(result.costs[-1]),
            k=len(indices),
            rules=problem.rules,
        )
        return {
            "indices": indices,
            "costs": result.costs,
            "mass": result.mass,
            "cost_error": result.error,
            "evaluations_by_phase": {phase: self.oracle.evaluations[phase] for phase in PHASES},
            "lookups": sum(self.oracle.lookups.values()),
            "guarantee": None if self._is_stopped else self.method.guarantee(outcome),
            "status": self._sentence(result),
            "steps": tuple(self.steps),
            "method": self.method.name,
            "parameters": parameters_of(self.method),
            "metric": problem.metric,
            "prototypes": problem.source.take(indices),
            "fingerprints": fingerprints(problem),
            "problem": problem,
            "curve": self.curve,
            "spent": problem.rules.paid(indices),
            **besides,
        }

    @property
    def _is_stopped(self) -> bool:
        is_short = len(self.steps) < self.oracle.problem.k
        return is_short and (self.stopped is not None or not self.oracle.problem.is_open_ended)

    def _sentence(self, result: Assessment) -> str:
        problem = self.oracle.problem
        words = self._status(result).value.format(
            n=len(self.steps),
            k=problem.k,
            n_target=len(problem.target),
            n_assessed=result.n_rows,
            reason=self.stopped or "a limit",
        )
        return " ".join(part for part in (words, *self.remarks.values()) if part)

    def _status(self, result: Assessment) -> Status:
        problem = self.oracle.problem
        if self._is_stopped:
            return Status.STOPPED_EARLY if problem.is_open_ended else Status.STOPPED
        if result.n_rows < len(problem.target):
            return Status.SAMPLED
        return Status.SETTLED

    def _assessed(self, indices: Ids, objective: Objective | None) -> Assessment:
        if isinstance(objective, Coverage):
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


def _assessed(oracle: Oracle, indices: Ids, n_rows: int, random: np.random.Generator) -> Assessment:
    """Judge prototypes on target rows; refuse distances that overflow."""
    result = assess(oracle, indices, n_rows=n_rows, random=random)
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


def _is_true(answer: Any) -> bool:
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
