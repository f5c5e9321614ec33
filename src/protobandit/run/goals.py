"""How goals end a search: which goals can be reached, and which prototypes are kept."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows
from protobandit.oracle.tasks import Tile
from protobandit.problem.goals import Coverage as CoverageGoal
from protobandit.problem.goals import MinGain, percentage
from protobandit.problem.problem import Problem
from protobandit.run.knee import KneePoint, find_knee, prune, ranked
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.objective import CoverageObjective

_CURVE_ROWS = 1 << 14  # target rows on which the knee is searched


@dataclass(frozen=True, eq=False)
class AtKnee:
    """The prototypes up to the knee, and the curve in which it was found."""

    coverage: ExactCoverage
    curve: Doubles
    remark: str


def at_knee(oracle: Oracle, coverage: CoverageObjective, random: np.random.Generator) -> AtKnee:
    """Return as many of the built prototypes as the knee of the curve says.

    They are the first ones built, or those left after the others were removed one by one, whichever
    cost less.
    """
    built, n_fixed = coverage.prototypes, len(oracle.problem.feasibility.fixed)
    distances, weights = _distances(oracle, built, random)
    pruned = prune(distances, weights, n_fixed=n_fixed)
    found = find_knee(pruned.costs, least=n_fixed)
    left = np.sort(pruned.order[: found.k])
    order = left[ranked(distances[left], weights, n_fixed=n_fixed)]
    kept = ExactCoverage.of(oracle).commit(built[order])
    if not kept.costs[-1] < coverage.costs[found.k - 1]:
        kept = ExactCoverage.of(oracle).commit(built[: found.k])
    return AtKnee(kept, pruned.costs, _knee_remark(found, pruned.costs))


def require_reachable(oracle: Oracle) -> None:
    """Raise before the search if not even all rows together reach the requested share.

    Cost: one evaluation per pair; an oracle that keeps them does not compute them again.
    """
    problem = oracle.problem
    if isinstance(problem.goal, CoverageGoal) and problem.k == problem.feasibility.capacity:
        problem.goal.require_reachable(_nearest_of_all(oracle), _weights(problem))


def remark_on(problem: Problem, coverage: CoverageObjective) -> str:
    """Return how a goal was met; raise if not even all feasible rows together meet it."""
    goal, k = problem.goal, len(coverage.prototypes)
    if isinstance(goal, MinGain):
        words = (
            "The next prototype would have lowered" if k < problem.k else "Every prototype lowered"
        )
        amount = "less than" if k < problem.k else "at least"
        return f"{words} the cost by {amount} {goal.gain:g}."
    assert isinstance(goal, CoverageGoal)
    covered = goal.covered(coverage.nearest, coverage.weights)
    if problem.k == problem.feasibility.capacity:
        goal.require_reachable(coverage.nearest, coverage.weights)
    asked = f", less than {percentage(goal.share)}: k is too small"
    missed = "" if covered >= goal.share else asked
    return (
        f"{percentage(covered)} of the target lies within {goal.radius:g} of a prototype{missed}."
    )


def _knee_remark(found: KneePoint, costs: Doubles) -> str:
    curve = f"curve of costs of 1 to {len(costs)} prototypes"
    if found.is_clear:
        return f"The knee of the {curve} is there."
    if found.k < len(costs) and costs[found.k - 1] <= costs[-1]:
        return f"More prototypes do not lower the cost; the {curve} has no clear knee."
    return f"The {curve} has no clear knee: there may be no natural number of prototypes."


def _distances(
    oracle: Oracle, prototypes: Ids, random: np.random.Generator
) -> tuple[Floats, Doubles]:
    """Return d(target, prototype), a row per prototype, on many or all target rows, and weights."""
    problem = oracle.problem
    n, weights = len(problem.target), _weights(problem)
    ids = None
    if n > _CURVE_ROWS:
        ids = draw_rows(n, problem.weights, _CURVE_ROWS, random)
        n, weights = len(ids), np.ones(len(ids))
    out = np.empty((len(prototypes), n), dtype=oracle.dtype)

    def visit(block: Floats, cut: slice) -> None:
        out[:, cut] = block

    with oracle.during("assign"):
        oracle.each_chunk(prototypes, visit, ids)
    return out, weights


def _nearest_of_all(oracle: Oracle) -> Floats:
    """Return the distance of each target row to the nearest feasible source row."""
    feasibility = oracle.problem.feasibility
    nearest = np.full(len(oracle.problem.target), np.inf, dtype=oracle.dtype)
    lock = Lock()

    def visit(tile: Tile) -> None:
        columns = slice(tile.first, tile.first + tile.columns.stop - tile.columns.start)
        least = tile.matrix[tile.rows, columns].min(axis=0)
        with lock:  # a minimum is the same in any order
            np.minimum(nearest[tile.columns], least, out=nearest[tile.columns])

    oracle.scan(np.flatnonzero(feasibility.most[feasibility.groups] > 0), visit)
    return nearest


def _weights(problem: Problem) -> Doubles:
    return weights_or_ones(problem.weights, len(problem.target))
