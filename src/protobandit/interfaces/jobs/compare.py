"""Compare methods on the same rows by cost, evaluations and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.foundation.errors import ProtobanditError
from protobandit.foundation.generators import as_generator
from protobandit.interfaces.jobs.opened_problem import (
    OpenedProblem,
    SelectArguments,
    method_with,
    open_problem,
)
from protobandit.interfaces.jobs.read_options import Notify, rows_at
from protobandit.result.selection import Selection

MAX_TEST_ROWS = 1 << 15  # target rows on which costs are measured
_SHORT = 5.0  # seconds below which a first run is repeated, because it may have compiled


@dataclass(frozen=True, kw_only=True)
class MethodScore:
    """Means over the seeds, and the standard deviation of the cost between them.

    ``prototypes`` is the number of prototypes, fewer than requested if a limit ended the search.
    ``failure`` is the error message if the method failed; the numbers are then None.
    """

    method: str
    prototypes: float | None = None
    cost: float | None = None
    cost_deviation: float | None = None
    evaluations: float | None = None
    seconds: float | None = None
    failure: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The scores in the requested order, and the number of target rows that measured the costs."""

    scores: tuple[MethodScore, ...]
    n_test: int
    n_target: int

    @property
    def best_cost(self) -> float | None:
        """Return the lowest cost."""
        return min((score.cost for score in self.scores if score.cost is not None), default=None)

    @property
    def best(self) -> str | None:
        """Return the method with the lowest cost; the first one if several are equal."""
        solved = (score for score in self.scores if score.cost is not None)
        return next((score.method for score in solved if score.cost == self.best_cost), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class _TestRows:
    """Target rows on which all methods are measured, and their weights."""

    rows: Any
    weights: Doubles

    @staticmethod
    def of(problem: OpenedProblem) -> _TestRows:
        """Return the whole target, or `MAX_TEST_ROWS` rows drawn by weight."""
        target, given = problem.target, problem.weights
        n = len(target)
        weights = weights_or_ones(None if given is None else np.asarray(given, np.float64), n)
        weights = weights / weights.sum()
        if n <= MAX_TEST_ROWS:
            return _TestRows(rows=target.rows, weights=weights)
        random = as_generator(problem.arguments.seed)
        ids: Ids = np.sort(random.choice(n, MAX_TEST_ROWS, replace=given is not None, p=weights))
        equal = np.full(MAX_TEST_ROWS, 1 / MAX_TEST_ROWS)
        return _TestRows(rows=rows_at(target, ids), weights=equal)

    def cost(self, selection: Selection) -> float:
        """Return the weighted mean distance of these rows to their nearest prototype."""
        return float(self.weights @ selection.assign(self.rows).distances)


def compare_methods(
    arguments: SelectArguments, methods: Sequence[str], n_seeds: int, notify: Notify
) -> Comparison:
    """Run each method with each seed; measure all costs on the same target rows."""
    for name in methods:
        method_with(name, {})
    problem = open_problem(arguments, notify)
    problem.plan()  # raises for errors in the arguments, which would make all methods fail
    test = _TestRows.of(problem)
    scores = tuple(_score(problem, name, n_seeds, test, notify) for name in methods)
    return Comparison(scores=scores, n_test=len(test.weights), n_target=len(problem.target))


def _score(
    problem: OpenedProblem, name: str, n_seeds: int, test: _TestRows, notify: Notify
) -> MethodScore:
    sizes: list[int] = []
    costs: list[float] = []
    evaluations: list[int] = []
    seconds: list[float] = []
    first = problem.arguments.seed
    try:
        for seed in range(first, first + n_seeds):
            notify(f"{name}, seed {seed} …")
            run = replace(problem, method=name, arguments=replace(problem.arguments, seed=seed))
            selection, time = _timed(run)
            if not seconds and time < _SHORT:
                selection, time = _timed(run)
            seconds.append(time)
            sizes.append(selection.k)
            evaluations.append(selection.evaluations)
            costs.append(test.cost(selection))
    except (ProtobanditError, MemoryError) as error:
        return MethodScore(method=name, failure=str(error) or type(error).__name__)
    return MethodScore(
        method=name,
        prototypes=float(np.mean(sizes)),
        cost=float(np.mean(costs)),
        cost_deviation=float(np.std(costs, ddof=1)) if n_seeds > 1 else None,
        evaluations=float(np.mean(evaluations)),
        seconds=float(np.mean(seconds)),
    )


def _timed(problem: OpenedProblem) -> tuple[Selection, float]:
    started = perf_counter()
    selection = problem.select()
    return selection, perf_counter() - started
