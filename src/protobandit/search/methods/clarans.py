"""CLARANS: k-medoids by random swaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer, weights_or_ones
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.drivers.random_swaps import BLOCK, ColumnCache, random_swaps
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Schedule, require_memory
from protobandit.search.objectives.swap_state import SwapState

_LEAST_NEIGHBOURS = 250
_SHARE_OF_NEIGHBOURS = 0.0125
_STATE = "found"
_TRIED = 8  # neighbours tried per search, in units of maxneighbor (measured on MNIST)


@dataclass(frozen=True, kw_only=True)
class Clarans(Method):
    """Random swaps that lower the cost, from several random starts (CLARANS).

    A neighbour of a set of prototypes differs from it in one prototype. A search draws neighbours
    at random, moves to the first of lower cost on the whole target, and ends when ``maxneighbor``
    neighbours in a row did not lower the cost. The best result of ``numlocal`` searches is
    returned, ordered by greedy gain.

    Evaluations: |T| for each source row that is ever drawn, so at most |S||T| if all fit into
    memory; otherwise rows that are drawn again are computed again. Lookups: |T| for most of the
    neighbours tried. Memory: the distances of the source rows drawn, as many as fit.

    Parameters
    ----------
    numlocal
        Number of searches.
    maxneighbor
        Number of neighbours in a row that end a search if none lowers the cost; None for 1.25 % of
        all k (|S| - k) neighbours, but at least 250.

    References
    ----------
    Ng, Han (2002), CLARANS: A method for clustering objects for spatial data mining.
    """

    name: ClassVar[str] = "clarans"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed"})
    may_overlook_far_rows: ClassVar[bool] = True
    numlocal: int = 2
    maxneighbor: int | None = None

    def __post_init__(self) -> None:
        require_integer(self.numlocal, "numlocal")
        require_integer(self.maxneighbor, "maxneighbor", allows_none=True)

    def patience(self, problem: Problem) -> int:
        """Return the number of neighbours in a row that end a search if none lowers the cost."""
        if self.maxneighbor is not None:
            return self.maxneighbor
        n_neighbours = problem.k * (len(problem.source) - problem.k)
        return max(_LEAST_NEIGHBOURS, round(_SHARE_OF_NEIGHBOURS * n_neighbours))

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem, n_target = oracle.problem, len(oracle.problem.target)
        feasibility = problem.feasibility
        _require_memory(problem, control.limits, schedule)
        saved = control.states.restore(_STATE)
        if saved is not None:
            yield from _ordered(oracle, SwapState.restored(saved.arrays), random)
            return
        best: SwapState | None = None
        columns = ColumnCache(oracle, schedule.n_columns)
        for n_done in range(self.numlocal):
            control.report(f"start {n_done + 1} of {self.numlocal}")
            start = random_rows(feasibility, problem.k, random)
            if best is not None and not control.allows(columns.n_missing(start) * n_target):
                break
            found = random_swaps(
                columns,
                start,
                weights_or_ones(problem.weights, n_target),
                n_fixed=len(feasibility.fixed),
                patience=self.patience(problem),
                random=random,
                may_compute=control.allows,
            )
            best = found if best is None or found.cost < best.cost else best
            control.report(f"start {n_done + 1}", n_picked=problem.k, cost=best.cost)
            if control.is_interrupted():
                control.stop()
            if control.stopped:
                break
        assert best is not None
        if control.states.is_active and not control.stopped:
            control.states.save(_STATE, SavedState(arrays=best.state()))
        remark = f"{control.stopped.at_start} ended the search." if control.stopped else ""
        yield from _ordered(oracle, best, random, remark)

    def least_evaluations(self, problem: Problem) -> int:
        return problem.k * len(problem.target)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_source, n_target = len(problem.source), len(problem.target)
        itemsize = problem.distance_dtype.itemsize
        capacity = _capacity(problem, itemsize, limits)
        n_drawn = self.numlocal * (problem.k + _TRIED * self.patience(problem))
        if capacity == n_source:  # each is computed only when it is first drawn
            n_drawn = n_source * -np.expm1(-n_drawn / n_source)
        n_kept = min(capacity, round(n_drawn))
        return Schedule(
            evaluations=round(n_drawn) * n_target,
            is_rough=True,
            memory=(n_kept + 2 * problem.k) * n_target * itemsize + working_bytes(problem),
            n_columns=capacity,
        )


def _ordered(
    oracle: Oracle, found: SwapState, random: np.random.Generator, remark: str = ""
) -> Iterator[Pick]:
    """Yield prototypes by greedy gain; of equal gains the smaller row number comes first."""
    table = FullTable(oracle=oracle, arms=found.members, matrix=found.matrix)
    oracle.look_up(found.matrix.size)  # so that lookups are comparable with earlier versions
    members = np.argsort(found.members)
    for pick in order_by_gain(table, members, found.weights, random, is_whole=True):
        yield replace(pick, remark=remark)


def _capacity(problem: Problem, itemsize: int, limits: Limits) -> int:
    """Return the number of source rows whose distances can be kept."""
    n_source, k = len(problem.source), problem.k
    row_bytes = len(problem.target) * itemsize
    n_rows = limits.memory_budget // row_bytes - 2 * k  # beside the best and the current prototypes
    return min(n_source, max(n_rows, k, BLOCK))


def _require_memory(problem: Problem, limits: Limits, schedule: Schedule) -> None:
    """Raise if there is no room for the columns that must be kept."""
    columns = schedule.n_columns + 2 * problem.k
    require_memory(
        columns * len(problem.target) * problem.distance_dtype.itemsize,
        limits,
        user="method='clarans'",
        contents="the distances of a few prototypes to the whole target",
        instead="Use method='clara'.",
    )
