"""Local search in stages: on few rows first, then on more.

A checkpoint has the prototypes at the start of a round, from which everything else follows, or the
lists after the last pass, if they are small enough to be saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, require_restorable, weights_or_ones
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.full_swaps import eager_passes
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.local_search import LocalSearch
from protobandit.search.drivers.localsearch.pools import JudgedPool, Pool, SourcePool
from protobandit.search.drivers.localsearch.schedule import (
    SERVED,
    Size,
    Stage,
    least_free_slots,
    start_size,
)
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.drivers.table_greedy import greedy_on_table
from protobandit.search.objectives.medoids import Medoids

_START_PASSES = 8  # of swaps on the sample
# A bad local optimum costs most if there are few prototypes: these get random starts too.
_MOST_STARTS, _STARTED = 8, 40  # starts; prototypes of all of them
_STATE = "local search"
_PREFIX = "search "  # of the arrays of a search after some passes


@dataclass(eq=False)
class Found:
    """What the stages have found so far.

    ``mass`` is the weight of the judged rows that each prototype serves. ``n_rows`` is the number
    of judged rows of the last stage, ``n_moves`` and ``n_passes`` those of all stages.
    """

    prototypes: Ids
    mass: Doubles
    n_rows: int = 0
    n_moves: int = 0
    n_passes: int = 0


@dataclass(eq=False)
class StagedSearch:
    """Local search on growing sets of judged rows.

    Parameters
    ----------
    order, weights
        The target rows to read, and the weights of all target rows unless the order accounts for
        them.
    stages, size
        What to do, and the size of the problem.
    """

    oracle: Oracle
    order: TargetOrder
    weights: Doubles | None
    stages: Sequence[Stage]
    size: Size
    random: np.random.Generator
    control: SearchControl
    found: Found = field(init=False)

    def run(self) -> Found:
        """Return the prototypes after all stages, or when something ends the search."""
        saved = self.control.states.restore(_STATE)
        self.found = self._start() if saved is None else self._restored(saved)
        n_done = 0 if saved is None else saved.values["n_done"]
        rounds = [stage for stage in self.stages for _ in range(stage.n_rounds)]
        try:
            for number, stage in enumerate(rounds[n_done:], start=n_done):
                if not self._make_round(number, stage, saved):
                    break
                saved = None
        except Halt:
            if not self.found.n_passes:
                raise
            self.control.stop()
        return self.found

    def _make_round(self, number: int, stage: Stage, saved: SavedState | None) -> bool:
        """Assign the rows of a stage and make passes; return whether the search may go on."""
        control, found = self.control, self.found
        doing = f"stage {self.stages.index(stage) + 1} of {len(self.stages)}"
        n_made = 0 if saved is None else saved.values["n_passes"]
        if saved is not None and n_made:
            search = self._restored_search(saved, stage)
        else:
            most = self.size.assignment_evaluations(stage, is_most=True)
            if not found.n_passes:  # the first pass belongs to it, or nothing would be gained
                most += self.size.most_pass_evaluations(stage)
            # Until then only a limit of evaluations ends a search.
            is_limited = found.n_passes > 0 or control.limits.evaluations is not None
            if is_limited and not control.allows(most):
                return False
            if number == 0:
                self._save(number)
            control.report(doing)
            search = self._search(stage)
            self._fill_free_slots(search, stage)
        # The cost on a small sample may be lower than that on the next, larger one.
        is_last = stage.n_rows == self.stages[-1].n_rows
        for n in range(n_made, stage.n_passes):
            if found.n_passes and not control.allows(self.size.most_pass_evaluations(stage)):
                return False
            control.report(
                f"{doing}, pass {n + 1}",
                n_picked=self.size.k if found.n_passes else 0,
                cost=search.judged.cost if is_last else None,
            )
            if self._make_pass(search, stage) or n + 1 == stage.n_passes:
                break
            self._save(number, search, n + 1)
        self._save(number + 1)
        return True

    def _fill_free_slots(self, search: LocalSearch, stage: Stage) -> None:
        """Move prototypes that serve no row, if these are many, until the cost stays."""
        if stage.n_rows < min(self.size.n_target, SERVED * self.size.k):
            return  # they may serve rows that are not judged
        counts, limit, cost = self.oracle.evaluations, self.control.limits.evaluations, np.inf
        last = counts.total() + self.size.filling(stage)
        while cost > search.judged.cost > 0:
            n_free, cost = len(search.free_slots), search.judged.cost
            n = stage.n_rows * (n_free + stage.width.n_common)
            is_allowed = limit is None or self.control.counts.total + n <= limit
            is_allowed = is_allowed and counts.total() + n <= last
            if n_free < least_free_slots(self.size.k) or not is_allowed:
                break
            search.fill_free_slots()

    def _make_pass(self, search: LocalSearch, stage: Stage) -> bool:
        """Make a pass and record it; return whether it was the last of its round."""
        found, was_partial = self.found, search.is_partial
        gain, n_moves = search.make_pass()
        found.prototypes = search.prototypes
        found.n_rows, found.n_moves = stage.n_rows, found.n_moves + n_moves
        found.n_passes += 1
        served, weights = search.judged.slots[:, 0], search.judged.weights
        found.mass = np.bincount(served, weights, self.size.k).astype(np.float64)
        if gain >= stage.least_gain:
            return False
        search.include_all_cells()  # with other candidates
        return not was_partial

    # -- starts ---------------------------------------------------------------------------------

    def _start(self) -> Found:
        """Return the prototypes to start with: those of a sample, or random rows.

        Relocations soon repair random rows if there are many prototypes. Few prototypes can be in
        the wrong places for good, and to solve a sample by greedy selection and swaps is cheap.
        """
        size, problem, random = self.size, self.oracle.problem, self.random
        drawn = random_rows(problem.feasibility, size.k, random)
        n_arms, n_rows = start_size(size, self.stages[0])
        if n_rows == 0:
            return Found(drawn, np.zeros(size.k))
        # With the rows drawn there is a feasible selection, whatever else is in the sample.
        others = random.choice(size.n_source, n_arms, replace=False)
        arms = np.union1d(drawn, others[: n_arms - size.k])
        rows = np.sort(self.order.read(0, n_rows))
        table = FullTable.of(self.oracle, arms, self.oracle.targets(rows))
        own = weights_or_ones(self.weights, size.n_target)[rows]
        own = own if own.any() else np.ones(len(rows))
        feasibility = problem.feasibility.among(arms)
        starts = [greedy_on_table(table, own, size.k, random, feasibility)[0]]
        n_more = min(_MOST_STARTS, _STARTED // size.k)
        starts += [random_rows(feasibility, size.k, random) for _ in range(n_more)]
        solved = [_swapped(Medoids(table, start, own, problem.feasibility)) for start in starts]
        best = min(solved, key=lambda medoids: medoids.cost)
        return Found(arms[best.members], np.zeros(size.k))

    def _search(self, stage: Stage) -> LocalSearch:
        """Assign the rows of a stage, and return a search on them."""
        width, prototypes, n_source = stage.width, self.found.prototypes, self.size.n_source
        ids, own = self._judged(stage)
        judged = JudgedRows.assigned(self.oracle, ids, own, prototypes, width.n_near, self.random)
        judged.find_common(self.size.k, width.n_common)
        pool: Pool = JudgedPool(judged)
        if not stage.are_judged:
            drawn = np.arange(n_source)
            if stage.n_sources < n_source:
                drawn = np.sort(self.random.choice(n_source, stage.n_sources, replace=False))
            pool = self._pool(judged, drawn, stage)
        return LocalSearch(judged, pool, prototypes, width, self.random)

    def _pool(self, judged: JudgedRows, ids: Ids, stage: Stage) -> SourcePool:
        """Return source rows that are not judged rows, as candidates of a stage."""
        kept = {"is_held": stage.is_held, "is_descending": stage.is_descending}
        return SourcePool(judged, ids, self.size.k, **kept)

    def _judged(self, stage: Stage) -> tuple[Ids, Doubles]:
        """Return the judged rows of a stage and their weights."""
        n_target = self.size.n_target
        is_whole = stage.n_rows == n_target
        ids = np.arange(n_target) if is_whole else np.sort(self.order.read(0, stage.n_rows))
        weights = self.oracle.problem.weights if is_whole else self.weights
        own = weights_or_ones(weights, n_target)[ids]
        # Sums in float32 need weights of ordinary size; if no row counts, all do.
        return ids, own / own.max() if own.any() else np.ones(len(ids))

    # -- checkpoints ----------------------------------------------------------------------------

    def _save(self, number: int, search: LocalSearch | None = None, n_passes: int = 0) -> None:
        """Save the state at the start of a round, or of its search after some passes."""
        if not self.control.states.is_active:
            return
        found = self.found
        values = {
            "n_done": number,
            "n_passes": n_passes,
            "counts": [found.n_rows, found.n_moves, found.n_passes],
        }
        arrays = {"prototypes": found.prototypes.copy(), "mass": found.mass.copy()}
        if isinstance(self.order, WeightedOrder):
            arrays["drawn"] = self.order.drawn
        if search is not None:
            arrays |= {_PREFIX + name: array for name, array in search.state().items()}
        self.control.states.save(_STATE, SavedState(values, arrays))

    def _restored(self, saved: SavedState) -> Found:
        """Return what an earlier run had found."""
        size, prototypes = self.size, saved.arrays["prototypes"]
        require_restorable(
            prototypes.shape == (size.k,)
            and are_within(prototypes, 0, size.n_source)
            and len(np.unique(prototypes)) == size.k
            and saved.arrays["mass"].shape == (size.k,),
            "prototypes",
        )
        if isinstance(self.order, WeightedOrder):
            drawn = saved.arrays["drawn"]
            require_restorable(are_within(drawn, 0, size.n_target), "rows")
            self.order.restore(drawn)
        return Found(prototypes.copy(), saved.arrays["mass"], *saved.values["counts"])

    def _restored_search(self, saved: SavedState, stage: Stage) -> LocalSearch:
        """Return the search of an earlier run after some passes; no dissimilarity is computed."""
        arrays = saved.arrays.items()
        own = {name.removeprefix(_PREFIX): a for name, a in arrays if name.startswith(_PREFIX)}
        k, n, oracle = self.size.k, stage.n_rows, self.oracle
        require_restorable(
            own["ids"].shape == (n,)
            and are_within(own["ids"], 0, self.size.n_target)
            and own["slots"].shape == own["gaps"].shape == (n, stage.width.n_near)
            and are_within(own["slots"], -1, k)
            and are_within(own["slots"][:, 0], 0, k)
            and own["common"].shape[0] == own["active"].shape[0] == k
            and are_within(own["common"], -1, k),
            "lists",
        )
        ids, weights = self._judged(stage)
        # The same row may have been drawn several times, with the same weight each time.
        place = np.minimum(np.searchsorted(ids, own["ids"]), n - 1)
        judged = JudgedRows(
            oracle,
            own["ids"],
            weights[place],
            oracle.targets(own["ids"]),
            own["slots"].copy(),
            own["gaps"].copy(),
            own["common"],
        )
        pool: Pool = JudgedPool(judged)
        if not stage.are_judged:
            require_restorable(
                are_within(own["pool ids"], 0, self.size.n_source)
                and own["pool slots"].shape == own["pool gaps"].shape == (len(own["pool ids"]), 1)
                and are_within(own["pool slots"], 0, k),
                "source rows",
            )
            pool = self._pool(judged, own["pool ids"], stage)
            pool.restore(own["pool slots"], own["pool gaps"])
        search = LocalSearch(judged, pool, saved.arrays["prototypes"], stage.width, self.random)
        search.restore(own["active"])
        return search


def _swapped(medoids: Medoids) -> Medoids:
    """Return the prototypes of a sample after swaps."""
    for _ in islice(eager_passes(medoids), _START_PASSES):
        pass
    return medoids
