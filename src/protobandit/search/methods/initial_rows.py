"""Where k-medoids starts: a greedy build, random rows, central rows, spread rows, given rows.

"heuristic" and "k-medoids++" are scikit-learn-extra's, for a target that need not be the source and
may have weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.tables import FullTable
from protobandit.problem.problem import Problem
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.medoids import nearest_arms

Init: TypeAlias = "str | tuple[int, ...]"
Start: TypeAlias = Callable[[Problem, FullTable, Doubles, np.random.Generator], Ids]

BUILD = "build"


def as_init(init: Any) -> Init:
    """Return an init that was passed as a name, or as the numbers of source rows."""
    if isinstance(init, str) and init in (BUILD, *STARTS):
        return init
    numbers = row_numbers(init)
    if numbers is not None:
        _require_distinct(numbers)
        return tuple(numbers.tolist())
    raise InvalidInput(
        f"init={init!r:.60} is not known. init needs to be one of the following: "
        f"{[BUILD, *STARTS]}, distinct numbers of source rows, or a Selection."
    )


def _require_distinct(numbers: Ids) -> None:
    if numbers.min() < 0:
        raise InvalidInput(f"init names row {numbers.min()}. Pass numbers of rows, from 0 on.")
    values, counts = np.unique(numbers, return_counts=True)
    for value in values[counts > 1]:
        raise InvalidInput(f"init names row {value} more than once. Pass distinct rows.")


def row_numbers(init: Any) -> Ids | None:
    """Return the whole numbers that a list, an array or a Selection holds, or None."""
    rows = init.indices if hasattr(init, "prototypes") else init
    try:
        numbers = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return None
    is_list = numbers.ndim == 1 and len(numbers) > 0 and numbers.dtype.kind in "iu"
    return numbers if is_list else None


def require_init(init: Init, problem: Problem) -> None:
    """Refuse rows that are not k rows of this source, or that break its rules."""
    if isinstance(init, str):
        return
    n, feasibility = len(problem.source), problem.feasibility
    if len(init) != problem.k:
        raise InvalidInput(f"init names {len(init)} rows but k={problem.k}. Pass {problem.k}.")
    if max(init) >= n:
        raise InvalidInput(f"init names row {max(init)} but source has {n}. Pass rows below {n}.")
    counts = feasibility.counts(np.array(init))
    if not set(feasibility.fixed.tolist()) <= set(init):
        raise InvalidInput("init leaves out rows that constraints fix. Name these too.")
    if (counts < feasibility.least).any() or (counts > feasibility.most).any():
        raise InvalidInput("init breaks at_least or at_most. Name rows that keep the constraints.")


def starting_rows(
    init: Init, problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return the rows to start from, for any init but "build"."""
    if not isinstance(init, str):
        return np.array(init, dtype=np.int64)
    return STARTS[init](problem, table, weights, random)


def _random(
    problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return random rows."""
    feasibility = problem.feasibility
    drawn = feasibility.draw(feasibility.fixed, problem.k - len(feasibility.fixed), random)
    return np.concatenate([feasibility.fixed, drawn])


def _heuristic(
    problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return the k rows at the least mean distance from the whole target.

    Reference: Park, Jun (2009), as scikit-learn-extra has it.
    """
    feasibility = problem.feasibility
    everyone = Pull(arms=np.arange(len(table.arms)), n=len(weights))
    costs = -ExactCoverage.over(table, weights).pull(everyone).mean
    central = np.argsort(costs, kind="stable")
    central = central[~np.isin(central, feasibility.fixed)]
    taken = feasibility.admitted(feasibility.fixed, central, problem.k - len(feasibility.fixed))
    return np.concatenate([feasibility.fixed, central[taken]])


def _plus_plus(
    problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return rows that are far apart: each near a target row drawn by its squared distance.

    Of 2 + ln k drawn, the one that lowers the sum of squares most is taken. Target rows whose
    nearest source row may not be taken are not drawn; where none is left, any row will do.

    Reference: Arthur, Vassilvitskii (2007), k-means++.
    """
    feasibility, k = problem.feasibility, problem.k
    nearest, has_weight = nearest_arms(table), weights > 0
    members: list[int] = feasibility.fixed.tolist()
    squares = np.full(len(weights), np.inf)
    for member in members:
        squares = np.minimum(squares, _squares(table, member))
    while len(members) < k:
        free = feasibility.open_rows(np.array(members, dtype=np.int64), k - len(members))
        chances = np.where(np.isin(nearest, free) & has_weight, squares, 0) * weights
        if 0 < chances.sum() < np.inf:
            drawn = random.choice(len(weights), 2 + int(np.log(k)), p=chances / chances.sum())
            trials = nearest[drawn]
        else:
            trials = random.choice(free, 1)
        closer = [np.minimum(squares, _squares(table, int(trial))) for trial in trials]
        best = int(np.argmin([some[has_weight] @ weights[has_weight] for some in closer]))
        members.append(int(trials[best]))
        squares = closer[best]
    return np.array(members, dtype=np.int64)


def _squares(table: FullTable, arm: int) -> Doubles:
    with np.errstate(over="ignore"):  # what is out of reach is as far as can be
        return table.column(arm).astype(np.float64) ** 2


STARTS: dict[str, Start] = {
    "random": _random,
    "heuristic": _heuristic,
    "k-medoids++": _plus_plus,
}
