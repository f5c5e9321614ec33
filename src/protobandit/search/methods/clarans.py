"""CLARANS: random swaps on the whole target, from several starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.progress.watch import Watch
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.random_swaps import BLOCK, ColumnCache, random_swaps
from protobandit.search.methods.method import Forecast, Outcome, require_count
from protobandit.search.methods.ordering import arranged
from protobandit.search.methods.swap_passes import weights_of
from protobandit.search.objectives.swap_state import SwapState

_LEAST_NEIGHBOURS = 250
_SHARE_OF_NEIGHBOURS = 0.0125
_WALKED = 8  # neighbours tried from a start, in units of maxneighbor (measured on MNIST)


@dataclass(frozen=True, kw_only=True)
class Clarans:
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
        require_count(self.numlocal, "numlocal")
        if self.maxneighbor is not None:
            require_count(self.maxneighbor, "maxneighbor")

    def patience(self, problem: Problem) -> int:
        """Return how many neighbours in a row must be no better for a search to end."""
        if self.maxneighbor is not None:
            return self.maxneighbor
        n_neighbours = problem.k * (len(problem.source) - problem.k)
        return max(_LEAST_NEIGHBOURS, round(_SHARE_OF_NEIGHBOURS * n_neighbours))

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        problem, feasibility, n_target = (
            oracle.problem,
            oracle.problem.feasibility,
            len(oracle.problem.target),
        )
        stage = watch.recall("found")
        if stage is not None:
            found = SwapState.recalled(stage.arrays)
            yield from arranged(oracle, found.members, found.matrix, found.weights, random)
            return
        best: SwapState | None = None
        columns = ColumnCache(oracle, _capacity(problem, oracle.dtype.itemsize, watch.limits))
        for n_done in range(self.numlocal):
            watch.tell(f"search {n_done + 1} of {self.numlocal}")
            drawn = feasibility.draw(feasibility.fixed, problem.k - len(feasibility.fixed), random)
            start = np.append(feasibility.fixed, drawn)
            if best is not None and not watch.allows(columns.n_missing(start) * n_target):
                break
            found = random_swaps(
                columns,
                start,
                weights_of(problem),
                n_fixed=len(feasibility.fixed),
                patience=self.patience(problem),
                random=random,
                may_compute=watch.allows,
            )
            best = found if best is None or found.cost < best.cost else best
            watch.tell(f"search {n_done + 1}", n_picked=problem.k, cost=best.cost)
            if watch.asks_to_stop():
                watch.halted()
            if watch.stopped:
                break
        assert best is not None
        if watch.is_noting and not watch.stopped:
            watch.note("found", {}, best.notes())
        remark = f"{watch.culprit} ended the search." if watch.stopped else ""
        yield from arranged(oracle, best.members, best.matrix, best.weights, random, remark)

    def least_evaluations(self, oracle: Oracle) -> int:
        return oracle.problem.k * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        n_source, n_target = len(problem.source), len(problem.target)
        capacity = _capacity(problem, problem.dtype.itemsize, limits)
        n_drawn = self.numlocal * (problem.k + _WALKED * self.patience(problem))
        if capacity == n_source:  # each is computed when it is drawn first
            n_drawn = n_source * -np.expm1(-n_drawn / n_source)
        return Forecast(
            evaluations=round(n_drawn) * n_target,
            memory=(capacity + 2 * problem.k) * n_target * problem.dtype.itemsize,
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return None


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
