"""One search carried out: from its first pick to its `SearchResult`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import Interrupted, InvalidInput, PartFailed
from protobandit.foundation.observer import NO_OBSERVER, Halt
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.kernels.compilation_remarks import take_remarks
from protobandit.oracle.counts import Counts
from protobandit.oracle.oracle import Oracle
from protobandit.problem.goals import Goal, Knee
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.posing import rows_of_stream
from protobandit.problem.problem import Problem
from protobandit.rows.streams import StreamEnded
from protobandit.run.assessment import (
    ASSESSED_ROWS,
    Assessment,
    FarRows,
    HeavyRows,
    assess_or_refuse,
)
from protobandit.run.checkpoint.identity import identity_of
from protobandit.run.checkpoint.states import SavedStates
from protobandit.run.goals import at_knee, remark_on, require_reachable
from protobandit.run.memory import plan_warnings, require_available, require_within_limit
from protobandit.run.observer import RunObserver
from protobandit.run.outcome import EndKind, RunEnd, SearchResult, Step, fingerprints
from protobandit.run.progress.reporter import ProgressReporter
from protobandit.run.settings import RunSettings
from protobandit.search.control import (
    Clock,
    ProgressSink,
    SearchControl,
    StateStore,
    StopKind,
    StopReason,
)
from protobandit.search.drivers.pick import Pick, SwapPasses
from protobandit.search.methods.auto import Auto
from protobandit.search.methods.greedy import LazyGreedy
from protobandit.search.methods.lazybandit import LazyBandit
from protobandit.search.methods.localsearch import LocalSearch
from protobandit.search.methods.method import Method, Outcome, Schedule, parameters_of
from protobandit.search.methods.table import METHODS, as_method
from protobandit.search.objectives.objective import CoverageObjective, ExtraResults, Objective

_LEAST_ASSESSED = 2  # rows, from which an error can be estimated
_BY_CALLBACK = StopReason(StopKind.CALLBACK)


def chosen_method(
    method: Any, problem: Problem, limits: Limits | None = None
) -> tuple[Method, str]:
    """Return a method that supports a problem, and what the user should know of the choice."""
    return supporting_method(method, problem.needs, problem.goal, problem, limits)


def supporting_method(
    method: Any,
    needs: frozenset[str],
    goal: Goal | None,
    problem: Problem | None = None,
    limits: Limits | None = None,
) -> tuple[Method, str]:
    """Return a method that supports what is needed, and what the user should know of the choice.

    ``needs`` and ``goal`` are those of the problem. Pass None as the problem if the target is a
    stream that is still to be read.
    """
    chosen = as_method(method)
    is_auto = isinstance(chosen, Auto)
    if isinstance(chosen, Auto):
        chosen = chosen.engine(problem, limits)
    missing = needs - chosen.supports
    if not missing:
        return chosen, ""
    shown = {"until": "k='auto'"} if isinstance(goal, Knee) else {}
    words = " and ".join(shown.get(name, repr(name)) for name in sorted(missing))
    if is_auto:
        other = LazyGreedy()
        remark = f"method='auto' used {other.name}, since {chosen.name} does not support {words}."
        return other, remark
    able = [name for name, each in METHODS.items() if needs <= each.supports]
    raise InvalidInput(
        f"method={chosen.name!r} does not support {words}, which this call needs. Use one of "
        f"{['auto', *able]}, or leave it out."
    )


def search(
    problem: Problem,
    method: Method,
    settings: RunSettings,
    *,
    remark: str = "",
    start: tuple[Step, ...] = (),
) -> SearchResult:
    """Solve a problem.

    ``remark`` goes into the status. ``start`` are the steps of the fixed rows, if they come from an
    earlier run.
    """
    require_affordable(method, problem, settings.limits, settings.whole_limits)
    opened = settings.with_open_checkpoint(
        lambda: identity(problem, method, settings.limits),
        has_log=logs_evaluations(problem, method),
    )
    try:
        return _SearchRun(problem, method, opened, remark, start).finish()
    finally:
        if opened.file is not None and opened is not settings:
            opened.file.close()


def logs_evaluations(problem: Problem, method: Method) -> bool:
    """Return whether a checkpoint logs evaluations, since they take long."""
    return problem.metric.is_expensive or method.has_own_kernel


def identity(problem: Problem, method: Method, limits: Limits) -> dict[str, Any]:
    """Return what a checkpoint compares to recognise its call."""
    named = (method.name, parameters_of(method))
    return identity_of(problem, fingerprints(problem), named, limits)


def require_affordable(
    method: Method, problem: Problem, limits: Limits, whole: Limits | None = None
) -> None:
    """Raise if a limit of evaluations is too low for the first prototype.

    ``whole`` are the limits that the user passed, if ``limits`` are a share of them.
    """
    least, most = method.least_evaluations(problem), limits.evaluations
    if most is None or most >= least:
        return
    shown, advice = f"{most:,}", "Allow that many"
    if whole is not None and whole.evaluations is not None and whole.evaluations > most:
        shown = f"{whole.evaluations:,} leaves {most:,} for one search, which"
        advice = "Allow more"
    for other in (LazyBandit(), LocalSearch()):
        is_able = other.least_evaluations(problem) <= most and problem.needs <= other.supports
        if is_able and other.name != method.name:
            advice += f", or use method={other.name!r}"
            break
    raise InvalidInput(
        f"limits: evaluations={shown} is less than the {least:,} that method={method.name!r} "
        f"computes for the first prototype. {advice}."
    )


class _SearchRun:
    """One search: it takes picks, keeps their steps, and ends where something asks for it.

    Of the objectives only the last is kept: each may hold two numbers per target row.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        settings: RunSettings,
        remark: str,
        start: tuple[Step, ...],
    ) -> None:
        self.problem = problem
        self.method = method
        self.settings = settings
        self.start = start
        self.steps: list[Step] = []
        self.is_proven = True
        self.has_ended = False  # the callback, a limit or an interruption ended it between picks
        self.curve: Doubles | None = None
        self.remarks = {"choice": remark, "method": "", "goal": ""}
        self.passes: SwapPasses | None = None
        self.objective: Objective | None = None
        self.counts = Counts()
        self.states: SavedStates | None = None
        self.progress: ProgressReporter | None = None
        self.control, self.schedule = self._controlled()
        self.oracle = self._observed_oracle()

    # -- the parts of a run ---------------------------------------------------------------------

    def _controlled(self) -> tuple[SearchControl, Schedule]:
        """Return the control of the search, and its schedule."""
        settings, problem = self.settings, self.problem
        file = settings.file
        clock = Clock(0.0 if file is None else file.record(settings.name).seconds)
        if file is not None:
            self.states = SavedStates(
                file,
                settings.name,
                random=settings.random,
                counts=self.counts,
                clock=clock,
                is_active=file.log is None,
            )
            if file.log is not None:
                file.log.attach(self.counts, clock)

        def make() -> Schedule:
            made = self.method.schedule(problem, settings.limits)
            require_within_limit(self.method, problem, settings.limits, made)
            require_available(self.method, problem, settings.limits, made)
            return made

        schedule = make() if self.states is None else self.states.schedule(make)
        if settings.progress is not None:
            self.progress = ProgressReporter(
                settings.progress,
                k=problem.k,
                planned=schedule.evaluations + schedule.measuring,
                counts=self.counts,
                clock=clock,
            )
        control = SearchControl(
            limits=settings.limits,
            whole_limits=settings.whole_limits,
            counts=self.counts,
            clock=clock,
            is_requested=_never if settings.interrupt is None else settings.interrupt.is_set,
            progress=self.progress or ProgressSink(),
            states=self.states or StateStore(),
        )
        for warning in plan_warnings(schedule, settings.limits, settings.whole_limits):
            control.warn(warning)
        return control, schedule

    def _observed_oracle(self) -> Oracle:
        settings = self.settings
        looks = [part.look for part in (self.progress, self.states) if part is not None]
        may_stop = settings.interrupt is not None or settings.limits.seconds is not None
        control, observer = self.control, NO_OBSERVER
        if looks or may_stop:
            observer = RunObserver(looks, control.is_requested_now, control.is_late)
        return Oracle(
            self.problem,
            n_jobs=settings.n_jobs,
            counts=self.counts,
            observer=observer,
            log=None if settings.file is None else settings.file.log,
        )

    # -- the search -----------------------------------------------------------------------------

    def finish(self) -> SearchResult:
        """Run the search to its end, or until something stops it."""
        with self.oracle.at_work():
            try:
                self._search_to_the_end()
            except Halt:
                self.control.stop()
                self.has_ended = True
                if not self.steps:
                    self._settle()
                    error = Interrupted(self._nothing_found())
                    error.evaluations_by_phase = self.counts.by_phase()
                    raise error from None
                self._close_stream(has_later_rows=False)
            except PartFailed:
                self._settle()
                if self.states is not None:
                    self.states.end()
                raise
            self._settle()
            self.control.report("measuring the cost")
            result = self._result(self._at_goal(self.objective))
        is_complete = self.control.stopped is None
        if self.states is not None and is_complete and self.settings.is_last:
            self.states.complete()
        if self.progress is not None:
            cost = float(result.assessment.costs[-1])
            self.progress.finish(len(self.steps), cost, is_complete=is_complete)
        if self.states is not None and self.states.remark:
            return replace(result, remarks=(*result.remarks, self.states.remark))
        return result

    def _search_to_the_end(self) -> None:
        """Search, and search again if a stream ends before there are rows to judge the result."""
        try:
            self._search()
            self._close_stream()
        except StreamEnded:
            if self.has_ended:
                self._close_stream(has_later_rows=False)
                message = (
                    f"the stream ended after {self.problem.rows_read:,} rows, before there were "
                    f"enough to judge the result; the last rows that were kept judged it, and the "
                    f"search may have seen them."
                )
                self.control.warn(RunWarning(WarningKind.STREAM_ENDED, message))
                return
            self._start_again()
            self._search()

    def _close_stream(self, *, has_later_rows: bool = True) -> None:
        """Make the rows that were kept the target, and later rows those that judge the result.

        If no row can be read any more, the last that were kept judge it: most of the search has not
        seen them.
        """
        stream = self.problem.stream
        if stream is None:
            return
        fresh = stream.draw(ASSESSED_ROWS) if has_later_rows else None
        target = stream.kept()
        if fresh is None:
            fresh = target.subset(np.arange(max(0, len(target) - ASSESSED_ROWS), len(target)))
        kept = "" if len(target) == stream.n_read else f" and kept the first {len(target):,}"
        remark = (
            f"The search drew rows of a stream as it needed them, {stream.n_read:,} in all{kept}; "
            f"they are assumed to be independent draws from one distribution. {self.problem.remark}"
        )
        self._replace_problem(
            target=target,
            fresh=fresh,
            stream=None,
            rows_read=stream.n_read,
            remark=remark.rstrip(),
        )

    def _start_again(self) -> None:
        """Search on the rows that were read of a stream that has ended.

        Evaluations, pulls and time count on. A checkpoint keeps the states of the first search
        only: a resumed run reads the stream to its end and starts again too.
        """
        stream = self.problem.stream
        assert stream is not None
        target = stream.kept()
        which = "all" if len(target) == stream.n_read else f"the first {len(target):,}"
        message = (
            f"the stream ended after {stream.n_read:,} rows, too early for {self.method.name}, "
            f"which started again with {which} of them as its target; the result says nothing "
            f"about other rows."
        )
        self._replace_problem(
            target=target,
            stream=None,
            rows_read=stream.n_read,
            conditions=(rows_of_stream(len(target)),),
            warnings=(
                *self.problem.warnings,
                RunWarning(WarningKind.STREAM_ENDED, message),
            ),
        )
        if self.states is not None:
            self.states.keep()
        self.steps, self.objective, self.is_proven = [], None, True
        self.schedule = self.method.schedule(self.problem, self.settings.limits)

    def _replace_problem(self, **fields: Any) -> None:
        self.problem = replace(self.problem, **fields)
        self.oracle = self.oracle.beside(self.problem)

    def _settle(self) -> None:
        """End the search: nothing interrupts the run any more."""
        self.control.settle()
        if self.states is not None and self.control.stopped is not None:
            self.states.end()

    def _search(self) -> None:
        self.control.report("choosing")
        picks = self.method.picks(self.oracle, self.settings.random, self.control, self.schedule)
        require_reachable(self.oracle)
        for pick in picks:
            n_kept, n_taken = self._kept(pick), 0
            if n_kept:
                n_taken = self._take(pick, n_kept)
                self.remarks["method"] = pick.remark
                self.passes = pick.passes
                self.objective = pick.objective
            if 0 < n_taken < len(pick.arms):
                self.objective = pick.before and pick.before.commit(pick.arms[:n_taken])
            if n_taken < len(pick.arms) or self.has_ended or self._is_met(self.objective):
                break

    def _nothing_found(self) -> str:
        n, seconds = self.counts.total, self.control.clock.seconds
        kept = "; the checkpoint has its state" if self.states is not None else ""
        reason = self.control.stopped
        if reason is None or reason.kind is not StopKind.SECONDS:
            return (
                f"The search was interrupted after {n:,} evaluations and {seconds:.1f} seconds, "
                f"before anything had been found{kept}. Let it run for longer."
            )
        planned = self.schedule.evaluations + self.schedule.measuring
        expected = seconds * max(1.0, planned / max(n, 1))
        what = "all of it" if self.settings.whole_limits is None else "one search"
        return (
            f"The search reached {reason} after {n:,} evaluations, before anything had been "
            f"found{kept}. Allow more: at this speed {what} takes about {expected:,.0f} seconds."
        )

    # -- steps ----------------------------------------------------------------------------------

    def _kept(self, pick: Pick) -> int:
        """Return how many arms of a pick the goal needs."""
        goal = self.problem.goal
        return len(pick.arms) if goal is None else goal.kept(self._gains(pick))

    def _take(self, pick: Pick, n_kept: int) -> int:
        """Record a pick's steps; return how many, fewer than ``n_kept`` if something stops it."""
        self.is_proven &= pick.is_proven
        n_before, callback = len(self.steps), self.settings.callback
        steps = self._steps(pick.arms, self._gains(pick))[:n_kept]
        if pick.before is not None:
            self.control.report("choosing", n_picked=n_before + n_kept, cost=_cost(pick))
        for step in steps:
            self.steps.append(step)
            if callback is not None and _is_true(callback(step)):
                self.control.stop(_BY_CALLBACK)
                self.has_ended = True
                break
        else:
            # Without ``before`` the picks only put what was found in order, which costs nothing.
            self.has_ended = pick.before is not None and not self.control.allows()
        return len(self.steps) - n_before

    def _gains(self, pick: Pick) -> Doubles:
        """Return the gains of a pick; those of an earlier run are as that run saw them."""
        n = len(self.steps)
        gains = np.array(pick.gains) if n else np.full(len(pick.arms), np.nan)
        earlier = self.start[n : n + len(gains)]
        gains[: len(earlier)] = [step.gain for step in earlier]
        return gains

    def _steps(self, arms: Ids, gains: Doubles) -> list[Step]:
        spent, seconds = self.counts.total, self.control.clock.seconds
        return [
            Step(index=int(arm), gain=float(gain), evaluations=spent, seconds=seconds)
            for arm, gain in zip(arms, gains, strict=True)
        ]

    # -- goals ----------------------------------------------------------------------------------

    def _is_met(self, objective: Objective | None) -> bool:
        goal = self.problem.goal
        if goal is None:
            return False
        coverage = _exact_coverage(objective)
        assert coverage is not None, "goals need the exact coverage of the target"
        return goal.is_met(coverage.nearest, coverage.weights)

    def _at_goal(self, objective: Objective | None) -> Objective | None:
        """Describe how the goal was met, and return the objective of what belongs to it."""
        goal = self.problem.goal
        if goal is None or self.has_ended:
            return objective
        coverage = _exact_coverage(objective)
        assert coverage is not None
        if not isinstance(goal, Knee):
            self.remarks["goal"] = remark_on(self.problem, coverage)
            return objective
        knee = at_knee(self.oracle, coverage, self.settings.random)
        self.curve, self.remarks["goal"] = knee.curve, knee.remark
        gains = np.diff(-np.array(knee.coverage.costs), prepend=np.nan)
        self.steps = self._steps(knee.coverage.prototypes, gains)
        return knee.coverage

    # -- the result -----------------------------------------------------------------------------

    def _result(self, objective: Objective | None) -> SearchResult:
        problem = self.problem
        indices = np.array([step.index for step in self.steps], dtype=np.int64)
        assessment = self._assessed(indices, objective)
        for warning in problem.warnings:
            self.control.warn(warning)
        self._warn_of_far_rows(assessment)
        self.remarks["compilation"] = " ".join(take_remarks())
        outcome = Outcome(
            problem=problem,
            objective=objective,
            is_proven=self.is_proven,
            cost=float(assessment.costs[-1]),
            k=len(indices),
            passes=self.passes,
        )
        extras = ExtraResults() if objective is None else objective.finish()
        return SearchResult(
            problem=problem,
            method=self.method.name,
            parameters=parameters_of(self.method),
            indices=indices,
            steps=tuple(self.steps),
            assessment=assessment,
            evaluations_by_phase=self.counts.by_phase(),
            lookups=self.counts.lookups.total(),
            pulls=self.counts.pulls,
            guarantee=self._guarantee(outcome),
            end=self._end(assessment),
            remarks=tuple(
                remark for remark in (*self.remarks.values(), self._remark_on_distance()) if remark
            ),
            warnings=tuple(self.control.warnings),
            passes=self.passes,
            extras=extras,
            curve=self.curve,
        )

    def _remark_on_distance(self) -> str:
        distance = self.problem.feasibility.min_distance
        if distance is None or len(self.steps) == self.problem.k or self._is_short:
            return ""
        if self.problem.goal is not None:
            return ""
        return (
            f"There are fewer prototypes than the {self.problem.k} requested, because no other "
            f"source row is at least {distance:g} from all of them (min_distance)."
        )

    def _guarantee(self, outcome: Outcome) -> Guarantee | None:
        found = None if self._is_short else self.method.guarantee(outcome)
        if found is None:
            return None
        return replace(found, conditions=(*found.conditions, *self.problem.conditions))

    @property
    def _is_short(self) -> bool:
        """Return whether fewer prototypes were found than requested."""
        is_short = len(self.steps) < self.problem.k
        return is_short and (self.has_ended or not self.problem.is_open_ended)

    def _end(self, assessment: Assessment) -> RunEnd:
        problem = self.problem
        if self._is_short:
            kind = EndKind.STOPPED_EARLY if problem.is_open_ended else EndKind.STOPPED
        elif assessment.n_rows < len(problem.target) or problem.fresh is not None:
            kind = EndKind.SAMPLED
        else:
            kind = EndKind.EXACT
        return RunEnd(
            kind=kind,
            n_found=len(self.steps),
            k=problem.k,
            n_target=len(problem.target),
            n_assessed=assessment.n_rows,
            reason=self.control.stopped,
        )

    def _assessed(self, indices: Ids, objective: Objective | None) -> Assessment:
        problem, random = self.problem, self.settings.random
        if problem.fresh is not None:
            fresh = self.oracle.beside(replace(problem, target=problem.fresh, weights=None))
            return assess_or_refuse(
                fresh,
                indices,
                n_rows=len(problem.fresh),
                random=random,
                is_endless=True,
                scanned=self.oracle if self.method.may_overlook_far_rows else None,
            )
        n_target, coverage = len(problem.target), _exact_coverage(objective)
        n_fresh = self._n_assessed(len(indices))
        if coverage is not None:
            costs = np.array(coverage.costs)
            return Assessment(
                costs=costs,
                mass=coverage.mass,
                error=0.0,
                n_rows=n_target,
                far=FarRows.among(coverage.nearest, coverage.weights),
                heavy=HeavyRows.among(
                    np.arange(len(coverage.weights)),  # rows in the order of the objective
                    coverage.weights * coverage.nearest,
                    coverage.weights,
                    len(indices),
                ),
            )
        has_read_all = objective is not None and objective.has_read_target
        n_rows = n_target if has_read_all and n_fresh == ASSESSED_ROWS else n_fresh
        return assess_or_refuse(
            self.oracle,
            indices,
            n_rows=n_rows,
            random=random,
            scanned=self.oracle if self.method.may_overlook_far_rows else None,
        )

    def _n_assessed(self, k: int) -> int:
        """Return the number of fresh rows on which the result is judged.

        After a stop by time or by the user, an expensive metric must not take long once more: then
        at most a quarter of the evaluations so far are added.
        """
        stopped = self.control.stopped
        if stopped is None or stopped.is_repeatable or not self.problem.metric.is_expensive:
            return ASSESSED_ROWS
        return max(_LEAST_ASSESSED, min(ASSESSED_ROWS, self.counts.total // (4 * k)))

    def _warn_of_far_rows(self, assessment: Assessment) -> None:
        """Warn if few rows carry much of the cost and the method may have overlooked them."""
        far, heavy = assessment.far, assessment.heavy
        if not self.method.may_overlook_far_rows:
            return
        needs = self.problem.needs
        better = "lazybandit" if needs <= LazyBandit.supports else "lazygreedy"
        if heavy is not None:
            is_one = heavy.n_rows == 1
            rows = "One target row" if is_one else f"{heavy.n_rows:,} target rows"
            self.control.warn(
                RunWarning(
                    WarningKind.HEAVY_ROWS,
                    f"{rows} of large weight {'carries' if is_one else 'carry'} "
                    f"{heavy.cost_share:.0%} of the cost. {self.method.name} may have overlooked "
                    f"the source rows nearest to {'it' if is_one else 'them'}; compare with "
                    f"method={better!r}, which looks for such rows.",
                )
            )
        if far is None or not far.is_much:
            return
        self.control.warn(
            RunWarning(
                WarningKind.FAR_ROWS,
                f"{far.row_share:.2%} of the target, measured on {far.n_rows:,} rows, lies "
                f"far from all prototypes and carries {far.cost_share:.0%} of the cost. "
                f"These may be the tail of the distances, or small clusters that "
                f"{self.method.name} has overlooked; compare with method={better!r}, which looks "
                f"for such clusters.",
            )
        )


def _exact_coverage(objective: Objective | None) -> CoverageObjective | None:
    return None if objective is None else objective.exact_coverage


def _cost(pick: Pick) -> float:
    """Return the cost after a pick, as far as its objective knows it."""
    coverage = _exact_coverage(pick.objective)
    return float("nan") if coverage is None else coverage.costs[-1]


def _never() -> bool:
    return False


def _is_true(answer: Any) -> bool:
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
