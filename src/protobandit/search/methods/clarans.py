"""CLARANS: random swaps on the whole target, from several starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.random_swaps import BLOCK, ColumnCache, random_swaps
from protobandit.search.methods.method import Method, Schedule
from protobandit.search.methods.ordering import arranged
from protobandit.search.methods.swap_passes import weights_of
from protobandit.search.objectives.swap_state import SwapState

_LEAST_NEIGHBOURS = 250
_SHARE_OF_NEIGHBOURS = 0.0125
_STATE = "found"
_WALKED = 8  # neighbours tried from a start, in units of maxneighbor (measured on MNIST)


@dataclass(frozen=True, kw_only=True)
class Clarans(Method):
    """From random prototypes to a random neighbour that is better, until none is found for long.

    A neighbour differs in one prototype, and is judged on the whole target. Of several searches the
    best is kept, and put in order.

    Evaluations: |T| for each source row that is ever drawn, so at most |S||T| as long as memory
    holds them; where it does not, rows drawn again are computed again. Lookups: |T| for most of the
    neighbours tried.

    Parameters
    ----------
    numlocal
        How many searches.
    maxneighbor
        How many neighbours in a row must be no better for a search to end; None for 1.25 % of all
        k (|S| - k) neighbours, but at least 250.

    References
    ----------
    Ng, Han (2002), CLARANS: A method for clustering objects for spatial data mining.
    """

    name: ClassVar[str] = "clarans"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed"})
    numlocal: int = 2
    maxneighbor: int | None = None

    def __post_init__(self) -> None:
        require_integer(self.numlocal, "numlocal")
        require_integer(self.maxneighbor, "maxneighbor", allows_none=True)

    def patience(self, problem: Problem) -> int:
        """Return how many neighbours in a row must be no better for a search to end."""
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
        saved = control.states.restore(_STATE)
        if saved is not None:
            found = SwapState.recalled(saved.arrays)
            yield from arranged(oracle, found.members, found.matrix, found.weights, random)
            return
        best: SwapState | None = None
        columns = ColumnCache(oracle, schedule.n_columns)
        for n_done in range(self.numlocal):
            control.report(f"search {n_done + 1} of {self.numlocal}")
            drawn = feasibility.draw(feasibility.fixed, problem.k - len(feasibility.fixed), random)
            start = np.append(feasibility.fixed, drawn)
            if best is not None and not control.allows(columns.n_missing(start) * n_target):
                break
            found = random_swaps(
                columns,
                start,
                weights_of(problem),
                n_fixed=len(feasibility.fixed),
                patience=self.patience(problem),
                random=random,
                may_compute=control.allows,
            )
            best = found if best is None or found.cost < best.cost else best
            control.report(f"search {n_done + 1}", n_picked=problem.k, cost=best.cost)
            if control.is_interrupted():
                control.stop()
            if control.stopped:
                break
        assert best is not None
        if control.states.is_active and not control.stopped:
            control.states.save(_STATE, SavedState(arrays=best.notes()))
        remark = f"{control.stopped.at_start} ended the search." if control.stopped else ""
        yield from arranged(oracle, best.members, best.matrix, best.weights, random, remark)

    def least_evaluations(self, problem: Problem) -> int:
        return problem.k * len(problem.target)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_source, n_target = len(problem.source), len(problem.target)
        itemsize = problem.distance_dtype.itemsize
        capacity = _capacity(problem, itemsize, limits)
        n_drawn = self.numlocal * (problem.k + _WALKED * self.patience(problem))
        if capacity == n_source:  # each is computed when it is drawn first
            n_drawn = n_source * -np.expm1(-n_drawn / n_source)
        return Schedule(
            evaluations=round(n_drawn) * n_target,
            memory=(capacity + 2 * problem.k) * n_target * itemsize,
            n_columns=capacity,
        )


def _capacity(problem: Problem, itemsize: int, limits: Limits) -> int:
    """Return of how many source rows the distances can be kept."""
    n_source, k = len(problem.source), problem.k
    a_row = len(problem.target) * itemsize
    n_rows = limits.room() // a_row - 2 * k  # of which the best and the current prototypes
    least = min(n_source, max(k, BLOCK))
    if n_rows < least:
        needed = (least + 2 * k) * a_row
        raise InvalidInput(
            f"method='clarans' needs {needed / 1e9:.1f} GB for the distances of a few prototypes "
            f"to all of T but {limits.room() / 1e9:.1f} GB may be used. Use method='clara'."
        )
    return min(n_source, n_rows)
