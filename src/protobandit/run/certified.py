"""Search with growing effort until a certificate holds: the goal `Certified`.

Theory of operation
-------------------
Attempt i = 1, 2, … searches with a larger effort than the one before. Then the result is certified
with an error probability of delta / (i (i + 1)), on rows that are drawn for this certificate only.
These sum to at most delta over all attempts. So with probability 1 - delta all lower bounds on the
best cost hold together, however many attempts there are and whatever made them end, and the lowest
cost found may be compared with the highest of the bounds. Costs are exact, since a rigorous
certificate compares the whole target with the prototypes.

An exact lower bound holds for certain, and for every set of k source rows. Once it is known, no
other certificate is computed: later attempts only compute their exact cost.

Until then the certificate grows with the effort, to twice as many evaluations per attempt: the
bound may be loose because few rows were drawn, not because the selection is poor.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

from protobandit.certificate.certificate import Certificate, statement_of
from protobandit.certificate.certify import MOST_EXACT_PAIRS, Solution, certify
from protobandit.foundation.errors import Interrupted, InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.goals import Certified
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.rows.streams import Stream
from protobandit.run.assessment import assess_prefix
from protobandit.run.certification import Attempt, Certification, CertificationEnd
from protobandit.run.outcome import SearchResult
from protobandit.run.progress.attempts import AttemptsProgress
from protobandit.run.search import chosen_method, identity, logs_evaluations, search
from protobandit.run.settings import RunSettings
from protobandit.search.control import INTERRUPTED, SavedState, StopKind, StopReason
from protobandit.search.methods.auto import Auto
from protobandit.search.methods.method import Method, parameters_of

_PATIENCE = 3  # attempts without gain
_ROUNDING = 1e-6  # an excess of a ratio that is not shown either
_LEAST_GAIN = 0.01  # share of the distance to the ratio that an attempt must gain
_SEARCH_SHARE = 0.5  # of the evaluations that are left, for the search of an attempt
# A first certificate that is exact reads more pairs than these several times (measured: 1 to 5).
_HELD_PAIRS = 1 << 25
_READINGS = 3
# Rows of a first certificate that is not exact.
_FIRST_ROWS = 4096
_ROWS_PER_PROTOTYPE = 128
_CERTIFICATE = "certificate"


def require_rows(target: Any, goal: Certified) -> None:
    """Raise if the target is a stream, whose rows cannot be read again for a certificate."""
    if isinstance(target, Stream):
        raise InvalidInput(
            f"until={goal} is given with a Stream as target, but a certificate compares with all "
            f"target rows. Pass rows, or certify the selection of a stream afterwards."
        )


def growing_method(method: Any, problem: Problem, goal: Certified) -> tuple[Method, str]:
    """Return the method of the first attempt, and what the user should know of the choice."""
    is_auto = isinstance(method, str) and method == "auto"
    chosen, remark = chosen_method(Auto(effort="fast") if is_auto else method, problem)
    if chosen.with_more_effort() is None:
        raise InvalidInput(
            f"method={chosen.name!r} has no effort that could grow until {goal} holds. Use "
            f"method='auto' or 'lazybandit', without costs and a budget."
        )
    return chosen, remark


def certificate_evaluations(problem: Problem) -> int:
    """Return about how many evaluations the first certificate needs; for predictions."""
    n_pairs = problem.n_source * problem.n_target
    if n_pairs <= MOST_EXACT_PAIRS and not problem.metric.is_expensive:
        return n_pairs if n_pairs <= _HELD_PAIRS else _READINGS * n_pairs
    n_rows = min(_FIRST_ROWS + _ROWS_PER_PROTOTYPE * problem.k, problem.n_target // 4)
    return min(problem.k * problem.n_target + n_rows * problem.n_source, n_pairs)


def search_until_certified(
    problem: Problem, method: Method, goal: Certified, settings: RunSettings, *, remark: str = ""
) -> SearchResult:
    """Solve a problem with growing effort until ``goal`` is reached; return the best result."""
    opened = settings.with_open_checkpoint(
        lambda: {**identity(problem, method, settings.limits), "until": repr(goal)},
        has_log=logs_evaluations(problem, method),
    )
    try:
        return _CertifiedRun(problem, goal, opened, remark).finish(method)
    finally:
        if opened.file is not None:
            opened.file.close()


class _CertifiedRun:
    """The attempts of one call."""

    def __init__(
        self, problem: Problem, goal: Certified, settings: RunSettings, remark: str
    ) -> None:
        self.problem = problem
        self.goal = goal
        self.settings = settings
        self.remark = remark
        self.attempts: list[Attempt] = []
        self.spent = dict.fromkeys(("build", "swap", "assign", "certify"), 0)
        self.lookups = 0
        self.seconds = 0.0
        self.best: SearchResult | None = None
        self.best_cost = math.inf
        self.bound: Certificate | None = None  # with the highest lower bound
        self.first_evaluations: int | None = None  # of the first certificate
        self.progress = (
            None
            if settings.progress is None
            else AttemptsProgress(settings.progress, after="certifying")
        )

    def finish(self, method: Method) -> SearchResult:
        """Make attempts until something ends them."""
        end, reason, n_stale = CertificationEnd.STOPPED, None, 0
        while True:
            ratio = self._ratio
            reason = self._attempt(method)
            if self._ratio <= self.goal.ratio + _ROUNDING:
                end, reason = CertificationEnd.REACHED, None
                break
            if reason is not None:
                break
            n_stale = 0 if self._has_gained(ratio) else n_stale + 1
            if n_stale == _PATIENCE:
                end = CertificationEnd.NO_GAIN
                break
            reason = self._limit(method)
            if reason is not None:
                break
            larger = method.with_more_effort()
            assert larger is not None
            method = larger
        return self._result(end, reason)

    # -- one attempt ----------------------------------------------------------------------------

    def _attempt(self, method: Method) -> StopReason | None:
        """Search and certify; return what ends all attempts, if anything."""
        i, settings = len(self.attempts), self.settings
        evaluations, seconds = sum(self.spent.values()), self.seconds
        own = replace(
            settings,
            limits=self._search_limits(method),
            whole_limits=settings.limits,
            progress=None if self.progress is None else self.progress.on(i, evaluations, seconds),
            name=str(i),
            is_last=False,
        )
        try:
            result = search(self.problem, method, own, remark=self.remark)
        except Interrupted:
            if self.best is None:
                raise
            is_late = settings.interrupt is None or not settings.interrupt.is_set()
            return StopReason(StopKind.SECONDS, settings.limits.seconds) if is_late else INTERRUPTED
        self._count(result)
        reason, cost = _lasting(result.end.reason), _exact_cost(result)
        is_whole, is_first = len(result.indices) == self.problem.k, self.best is None
        is_interrupted = settings.interrupt is not None and settings.interrupt.is_set()
        if is_interrupted:
            reason = INTERRUPTED
        is_stopped = reason is not None and reason.kind is not StopKind.SECONDS
        if is_whole and not is_stopped and (is_first or reason is None):
            cost = self._certify(i, result)
        # An estimate must not be compared with a lower bound, so only exact costs count.
        if is_first or (is_whole and cost < self.best_cost):
            offset = [
                replace(
                    step,
                    evaluations=step.evaluations + evaluations,
                    seconds=step.seconds + seconds,
                )
                for step in result.steps
            ]
            self.best, self.best_cost = replace(result, steps=tuple(offset)), cost
        self.attempts.append(
            Attempt(
                effort=parameters_of(method)["effort"],
                cost=cost if math.isfinite(cost) else float(result.assessment.costs[-1]),
                cost_ratio=self._ratio,
                evaluations=sum(self.spent.values()) - evaluations,
            )
        )
        return reason

    def _count(self, result: SearchResult) -> None:
        for phase, n in result.evaluations_by_phase.items():
            self.spent[phase] += n
        self.lookups += result.lookups
        self.seconds += result.steps[-1].seconds

    def _certify(self, i: int, result: SearchResult) -> float:
        """Return the exact cost of a result, and keep its lower bound if that is the highest.

        The cost is infinite if it is not known, because no evaluations are left.
        """
        start, exact_cost = perf_counter(), _exact_cost(result)
        is_exact = math.isfinite(exact_cost)
        # Drawn here, so that a certificate that was saved leaves the generator as it was.
        seed = int(self.settings.random.integers(2**63))
        if self.bound is not None and self.bound.kind == "exact":
            if is_exact or not self._allows(self.problem.k * self.problem.n_target):
                return exact_cost
            oracle = Oracle(self.problem, n_jobs=self.settings.n_jobs)
            exact = assess_prefix(
                oracle, result.indices, is_exact=True, random=self.settings.random
            )
            self.spent["certify"] += oracle.counts.total
            return float(exact.costs[-1])
        solution = Solution(
            problem=self.problem,
            prototypes=result.indices,
            cost=float(result.assessment.costs[-1]),
            is_exact=is_exact,
        )
        found = self._saved(i) or certify(
            solution,
            confidence=1 - (1 - self.goal.confidence) / ((i + 1) * (i + 2)),
            kind="auto",
            evaluations=self._certificate_budget(i),
            random_state=seed,
            n_jobs=self.settings.n_jobs,
        )
        self._save(i, found)
        self.spent["certify"] += found.evaluations
        self.seconds += perf_counter() - start
        self.first_evaluations = self.first_evaluations or found.evaluations
        if self.bound is None or found.cost_bound > self.bound.cost_bound:
            self.bound = found
        return found.cost if found.n_rows else exact_cost

    # -- limits ---------------------------------------------------------------------------------

    @property
    def _left(self) -> int | None:
        """Return the number of evaluations that are left, or None if there is no limit."""
        most = self.settings.limits.evaluations
        return None if most is None else max(0, most - sum(self.spent.values()))

    def _allows(self, evaluations: int) -> bool:
        return self._left is None or evaluations <= self._left

    def _search_limits(self, method: Method) -> Limits:
        """Return the limits of the next search; it leaves evaluations for a certificate."""
        limits, left = self.settings.limits, self._left
        seconds = limits.seconds
        if left is not None:
            left = max(int(_SEARCH_SHARE * left), min(left, method.least_evaluations(self.problem)))
        return Limits(
            evaluations=left or limits.evaluations,
            seconds=None if seconds is None else max(seconds - self.seconds, 1e-9),
            memory=limits.memory,
        )

    def _certificate_budget(self, i: int) -> int | None:
        """Return the evaluations of a certificate; None for the default."""
        left, n_pairs = self._left, self.problem.n_source * self.problem.n_target
        if left is None and self.first_evaluations is None:
            return None
        first = self.first_evaluations or certificate_evaluations(self.problem)
        wanted = min(first << i, 2 * n_pairs)  # an exact one may read everything twice
        return wanted if left is None else max(1, min(wanted, left))

    def _limit(self, method: Method) -> StopReason | None:
        """Return the limit that leaves no room for another attempt, or None."""
        limits, left = self.settings.limits, self._left
        if left is not None and left < 2 * method.least_evaluations(self.problem):
            return StopReason(StopKind.EVALUATIONS, limits.evaluations)
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return StopReason(StopKind.SECONDS, limits.seconds)
        return None

    # -- the result -----------------------------------------------------------------------------

    @property
    def _ratio(self) -> float:
        """Return the proven bound on the lowest cost so far; infinite if nothing is proven."""
        if self.bound is None:
            return math.inf
        if self.best_cost <= self.bound.cost_bound:
            return 1.0
        return self.best_cost / self.bound.cost_bound if self.bound.cost_bound > 0 else math.inf

    def _has_gained(self, before: float) -> bool:
        if math.isinf(before):
            return math.isfinite(self._ratio)
        return before - self._ratio > _LEAST_GAIN * (before - self.goal.ratio)

    def _result(self, end: CertificationEnd, reason: StopReason | None) -> SearchResult:
        assert self.best is not None
        certificate = self._certificate()
        certification = Certification(
            goal=self.goal,
            attempts=tuple(self.attempts),
            end=end,
            certificate=certificate,
            reason=reason,
        )
        if self.settings.file is not None and reason is None:
            self.settings.file.complete()
        if self.progress is not None:
            self.progress.finish(is_complete=reason is None)
        return replace(
            self.best,
            evaluations_by_phase=self.spent,
            lookups=self.lookups,
            remarks=(*self.best.remarks, str(certification)),
            certification=certification,
        )

    def _certificate(self) -> Certificate | None:
        """Return the certificate of the best result, with the highest lower bound."""
        if self.bound is None:
            return None
        if math.isinf(self._ratio):  # its statement says why nothing is proven
            statement = self.bound.statement
            if self.bound.n_rows == 0:
                statement = (
                    f"Nothing is proven and nothing was computed: Limits(evaluations="
                    f"{self.settings.limits.evaluations}) left too few evaluations for a "
                    f"certificate. Allow more"
                )
            return replace(self.bound, evaluations=self.spent["certify"], statement=statement)
        is_exact, ratio = self.bound.kind == "exact", self._ratio
        confidence = 1.0 if is_exact else self.goal.confidence
        return replace(
            self.bound,
            confidence=confidence,
            cost=self.best_cost,
            cost_ratio=ratio,
            evaluations=self.spent["certify"],
            statement=statement_of(
                self.bound.kind, confidence, ratio, k=self.problem.k, n_rows=self.bound.n_rows
            ),
        )

    # -- the checkpoint -------------------------------------------------------------------------

    def _saved(self, i: int) -> Certificate | None:
        """Return the certificate of an earlier run, or None."""
        if self.settings.file is None:
            return None
        state = self.settings.file.record(str(i)).states.get(_CERTIFICATE)
        if state is None:
            return None
        values = dict(state.values)
        ratio = math.inf if values["cost_ratio"] is None else values["cost_ratio"]
        return Certificate(
            **{**values, "cost_ratio": ratio, "conditions": tuple(values["conditions"])}
        )

    def _save(self, i: int, found: Certificate) -> None:
        file = self.settings.file
        if file is None or file.is_frozen:
            return
        ratio = found.cost_ratio if math.isfinite(found.cost_ratio) else None
        values = {**asdict(found), "cost_ratio": ratio}
        file.record(str(i)).states[_CERTIFICATE] = SavedState(values)
        file.change()


def _exact_cost(result: SearchResult) -> float:
    """Return the cost of a result; infinite if it is an estimate."""
    is_exact = result.assessment.n_rows == result.problem.n_target
    return float(result.assessment.costs[-1]) if is_exact else math.inf


def _lasting(reason: StopReason | None) -> StopReason | None:
    """Return a reason that ends all attempts: the evaluations of one attempt do not."""
    return None if reason is None or reason.kind is StopKind.EVALUATIONS else reason
