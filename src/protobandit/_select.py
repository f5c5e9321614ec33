"""The functional door: `select`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._limits import Limits, as_limits
from protobandit._oracle import PHASES, Oracle
from protobandit._problem import Problem, pose
from protobandit._sampling import as_generator
from protobandit._selection import Selection, Status, Step
from protobandit._typing import Ids
from protobandit.drivers import Assessment, Pick, assess
from protobandit.methods import Method, Outcome, as_method, parameters_of
from protobandit.objectives import Coverage, Objective

_ASSESSED_ROWS = 4096


def select(
    source: Any,
    target: Any = None,
    *,
    k: int | float,
    weights: Any = None,
    metric: Any = "euclidean",
    method: Any = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    limits: Limits | None = None,
    callback: Callable[[Step], bool | None] | None = None,
) -> Selection:
    """Choose ``k`` rows of ``source`` that stand for ``target``.

    Minimises the weighted mean of d(target row, nearest chosen row).

    Parameters
    ----------
    source
        The rows to choose from: a 2-D array, DataFrame, CSR matrix, or a list of anything a
        callable metric understands. With ``metric="precomputed"``: the matrix of dissimilarities,
        of shape (target rows, source rows).
    target
        The rows to represent, or a `Target` with weights; None means the source itself (k-medoids).
    k
        How many: an int, or a fraction of the source rows in (0, 1).
    weights
        How much each target row counts.
    metric
        A name (see `protobandit.METRICS`: scikit-learn's and SciPy's, but for nan_euclidean), the
        result of `protobandit.metric`, a callable f(row, row) -> number, or `block_metric(f)`.
        Always called as d(target row, source row).
    method
        "auto", a name of `protobandit.methods.METHODS`, or a value such as
        ``methods.LazyBandit(effort="thorough")``. "auto" is "lazybandit", which computes every
        dissimilarity where that is quick, and samples the target elsewhere.
    random_state
        A seed, Generator or RandomState; the same seed gives the same answer on any number of
        threads.
    n_jobs
        Threads; None or -1 for all cores at hand.
    limits
        How many evaluations, seconds and bytes the search may take (`Limits`); it then ends with
        the best answer so far and says so in ``status``.
    callback
        Called with each `Step`; returning True stops the search there. Its exceptions propagate.

    Returns
    -------
    Selection
        Indices, costs, mass, evaluations and more.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> selection = pb.select(rows, k=2)
    >>> sorted(selection.indices.tolist())
    [1, 4]
    """
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback={callback!r} is not callable. Pass a function of one Step.")
    problem = pose(source, target, k=k, weights=weights, metric=metric)
    bounds = as_limits(limits)
    chosen = as_method(method)
    random = as_generator(random_state)
    oracle = Oracle(problem, n_jobs=n_jobs)
    _require_affordable(chosen, oracle, bounds)
    with oracle.at_work():
        return _Run(oracle, chosen, random, bounds).finish(callback)


def _require_affordable(method: Method, oracle: Oracle, limits: Limits) -> None:
    least = method.least_evaluations(oracle)
    if limits.evaluations is not None and limits.evaluations < least:
        raise InvalidInput(
            f"limits: evaluations={limits.evaluations:,} is less than the {least:,} that "
            f"method={method.name!r} computes for the first prototype. Allow more, or use "
            f"method='lazybandit'."
        )


class _Run:
    """One search: repeats picks, keeps the steps, and makes the selection.

    Of the objectives only the last is kept: each may hold two numbers a target row.
    """

    def __init__(
        self, oracle: Oracle, method: Method, random: np.random.Generator, limits: Limits
    ) -> None:
        self.oracle = oracle
        self.method = method
        self.random = random
        self.limits = limits
        self.started = perf_counter()
        self.steps: list[Step] = []
        self.is_proven = True
        self.stopped: str | None = None
        self.remark = ""

    def finish(self, callback: Callable[[Step], bool | None] | None) -> Selection:
        """Run the search to its end, or to where the callback stops it."""
        objective: Objective | None = None
        for pick in self.method.picks(self.oracle, self.random, self.limits):
            n_taken = self._take(pick, callback)
            objective, self.remark = pick.objective, pick.remark
            if n_taken < len(pick.arms):
                objective = pick.before and pick.before.commit(pick.arms[:n_taken])
            if self.stopped is not None:
                break
        return self._selection(objective)

    def _take(self, pick: Pick, callback: Callable[[Step], bool | None] | None) -> int:
        """Record a pick's steps; return how many, fewer than its arms if something stops it."""
        self.is_proven &= pick.is_proven
        n_before = len(self.steps)
        for step in self._steps(pick):
            self.steps.append(step)
            if callback is not None and _is_true(callback(step)):
                self.stopped = "the callback"
                break
        else:
            self._heed_limits(pick)
        return len(self.steps) - n_before

    def _heed_limits(self, pick: Pick) -> None:
        is_costly = pick.before is not None  # else the picks only put what was found in order
        limit = self.limits.reached(self.steps[-1].evaluations, self.steps[-1].seconds)
        self.stopped = f"the limit of {limit}" if limit and is_costly else None

    def _steps(self, pick: Pick) -> list[Step]:
        spent = sum(self.oracle.evaluations.values())
        seconds = perf_counter() - self.started
        gains = pick.gains if self.steps else np.full(len(pick.arms), np.nan)
        return [
            Step(index=int(arm), gain=float(gain), evaluations=spent, seconds=seconds)
            for arm, gain in zip(pick.arms, gains, strict=True)
        ]

    def _selection(self, objective: Objective | None) -> Selection:
        problem = self.oracle.problem
        indices = np.array([step.index for step in self.steps], dtype=np.int64)
        result = self._assessed(indices, objective)
        is_stopped = len(indices) < problem.k
        outcome = Outcome(
            objective=objective,
            is_proven=self.is_proven,
            cost=float(result.costs[-1]),
            k=len(indices),
        )
        return Selection(
            indices=indices,
            costs=result.costs,
            mass=result.mass,
            cost_error=result.error,
            evaluations_by_phase={phase: self.oracle.evaluations[phase] for phase in PHASES},
            lookups=sum(self.oracle.lookups.values()),
            guarantee=None if is_stopped else self.method.guarantee(outcome),
            status=self._sentence(result),
            steps=tuple(self.steps),
            method=self.method.name,
            parameters=parameters_of(self.method),
            metric=problem.metric,
            prototypes=problem.source.take(indices),
            fingerprints=_fingerprints(problem),
            problem=problem,
        )

    def _sentence(self, result: Assessment) -> str:
        problem = self.oracle.problem
        words = self._status(result).value.format(
            n=len(self.steps),
            k=problem.k,
            n_target=len(problem.target),
            n_assessed=result.n_rows,
            reason=self.stopped or "a limit",
        )
        return f"{words} {self.remark}".strip()

    def _status(self, result: Assessment) -> Status:
        problem = self.oracle.problem
        if len(self.steps) < problem.k:
            return Status.STOPPED
        if result.n_rows < len(problem.target):
            return Status.SAMPLED
        return Status.SETTLED

    def _assessed(self, indices: Ids, objective: Objective | None) -> Assessment:
        if isinstance(objective, Coverage):
            n_rows = len(self.oracle.problem.target)
            costs = np.array(objective.costs)
            return Assessment(costs=costs, mass=objective.mass, error=0.0, n_rows=n_rows)
        result = assess(self.oracle, indices, n_rows=_ASSESSED_ROWS, random=self.random)
        if not np.isfinite(result.costs).all():
            name = self.oracle.problem.metric.name
            raise InvalidInput(
                f"metric={name!r} overflows {self.oracle.dtype} on these rows. Rescale them, or "
                f"pass float64."
            )
        return result


def _is_true(answer: Any) -> bool:
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def _fingerprints(problem: Problem) -> dict[str, str]:
    target = problem.target.fingerprint()
    is_one = problem.target is problem.source
    return {"source": target if is_one else problem.source.fingerprint(), "target": target}
