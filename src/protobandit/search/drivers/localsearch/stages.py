"""Local search in stages: on few rows first, then on more.

A checkpoint has the prototypes at the start of a round, from which everything else follows.
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
    k, n_target = problem.k, len(problem.target)
    every = [(s, r) for s, stage in enumerate(stages) for r in range(stage.n_rounds)]
    saved = control.states.restore(_STATE)
    if saved is None:
        start = _start(oracle, order, weights, size, random)
        found, n_done = Found(start, np.zeros(k)), 0
    else:
        found, n_done = _restored(saved, oracle, order), saved.values["n_done"]
    for done, (s, r) in enumerate(every[n_done:], start=n_done):
        stage = stages[s]
        if found.n_passes and not control.allows(size.assignment_evaluations(stage)):
            break
        if control.states.is_active:
            control.states.save(_STATE, _state_of(found, order, done))
        try:
            is_whole = stage.n_rows == n_target
            ids = np.arange(n_target) if is_whole else np.sort(order.read(0, stage.n_rows))
            own = weights_or_ones(problem.weights if is_whole else weights, n_target)[ids]
            # Sums in float32 need weights of ordinary size; if no row counts, all do.
            own = own / own.max() if own.any() else np.ones(len(ids))
            doing = f"stage {s + 1} of {len(stages)}" + (f", round {r + 1}" if r else "")
            control.report(doing)
            judged = JudgedRows.assigned(
                oracle, ids, own, found.prototypes, stage.width.n_near, random
            )
            pool = _pool(judged, stage, random)
            search = LocalSearch(judged, pool, found.prototypes, stage.width, random)
            is_last = stage.n_rows == stages[-1].n_rows
            is_over = _make_passes(search, stage, size, found, control, doing, is_last=is_last)
        except Halt:
            if not found.n_passes:
                raise
            control.stop()
            break
        if is_over:
            break
    return found


def _state_of(found: Found, order: TargetOrder, n_done: int) -> SavedState:
    """Return the state at the start of a round, from which everything else follows."""
    counts = [found.n_rows, found.n_moves, found.n_passes]
    arrays = {"prototypes": found.prototypes.copy(), "mass": found.mass.copy()}
    if isinstance(order, WeightedOrder):
        arrays["drawn"] = order.drawn
    return SavedState({"n_done": n_done, "counts": counts}, arrays)


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


def _pool(judged: JudgedRows, stage: Stage, random: np.random.Generator) -> Pool:
    if stage.are_judged:
        return JudgedPool(judged)
    n_source, n = len(judged.oracle.problem.source), stage.n_sources
    is_whole = n == n_source
    ids = np.arange(n) if is_whole else np.sort(random.choice(n_source, n, replace=False))
    k = judged.oracle.problem.k
    return SourcePool(judged, ids, k, is_held=stage.is_held)


def _make_passes(
    search: LocalSearch,
    stage: Stage,
    size: Size,
    found: Found,
    control: SearchControl,
    doing: str,
    *,
    is_last: bool,
) -> bool:
    """Make the passes of one round; return whether something ends the search."""
    k = len(search.prototypes)
    for n in range(stage.n_passes):
        if found.n_passes and not control.allows(size.most_pass_evaluations(stage)):
            return True
        # The cost on a small sample may be lower than that on the next, larger one.
        cost = search.judged.cost if is_last else None
        control.report(f"{doing}, pass {n + 1}", n_picked=k, cost=cost)
        was_partial = search.is_partial
        gain, n_moves = search.make_pass()
        found.prototypes = search.prototypes
        found.n_rows, found.n_moves = stage.n_rows, found.n_moves + n_moves
        found.n_passes += 1
        served, weights = search.judged.slots[:, 0], search.judged.weights
        found.mass = np.bincount(served, weights, minlength=k).astype(np.float64)
        if gain >= stage.least_gain:
            continue
        if not was_partial:
            break
        search.include_all_cells()  # with other candidates
    return False
