"""Goals on problems too large to compute everything: k by a sample, then searches with all rows.

A judge (`goal_judges`) proposes a number of prototypes, an ordinary search finds them, and the
judge measures them on fresh target rows and proposes another number if these do not confirm the
goal. The number of attempts is limited.

If ``Limits(seconds)`` ends the first search before it has found anything, or leaves no time for it,
the result is the prototypes of the sample, with a warning.

A checkpoint has every search by the number of its attempt. What the judge computes takes little
time; a resumed run computes it again, or reads it from the log of evaluations. The judge draws from
generators of its own, so that a restored search finds its generator as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import Interrupted, InvalidInput
from protobandit.foundation.observer import NO_OBSERVER, Halt
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.oracle.counts import Counts
from protobandit.oracle.oracle import Oracle
from protobandit.problem.goals import Coverage, Knee, MinGain
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.goal_judges import (
    GoalSample,
    Judge,
    Verdict,
    draw_sample,
    judge_of,
    most_attempts,
    most_prototypes,
    sample_size,
)
from protobandit.run.goal_outcome import GoalAttempt, GoalEnd, GoalOutcome
from protobandit.run.observer import RunObserver
from protobandit.run.outcome import SearchResult
from protobandit.run.progress.attempts import AttemptsProgress
from protobandit.run.search import identity, logs_evaluations, search
from protobandit.run.settings import RunSettings
from protobandit.search.control import (
    INTERRUPTED,
    Clock,
    SearchControl,
    StopKind,
    StopReason,
)
from protobandit.search.drivers.pick import Pick
from protobandit.search.methods.auto import Auto
from protobandit.search.methods.method import Method, Schedule, parameters_of
from protobandit.search.methods.table import as_method

# Pairs up to which "auto" computes everything for a goal.
EXACT_PAIRS, EXPENSIVE_EXACT_PAIRS = 1 << 28, 1 << 24
_SAMPLE_SHARE = 8  # the sample may use 1/8 of the allowed evaluations
_SEARCH_SHARE = 0.5  # of the evaluations that are left, for the search of an attempt
_MEMORY_SHARE = 4  # the table of the sample may use 1/4 of the allowed memory
# A first search is made if what is left of the seconds is at least this multiple of those that the
# sample took. It reads more rows, and does not end before it has assigned them to prototypes:
# 1.9 s after 1.6 s for the sample (250,000 x 5, k = 10,000).
_LEAST_TIME = 1.0


def uses_sample(method: Any, problem: Problem, limits: Limits) -> bool:
    """Return whether the number of prototypes of a goal is determined on a sample.

    "auto" does so for large problems. Methods with an effort always do: they choose k prototypes at
    once, so a goal cannot end them.
    """
    if problem.goal is None or problem.stream is not None:
        return False
    chosen = as_method(method)
    engine, _ = _engine(chosen, problem, 1, limits)
    if not problem.feasibility.needs <= engine.supports or engine.with_more_effort() is None:
        return False
    is_expensive = problem.metric.is_expensive
    most = EXPENSIVE_EXACT_PAIRS if is_expensive else EXACT_PAIRS
    return not isinstance(chosen, Auto) or problem.n_source * problem.n_target > most


def search_for_goal(problem: Problem, method: Any, settings: RunSettings) -> SearchResult:
    """Solve a problem whose goal is evaluated on samples."""
    engine, _ = _engine(method, problem, most_prototypes(problem), settings.limits)
    opened = settings.with_open_checkpoint(
        lambda: identity(problem, engine, settings.limits),
        has_log=logs_evaluations(problem, engine),
    )
    try:
        return _GoalRun(problem, method, opened).finish()
    finally:
        if opened.file is not None:
            opened.file.close()


def goal_schedule(
    method: Any, problem: Problem, limits: Limits
) -> tuple[Method, Problem, Schedule]:
    """Return the method, the problem and the schedule of one attempt with the sample before it.

    It is for the largest number of prototypes that the goal may need.
    """
    most = most_prototypes(problem)
    k = max(1, most // 2) if isinstance(problem.goal, Knee) else most  # where a knee may be
    engine, one = _engine(method, problem, k, limits)
    schedule, size = engine.schedule(one, limits), _sample_size(problem, limits)
    n_pairs = size[0] * size[1]
    n_bytes = n_pairs * problem.distance_dtype.itemsize
    return (
        engine,
        one,
        replace(
            schedule,
            evaluations=schedule.evaluations + n_pairs,
            most_evaluations=None,
            is_rough=True,
            memory=max(schedule.memory, 2 * n_bytes),
        ),
    )


def _engine(method: Any, problem: Problem, k: int, limits: Limits) -> tuple[Method, Problem]:
    """Return the method and the problem of an attempt with ``k`` prototypes."""
    one = replace(problem, goal=None, k=max(k, len(problem.feasibility.fixed)))
    chosen = as_method(method)
    return (chosen.engine(one, limits) if isinstance(chosen, Auto) else chosen), one


def _sample_size(problem: Problem, limits: Limits) -> tuple[int, int]:
    most = limits.memory_budget // _MEMORY_SHARE // problem.distance_dtype.itemsize
    if limits.evaluations is not None:
        most = min(most, limits.evaluations // _SAMPLE_SHARE)
    return sample_size(problem, max(1, most))


@dataclass(frozen=True, kw_only=True, eq=False)
class _GivenRows(Method):
    """Yields rows that are given, so that a run measures them like the result of a search."""

    name: ClassVar[str] = "given rows"
    rows: Ids

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return Schedule(evaluations=0, most_evaluations=0, memory=0)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        gains = np.full(len(self.rows), np.nan)
        yield Pick(arms=self.rows, gains=gains, objective=None, before=None, is_proven=False)

    def least_evaluations(self, problem: Problem) -> int:
        return 0


class _GoalRun:
    """The attempts of one call."""

    def __init__(self, problem: Problem, method: Any, settings: RunSettings) -> None:
        assert problem.goal is not None
        self.problem = problem
        self.goal = problem.goal
        self.method = method
        self.settings = settings
        self.most = most_prototypes(problem)
        self.counts = Counts()  # of sample and measurements
        self.clock = Clock()
        self.spent: Counter[str] = Counter()  # of searches
        self.lookups = self.pulls = 0
        self.has_sample = False
        self.attempts: list[GoalAttempt] = []
        self.results: list[SearchResult] = []
        self.progress: AttemptsProgress | None = None
        if settings.progress is not None:
            self.progress = AttemptsProgress(settings.progress, after="measuring the goal")

    def finish(self) -> SearchResult:
        """Determine k, then search until target rows confirm the goal, or something ends it."""
        size, oracle = _sample_size(self.problem, self.settings.limits), self._oracle()
        if self.progress is not None:
            self.progress.start("determining k on a sample", self.most)
        try:
            judge, sample = self._judge(oracle, size)
        except Halt:
            raise Interrupted(
                f"The search was stopped by {self._stop_reason() or INTERRUPTED} after "
                f"{self.counts.total:,} evaluation{'' if self.counts.total == 1 else 's'}, before "
                f"the number of prototypes had been determined. Let it run for longer, or pass k."
            ) from None
        self.has_sample = True
        k: int | None = judge.first_k
        end, reason = GoalEnd.MISSED, None
        while k is not None and len(self.attempts) < most_attempts(self.goal):
            reason, verdict = self._attempt(k, judge, oracle)
            if not self.results:
                assert reason is not None
                self._take_sample(k, sample, reason)
            if reason is not None:
                end = GoalEnd.STOPPED
                break
            assert verdict is not None
            k = verdict.next_k
        if end is GoalEnd.MISSED and isinstance(self.goal, Knee):
            end = GoalEnd.UNCLEAR
        if any(attempt.is_met for attempt in self.attempts):
            end = GoalEnd.MET
        return self._result(judge, (sample.n_sources, sample.n_rows), end, reason)

    # -- the judge ------------------------------------------------------------------------------

    def _oracle(self) -> Oracle:
        """Return the oracle of the judge."""
        settings, observer = self.settings, NO_OBSERVER
        if settings.interrupt is not None or settings.limits.seconds is not None:
            observer = RunObserver([], self._is_interrupted, self._ends_judge)
        log = None if settings.file is None else settings.file.log
        return Oracle(
            self.problem, n_jobs=settings.n_jobs, counts=self.counts, observer=observer, log=log
        )

    def _judge(self, oracle: Oracle, size: tuple[int, int]) -> tuple[Judge, GoalSample]:
        """Return the judge of the goal, and its sample."""
        random, limits = self._generator(), self.settings.limits
        self._attach_log()
        with oracle.at_work():
            sample = draw_sample(oracle, size, self.most, random)
            most = None if limits.evaluations is None else limits.evaluations // _SAMPLE_SHARE
            with oracle.during("assign"):
                n_bytes = limits.memory_budget // _MEMORY_SHARE
                n_kept = n_bytes // self.problem.distance_dtype.itemsize
                judge = judge_of(oracle, sample, self.most, random, most, n_kept)
        return judge, sample

    def _measured(self, judge: Judge, oracle: Oracle, prototypes: Ids) -> Verdict | None:
        """Return what fresh rows say of prototypes; None if something stopped it."""
        random, left = self._generator(), self._left
        if left is not None and left < len(prototypes):
            return None
        self._attach_log()
        try:
            with oracle.at_work(), oracle.during("assign"):
                return judge.judge(prototypes, random, left)
        except Halt:
            return None

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(int(self.settings.random.integers(2**63)))

    def _attach_log(self) -> None:
        file = self.settings.file
        if file is not None and file.log is not None:
            file.log.attach(self.counts, self.clock)

    # -- attempts -------------------------------------------------------------------------------

    def _attempt(
        self, k: int, judge: Judge, oracle: Oracle
    ) -> tuple[StopReason | None, Verdict | None]:
        """Search and measure; return what ends all attempts, if anything, and the verdict."""
        i, before, seconds = len(self.attempts), self._total, self._seconds
        limits = self._search_limits()
        if not self.results and self._has_little_time():
            return StopReason(StopKind.SECONDS, self.settings.limits.seconds), None
        method, one = _engine(self.method, self.problem, k, limits)
        least = method.least_evaluations(one)
        if limits.evaluations is not None and limits.evaluations < least:
            return self._refuse(least), None
        own = replace(
            self.settings,
            limits=limits,
            whole_limits=self.settings.limits,
            progress=None if self.progress is None else self.progress.on(i, before, seconds),
            name=str(i),
            is_last=False,
        )
        try:
            result = search(one, method, own)
        except Interrupted as error:
            ended = self._stop_reason() or INTERRUPTED
            if not self.results and ended.kind is not StopKind.SECONDS:
                raise
            self.spent.update(error.evaluations_by_phase)
            return ended, None
        offset = [
            replace(step, evaluations=step.evaluations + before, seconds=step.seconds + seconds)
            for step in result.steps
        ]
        self.results.append(replace(result, steps=tuple(offset)))
        self.spent.update(result.evaluations_by_phase)
        self.lookups += result.lookups
        self.pulls += result.pulls
        reason = result.end.reason
        if reason is not None and reason.kind is StopKind.EVALUATIONS:
            reason = None  # those of one attempt
        reason = reason or self._stop_reason()
        verdict = None
        if len(result.indices) == one.k and reason is None:
            verdict = self._measured(judge, oracle, result.indices)
            if verdict is None:
                reason = self._stop_reason() or self._evaluations()
        self.attempts.append(
            GoalAttempt(
                k=len(result.indices),
                cost=float(result.assessment.costs[-1]),
                measured=np.nan if verdict is None else verdict.measured,
                least=np.nan if verdict is None else verdict.least,
                n_rows=0 if verdict is None else verdict.n_rows,
                is_met=verdict is not None and verdict.is_met,
                evaluations=self._total - before,
            )
        )
        return reason, verdict

    def _take_sample(self, k: int, sample: GoalSample, reason: StopReason) -> None:
        """Make prototypes of the sample the result, since no search has found any."""
        before, seconds = self._total, self._seconds
        # Goals exclude quotas with a minimum, so the first rows are a valid result.
        rows = sample.candidates[: max(k, len(self.problem.feasibility.fixed))]
        method, one = _engine(self.method, self.problem, len(rows), Limits())
        own = replace(
            self.settings,
            limits=Limits(),
            interrupt=None,
            progress=None,
            checkpoint=None,
            file=None,
        )
        found = search(one, _GivenRows(rows=rows), own)
        warning = RunWarning(
            WarningKind.LIMITED_SEARCH,
            f"{reason} ended the call before a search with all rows had found anything: the "
            f"prototypes are those of a sample of {sample.n_sources:,} source rows and "
            f"{sample.n_rows:,} target rows. Allow more seconds.",
        )
        self.results.append(
            replace(
                found,
                method=method.name,
                parameters=parameters_of(method),
                steps=tuple(
                    replace(step, evaluations=before, seconds=seconds) for step in found.steps
                ),
                warnings=(*found.warnings, warning),
            )
        )
        self.spent.update(found.evaluations_by_phase)
        self.attempts.append(
            GoalAttempt(
                k=len(rows),
                cost=float(found.assessment.costs[-1]),
                measured=np.nan,
                least=np.nan,
                n_rows=0,
                is_met=False,
                evaluations=self._total - before,
            )
        )

    # -- limits ---------------------------------------------------------------------------------

    @property
    def _total(self) -> int:
        return self.counts.total + self.spent.total()

    @property
    def _seconds(self) -> float:
        return self.clock.elapsed

    @property
    def _left(self) -> int | None:
        """Return the number of evaluations that are left; None without a limit."""
        most = self.settings.limits.evaluations
        return None if most is None else max(0, most - self._total)

    def _search_limits(self) -> Limits:
        """Return the limits of the next search; it leaves evaluations for others."""
        limits, left = self.settings.limits, self._left
        seconds = limits.seconds
        return Limits(
            evaluations=None if left is None else max(1, int(_SEARCH_SHARE * left)),
            seconds=None if seconds is None else max(seconds - self._seconds, 1e-9),
            memory=limits.memory,
        )

    def _refuse(self, least: int) -> StopReason:
        """Return the limit that prevents a further search; raise if nothing was found yet."""
        limit = self._evaluations()
        if not self.results:
            raise InvalidInput(
                f"limits: evaluations={limit.limit:,} leaves {self._left:,} after the sample that "
                f"determines the number of prototypes, and a search for them needs {2 * least:,}. "
                f"Allow more, or pass k without until."
            )
        return limit

    def _evaluations(self) -> StopReason:
        return StopReason(StopKind.EVALUATIONS, self.settings.limits.evaluations)

    def _is_interrupted(self) -> bool:
        interrupt = self.settings.interrupt
        return interrupt is not None and interrupt.is_set()

    def _is_late(self) -> bool:
        seconds = self.settings.limits.seconds
        return seconds is not None and self._seconds >= seconds

    def _ends_judge(self) -> bool:
        """Return whether the limit of seconds interrupts the judge.

        With a built-in metric the sample takes about a second, and every result needs it.
        """
        return self._is_late() and (self.has_sample or self.problem.metric.is_expensive)

    def _has_little_time(self) -> bool:
        """Return whether the time left is too short for a first search.

        With a checkpoint a search starts while there is time, since another run continues it.
        """
        seconds, spent = self.settings.limits.seconds, self._seconds
        if seconds is None or self.settings.file is not None:
            return self._is_late()
        return seconds - spent < _LEAST_TIME * spent

    def _stop_reason(self) -> StopReason | None:
        if self._is_interrupted():
            return INTERRUPTED
        if self._is_late():
            return StopReason(StopKind.SECONDS, self.settings.limits.seconds)
        return None

    # -- the result -----------------------------------------------------------------------------

    def _chosen(self) -> int:
        """Return which attempt gives the result: the fewest prototypes that meet the goal.

        If none does, it is the one that came nearest to it: the last one, for a coverage the one
        that covers most, for gains the one with the least cost, plus the gain asked for per
        prototype.
        """
        attempts = self.attempts
        met = [i for i, attempt in enumerate(attempts) if attempt.is_met]
        if met:
            return min(met, key=lambda i: attempts[i].k)
        measured = [i for i, attempt in enumerate(attempts) if attempt.n_rows]
        if isinstance(self.goal, Coverage) and measured:
            return max(measured, key=lambda i: attempts[i].measured)
        if isinstance(self.goal, MinGain) and measured:
            gain = self.goal.gain
            return min(measured, key=lambda i: attempts[i].cost + gain * attempts[i].k)
        return measured[-1] if measured else len(attempts) - 1

    def _result(
        self, judge: Judge, sizes: tuple[int, int], end: GoalEnd, reason: StopReason | None
    ) -> SearchResult:
        chosen, problem = self._chosen(), self.problem
        best = self.results[chosen]
        outcome = GoalOutcome(
            goal=self.goal,
            n_sources=sizes[0],
            n_rows=sizes[1],
            n_target=problem.n_target,
            attempts=tuple(self.attempts),
            chosen=chosen,
            end=end,
            most=self.most,
            is_most_given=self.most == problem.k < problem.feasibility.capacity,
            is_most_possible=self.most == problem.feasibility.capacity,
            n_curve=0 if judge.curve is None else len(judge.curve),
            reason=reason,
        )
        if self.settings.file is not None and reason is None:
            self.settings.file.complete()
        if self.progress is not None:
            self.progress.finish(is_complete=reason is None)
        warnings, remarks = best.warnings, (*best.remarks, str(outcome))
        if end is GoalEnd.MISSED:
            remarks = (*best.remarks, outcome.origin)  # the warning says the rest
            message = f"until={self.goal} was not reached. {outcome.statement}"
            warnings = (*warnings, RunWarning(WarningKind.GOAL_MISSED, message))
        own = Counter(self.counts.by_phase())
        own.update(self.spent)
        return replace(
            best,
            evaluations_by_phase={phase: own[phase] for phase in best.evaluations_by_phase},
            lookups=self.lookups + self.counts.lookups.total(),
            pulls=self.pulls,
            remarks=remarks,
            warnings=warnings,
            curve=judge.curve,
            goal_outcome=outcome,
            end=best.end if reason is None else replace(best.end, reason=reason),
        )
