"""Initial rows of k-medoids: greedy, random, central, far apart, or given.

"heuristic" and "k-medoids++" are those of scikit-learn-extra, extended to weights and to a target
that is not the source.
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
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.medoids import nearest_arms

Init: TypeAlias = "str | tuple[int, ...]"
Start: TypeAlias = Callable[[Problem, FullTable, Doubles, np.random.Generator], Ids]

BUILD = "build"


def as_init(init: Any) -> Init:
    """Return an init that was passed as a name, as row numbers or as a Selection."""
    if isinstance(init, str) and init in (BUILD, *STARTS):
        return init
    numbers = row_numbers(init)
    if numbers is None:
        raise InvalidInput(
            f"init={init!r:.60} is not known. init needs to be one of the following: "
            f"{[BUILD, *STARTS]}, distinct numbers of source rows, or a Selection."
        )
    if numbers.min() < 0:
        raise InvalidInput(f"init names row {numbers.min()}. Pass row numbers >= 0.")
    values, counts = np.unique(numbers, return_counts=True)
    for value in values[counts > 1]:
        raise InvalidInput(f"init names row {value} more than once. Pass distinct rows.")
    return tuple(numbers.tolist())


def row_numbers(init: Any) -> Ids | None:
    """Return the integers of a list, an array or a Selection; None if there are none."""
    rows = init.indices if hasattr(init, "prototypes") else init
    try:
        numbers = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return None
    is_list = numbers.ndim == 1 and len(numbers) > 0 and numbers.dtype.kind in "iu"
    return numbers if is_list else None


def require_init(init: Init, problem: Problem) -> None:
    """Raise if ``init`` is row numbers that are not k rows which the constraints allow."""
    if isinstance(init, str):
        return
    n, k, feasibility = len(problem.source), problem.k, problem.feasibility
    if len(init) != k:
        raise InvalidInput(f"init names {len(init)} rows but k={k}. Pass {k} rows.")
    if max(init) >= n:
        raise InvalidInput(
            f"init names row {max(init)} but source has {n} rows. Pass row numbers < {n}."
        )
    missing = sorted(set(feasibility.fixed.tolist()) - set(init))
    if missing:
        raise InvalidInput(
            f"init does not have row {missing[0]}, which constraints fix. Add all fixed rows."
        )
    counts = feasibility.counts(np.array(init))
    if (counts < feasibility.least).any() or (counts > feasibility.most).any():
        raise InvalidInput("init violates at_least or at_most. Pass rows within the constraints.")


def initial_rows(
    init: Init, problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return the rows of any init except "build"."""
    if isinstance(init, str):
        return STARTS[init](problem, table, weights, random)
    return np.array(init, dtype=np.int64)


def _random(
    problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return random rows."""
    return random_rows(problem.feasibility, problem.k, random)


def _heuristic(
    problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return the k rows with the least mean distance to the whole target.

    Reference: Park, Jun (2009), as in scikit-learn-extra.
    """
    feasibility = problem.feasibility
    all_arms = Pull(arms=np.arange(len(table.arms)), n=len(weights))
    costs = -ExactCoverage.over(table, weights).pull(all_arms).mean
    central = np.argsort(costs, kind="stable")
    central = central[~np.isin(central, feasibility.fixed)]
    taken = feasibility.admitted(feasibility.fixed, central, problem.k - len(feasibility.fixed))
    return np.concatenate([feasibility.fixed, central[taken]])


def _plus_plus(
    problem: Problem, table: FullTable, weights: Doubles, random: np.random.Generator
) -> Ids:
    """Return rows that are far apart: those nearest to target rows drawn by squared distance.

    Of 2 + ln k candidates, the one that lowers the sum of squares most is picked. Target rows whose
    nearest source row is not allowed are not drawn. If none is left, a random row is picked.

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
        shares = np.where(np.isin(nearest, free) & has_weight, squares, 0) * weights
        if 0 < shares.sum() < np.inf:
            drawn = random.choice(len(weights), 2 + int(np.log(k)), p=shares / shares.sum())
            trials = nearest[drawn]
        else:
            trials = random.choice(free, 1)
        closer = [np.minimum(squares, _squares(table, int(trial))) for trial in trials]
        best = int(np.argmin([some[has_weight] @ weights[has_weight] for some in closer]))
        members.append(int(trials[best]))
        squares = closer[best]
    return np.array(members, dtype=np.int64)


def _squares(table: FullTable, arm: int) -> Doubles:
    with np.errstate(over="ignore"):  # infinite is correct for these distances
        return table.column(arm).astype(np.float64) ** 2


STARTS: dict[str, Start] = {
    "random": _random,
    "heuristic": _heuristic,
    "k-medoids++": _plus_plus,
}
