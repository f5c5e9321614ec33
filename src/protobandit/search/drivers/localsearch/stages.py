"""Local search in stages: on few rows first, then on more.

A checkpoint has the prototypes at the start of a round, from which everything else follows, or the
lists after the last pass, if they are small enough to be saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, require_restorable, weights_or_ones
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.local_search import LocalSearch
from protobandit.search.drivers.localsearch.pools import JudgedPool, Pool, SourcePool
from protobandit.search.drivers.localsearch.schedule import Size, Stage, start_size
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.drivers.table_greedy import greedy_on_table

_STATE = "local search"


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


def run_stages(
    oracle: Oracle,
    order: TargetOrder,
    weights: Doubles | None,
    stages: Sequence[Stage],
    size: Size,
    random: np.random.Generator,
    control: SearchControl,
) -> Found:
    """Return the prototypes after all stages, or when something ends the search.

    ``order`` are the target rows to read, ``weights`` those of all target rows unless the order
    accounts for them.
    """
    problem = oracle.problem
    k = problem.k
    every = [(s, r) for s, stage in enumerate(stages) for r in range(stage.n_rounds)]
    saved = control.states.restore(_STATE)
    if saved is None:
        start = _start(oracle, order, weights, size, random)
        found, n_done = Found(start, np.zeros(k)), 0
    else:
        found, n_done = _restored(saved, oracle, order), saved.values["n_done"]
    for done, (s, r) in enumerate(every[n_done:], start=n_done):
        stage = stages[s]
        within = None if saved is None or done > n_done else saved
        is_started = within is not None and within.values["n_passes"] > 0
        n_needed = 0 if is_started else size.assignment_evaluations(stage)
        if found.n_passes and not control.allows(n_needed):
            break
        doing = f"stage {s + 1} of {len(stages)}" + (f", round {r + 1}" if r else "")
        try:
            if within is not None and is_started:
                search = _restored_search(within, oracle, order, weights, stage, random)
            else:
                if control.states.is_active:
                    control.states.save(_STATE, _state_of(found, order, done))
                control.report(doing)
                search = _search(oracle, order, weights, found.prototypes, stage, random)
            n_made = 0 if within is None else within.values["n_passes"]
            is_over = False
            for n in range(n_made, stage.n_passes):
                if found.n_passes and not control.allows(size.most_pass_evaluations(stage)):
                    is_over = True
                    break
                # The cost on a small sample may be lower than that on the next, larger one.
                is_last = stage.n_rows == stages[-1].n_rows
                control.report(
                    f"{doing}, pass {n + 1}",
                    n_picked=k if found.n_passes else 0,
                    cost=search.judged.cost if is_last else None,
                )
                is_done = _make_pass(search, stage, found)
                if control.states.is_active:
                    n_next = stage.n_passes if is_done else n + 1
                    state = _state_of(found, order, done, search, n_next)
                    control.states.save(_STATE, state)
                if is_done:
                    break
        except Halt:
            if not found.n_passes:
                raise
            control.stop()
            break
        if is_over:
            break
    return found


def _search(
    oracle: Oracle,
    order: TargetOrder,
    weights: Doubles | None,
    prototypes: Ids,
    stage: Stage,
    random: np.random.Generator,
) -> LocalSearch:
    """Assign the rows of a stage, and return a search on them."""
    ids, own = _judged(oracle, order, weights, stage)
    judged = JudgedRows.assigned(oracle, ids, own, prototypes, stage.width.n_near, random)
    judged.find_common(len(prototypes), stage.width.n_common)
    if stage.are_judged:
        pool: Pool = JudgedPool(judged)
    else:
        n_source = oracle.problem.n_source
        is_whole = stage.n_sources == n_source
        drawn = np.arange(n_source)
        if not is_whole:
            drawn = np.sort(random.choice(n_source, stage.n_sources, replace=False))
        pool = SourcePool(judged, drawn, len(prototypes), is_held=stage.is_held)
    return LocalSearch(judged, pool, prototypes, stage.width, random)


def _judged(
    oracle: Oracle, order: TargetOrder, weights: Doubles | None, stage: Stage
) -> tuple[Ids, Doubles]:
    """Return the judged rows of a stage and their weights."""
    problem = oracle.problem
    is_whole = stage.n_rows == problem.n_target
    ids = np.arange(problem.n_target) if is_whole else np.sort(order.read(0, stage.n_rows))
    own = weights_or_ones(problem.weights if is_whole else weights, problem.n_target)[ids]
    # Sums in float32 need weights of ordinary size; if no row counts, all do.
    return ids, own / own.max() if own.any() else np.ones(len(ids))


def _make_pass(search: LocalSearch, stage: Stage, found: Found) -> bool:
    """Make a pass and record it; return whether it was the last of its round."""
    was_partial = search.is_partial
    gain, n_moves = search.make_pass()
    found.prototypes = search.prototypes
    found.n_rows, found.n_moves = stage.n_rows, found.n_moves + n_moves
    found.n_passes += 1
    served, weights = search.judged.slots[:, 0], search.judged.weights
    found.mass = np.bincount(served, weights, len(found.prototypes)).astype(np.float64)
    if gain >= stage.least_gain:
        return False
    search.include_all_cells()  # with other candidates
    return not was_partial


def _state_of(
    found: Found,
    order: TargetOrder,
    n_done: int,
    search: LocalSearch | None = None,
    n_passes: int = 0,
) -> SavedState:
    """Return the state at the start of a round, or of a search after some passes."""
    counts = [found.n_rows, found.n_moves, found.n_passes]
    arrays = {"prototypes": found.prototypes.copy(), "mass": found.mass.copy()}
    if isinstance(order, WeightedOrder):
        arrays["drawn"] = order.drawn
    if search is not None:
        arrays |= {f"search {name}": array for name, array in search.state().items()}
    return SavedState({"n_done": n_done, "n_passes": n_passes, "counts": counts}, arrays)


def _restored(saved: SavedState, oracle: Oracle, order: TargetOrder) -> Found:
    problem, prototypes = oracle.problem, saved.arrays["prototypes"]
    require_restorable(
        prototypes.shape == (problem.k,)
        and are_within(prototypes, 0, problem.n_source)
        and len(np.unique(prototypes)) == problem.k
        and saved.arrays["mass"].shape == (problem.k,),
        "prototypes",
    )
    if isinstance(order, WeightedOrder):
        drawn = saved.arrays["drawn"]
        require_restorable(are_within(drawn, 0, problem.n_target), "rows")
        order.restore(drawn)
    return Found(prototypes.copy(), saved.arrays["mass"], *saved.values["counts"])


def _restored_search(
    saved: SavedState,
    oracle: Oracle,
    order: TargetOrder,
    weights: Doubles | None,
    stage: Stage,
    random: np.random.Generator,
) -> LocalSearch:
    """Return the search of an earlier run after some passes; this computes no dissimilarity."""
    prefix = "search "
    own = {n.removeprefix(prefix): a for n, a in saved.arrays.items() if n.startswith(prefix)}
    k, n = oracle.problem.k, stage.n_rows
    n_near = stage.width.n_near
    require_restorable(
        own["ids"].shape == (n,)
        and are_within(own["ids"], 0, oracle.problem.n_target)
        and own["slots"].shape == own["gaps"].shape == (n, n_near)
        and are_within(own["slots"], -1, k)
        and are_within(own["slots"][:, 0], 0, k)
        and own["common"].shape[0] == own["active"].shape[0] == k
        and are_within(own["common"], -1, k),
        "lists",
    )
    ids, some = _judged(oracle, order, weights, stage)
    # The same row may be drawn several times, with the same weight each time.
    place = np.searchsorted(ids, own["ids"])
    judged = JudgedRows(
        oracle,
        own["ids"],
        some[np.minimum(place, n - 1)],
        oracle.targets(own["ids"]),
        own["slots"].copy(),
        own["gaps"].copy(),
        own["common"],
    )
    pool: Pool = JudgedPool(judged)
    if not stage.are_judged:
        require_restorable(
            are_within(own["pool ids"], 0, oracle.problem.n_source)
            and own["pool slots"].shape == own["pool gaps"].shape == (len(own["pool ids"]), 1)
            and are_within(own["pool slots"], -1, k),
            "source rows",
        )
        pool = SourcePool(judged, own["pool ids"], k, is_held=stage.is_held)
        pool.restore(own["pool slots"], own["pool gaps"])
    search = LocalSearch(judged, pool, saved.arrays["prototypes"], stage.width, random)
    search.restore(own["active"])
    return search


def _start(
    oracle: Oracle,
    order: TargetOrder,
    weights: Doubles | None,
    size: Size,
    random: np.random.Generator,
) -> Ids:
    """Return the prototypes to start with: greedy selection on a sample, or random rows.

    Relocations soon repair random rows if there are many prototypes. Few prototypes can be in the
    wrong places for good, and a greedy start is cheap.
    """
    problem = oracle.problem
    drawn = random_rows(problem.feasibility, problem.k, random)
    n_arms, n_rows = start_size(size.n_source, size.n_target, size.k, size.limit)
    if n_rows == 0:
        return drawn
    # With the rows drawn there is a feasible selection, whatever else is in the sample.
    others = random.choice(len(problem.source), n_arms, replace=False)
    arms = np.union1d(drawn, others[: n_arms - problem.k])
    rows = np.sort(order.read(0, n_rows))
    table = FullTable.of(oracle, arms, oracle.targets(rows))
    own = weights_or_ones(weights, len(problem.target))[rows]
    own = own if own.any() else np.ones(len(rows))
    feasibility = problem.feasibility.among(arms)
    chosen, _ = greedy_on_table(table, own, problem.k, random, feasibility)
    return arms[chosen]
