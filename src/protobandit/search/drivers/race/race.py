"""The race: all arms on few target rows, then fewer on more, each near its home only.

Theory of operation
-------------------
Every arm meets the same random order of the target from its beginning. On the first rung all arms
are measured at a few rows; greedy builds k prototypes on them and swaps improve these. From then
on what lies beyond a row's fourth prototype is left out of account: it would take several swaps
before such an arm came to serve that row. Every later rung adds rows:

1. The arms whose best swap came nearest to an improvement, when last asked, go on with the
   prototypes.
2. The new rows are compared with the prototypes, which sorts them into cells.
3. An arm is measured only at the new rows of its home cells: that of the row nearest to it, and
   those where, on the rows so far, it comes closest to beating the second prototype. Elsewhere rows
   would stay with their prototypes whatever became of the arm. (MNIST, k = 100: 5 cells of 100 hold
   80 % of what an arm can save.)
4. Swaps improve the prototypes on all rows so far. What is not known of an arm counts against it,
   so a swap is never worse than it looks; before it is made, the arm is measured everywhere.

Where the last rung has finalists, the best arms are measured at all rows looked at, and the
prototypes are shaken among them.

So the number of evaluations grows with the number of arms times a few rows, plus a multiple of k
times all rows looked at, and does not depend on the size of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RaggedTable, RowBatch
from protobandit.oracle.target_orders import TargetOrder
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.lazy import Lazy
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import Pick, greedy
from protobandit.search.drivers.race.perturbation import perturb
from protobandit.search.drivers.race.schedule import SWAPS_A_RUNG, Rung
from protobandit.search.drivers.race.state import RaceState, restore_state, save_state
from protobandit.search.drivers.ragged_swaps import refine_eagerly
from protobandit.search.drivers.table_greedy import greedy_on_table
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.swap_state import SwapState

_FEATHER = 1e-100


@dataclass(frozen=True, eq=False)
class RungResult:
    """The result of a race after a rung.

    ``is_exact`` is whether the build was greedy over all arms and all of the target. ``remark`` is
    what else the user should know.
    """

    rung: Rung
    arms: Ids
    swap_state: SwapState
    n_swaps: int
    n_entrants: int
    is_exact: bool
    remark: str = ""

    @property
    def prototypes(self) -> Ids:
        """Return the source rows that are prototypes."""
        return self.arms[self.swap_state.members]


def race(
    oracle: Oracle,
    order: TargetOrder,
    rungs: Sequence[Rung],
    *,
    k: int,
    weights: Doubles | None,
    random: np.random.Generator,
    start: Ids | None = None,
    evaluations: int | None = None,
    control: SearchControl | None = None,
) -> Iterator[RungResult]:
    """Yield a lap for each rung; the first is the build, the others are swaps.

    ``start`` are prototypes to improve; without them, greedy builds some on the first rung. Where
    crowded cells make a rung dearer than planned, fewer arms go on or are finalists, so that
    ``evaluations`` suffice; where not even the fewest can go on, the race ends. It begins with the
    last result of an earlier run, if ``control`` has one. Where it is interrupted between two
    swaps, the result so far is yielded.
    """
    problem, first = oracle.problem, rungs[0]
    control = control or SearchControl()
    is_exact = (first.n_arms, first.n_rows) == (len(problem.source), len(problem.target))
    race_state = restore_state(control, oracle, order)
    if race_state is None:
        race_state = _begin(oracle, order, rungs, k, weights, random, start, control)
    while True:
        rung, ragged, swap_state = rungs[race_state.place], race_state.ragged, race_state.swap_state
        lap = RungResult(rung, ragged.arms, swap_state, race_state.n_swaps, first.n_arms, is_exact)
        if control.is_interrupted():
            yield lap
            return
        if len(rungs) > 1:
            save_state(control, race_state)
        with oracle.during("swap"):
            n_finalists = _affordable_finalists(ragged, rung, k, evaluations)
            if n_finalists > k:
                lap = _shaken(lap, ragged, race_state.changes, n_finalists, random)
            yield lap
            if rung is rungs[-1]:
                return
            following = rungs[race_state.place + 1]
            n_arms = _affordable(swap_state, ragged, race_state.changes, following, evaluations)
            if n_arms < min(2 * k, following.n_arms):
                return
            kept = _survivors(swap_state, race_state.changes, n_arms)
            batch = _read(oracle, order, ragged.n_rows, following.n_rows, weights)
            race_state = _advance(race_state, kept, batch, following, control)


def _begin(
    oracle: Oracle,
    order: TargetOrder,
    rungs: Sequence[Rung],
    k: int,
    weights: Doubles | None,
    random: np.random.Generator,
    start: Ids | None,
    control: SearchControl,
) -> RaceState:
    """Return all arms on the rows of the first rung, and the prototypes built on them, or given."""
    first, *others = rungs
    batch = _read(oracle, order, 0, first.n_rows, weights)
    entrants = _entrants(oracle, first.n_arms, start, random)
    table = FullTable.of(oracle, entrants, batch.targets)
    if start is None:
        feasibility = oracle.problem.feasibility.among(table.arms)
        members, _ = _leaders(table, batch.weights, k, random, feasibility)
    else:
        members = np.searchsorted(table.arms, start)
    swap_state = SwapState(members, table.matrix[members], batch.weights)
    ragged = table.ragged(batch, swap_state.limits if others else None)
    with oracle.during("swap"):
        n_swaps, changes = refine_eagerly(swap_state, ragged, passes=first.passes, control=control)
    return RaceState(0, ragged, swap_state, changes, n_swaps)


def _shaken(
    lap: RungResult,
    ragged: RaggedTable,
    changes: Doubles,
    n_finalists: int,
    random: np.random.Generator,
) -> RungResult:
    """Return the lap after its best arms were measured at all rows and its prototypes shaken."""
    swap_state = lap.swap_state
    kept = _survivors(swap_state, changes, n_finalists)
    members = np.searchsorted(kept, swap_state.members)
    is_other = ~np.isin(kept, swap_state.members)
    matrix = np.empty((len(kept), ragged.n_rows), dtype=swap_state.matrix.dtype)
    matrix[members] = swap_state.matrix
    matrix[is_other] = ragged.distances(kept[is_other])
    table = FullTable(oracle=ragged.oracle, arms=ragged.arms[kept], matrix=matrix)
    tries = _tries(len(kept), lap.rung.n_trials, random)
    start = SwapState(members, swap_state.matrix, swap_state.weights)
    feasibility = ragged.oracle.problem.feasibility.among(table.arms)
    return replace(lap, arms=table.arms, swap_state=perturb(table, start, tries, feasibility))


def _tries(n_arms: int, n_trials: int, random: np.random.Generator) -> Ids:
    """Return which arms to force in: all in turn where trials suffice, or random ones."""
    if n_trials >= n_arms:
        return np.resize(np.arange(n_arms), n_trials)
    return random.integers(n_arms, size=n_trials)


def ranked(oracle: Oracle, lap: RungResult, random: np.random.Generator) -> tuple[Ids, Doubles]:
    """Return the slots of a lap's prototypes and their gains, on the rows of the lap.

    What the rules fix comes first, then the best.
    """
    table, weights, feasibility = _prototypes(oracle, lap)
    return _leaders(table, weights, len(feasibility.groups), random, feasibility)


def covered(oracle: Oracle, lap: RungResult, random: np.random.Generator) -> Iterator[Pick]:
    """Yield the same as picks of slots, each with the coverage of the lap's rows."""
    table, weights, feasibility = _prototypes(oracle, lap)
    return _picks(table, weights, len(feasibility.groups), random, feasibility)


def _prototypes(oracle: Oracle, lap: RungResult) -> tuple[FullTable, Doubles, Feasibility]:
    """Return the table of a lap's prototypes, the weights of its columns, and what is fixed."""
    swap_state, prototypes = lap.swap_state, lap.prototypes
    is_fixed = prototypes == oracle.problem.feasibility.fixed[:, None]
    feasibility = replace(Feasibility.none(len(prototypes)), fixed=is_fixed.argmax(axis=1))
    table = FullTable(oracle=oracle, arms=prototypes, matrix=swap_state.matrix)
    return table, swap_state.weights, feasibility


def _leaders(
    table: FullTable,
    weights: Doubles,
    k: int,
    random: np.random.Generator,
    feasibility: Feasibility,
) -> tuple[Ids, Doubles]:
    """Return the arms that greedy picks, and their gains."""
    if feasibility.is_free:
        return greedy_on_table(table, weights, k, random)
    picks = list(_picks(table, weights, k, random, feasibility))
    arms, gains = np.concatenate([p.arms for p in picks]), np.concatenate([p.gains for p in picks])
    return arms, gains


def _picks(
    table: FullTable,
    weights: Doubles,
    k: int,
    random: np.random.Generator,
    feasibility: Feasibility,
) -> Iterator[Pick]:
    coverage = ExactCoverage.over(table, weights)
    return greedy(Lazy(), coverage, feasibility=feasibility, k=k, random=random)


def _entrants(oracle: Oracle, n: int, start: Ids | None, random: np.random.Generator) -> Ids:
    n_source, feasibility = len(oracle.problem.source), oracle.problem.feasibility
    if n == n_source:
        return np.arange(n)
    drawn = random.choice(n_source, n, replace=False)
    needed = np.empty(0, dtype=np.int64) if start is None else start
    if start is None and not feasibility.is_free:
        # Whatever was drawn, with these there is an answer that the rules allow.
        others = feasibility.draw(
            feasibility.fixed, oracle.problem.k - len(feasibility.fixed), random
        )
        needed = np.concatenate([feasibility.fixed, others])
    return np.unique(np.concatenate([drawn, needed]))


def _survivors(swap_state: SwapState, changes: Doubles, n: int) -> Ids:
    """Return the prototypes and the arms that come nearest to improving on one, in order."""
    if n >= len(changes):
        return np.arange(len(changes))
    changes = changes.copy()
    changes[swap_state.members] = -np.inf
    return np.sort(np.argpartition(changes, n - 1)[:n])


def _affordable(
    swap_state: SwapState,
    ragged: RaggedTable,
    changes: Doubles,
    rung: Rung,
    evaluations: int | None,
) -> int:
    """Return how many arms can go on to a rung, to judge by how rows are spread over cells."""
    if evaluations is None:
        return rung.n_arms
    k, new = len(swap_state.members), rung.n_rows - ragged.n_rows
    kept = _survivors(swap_state, changes, rung.n_arms)
    shares = np.bincount(swap_state.near, minlength=k) / ragged.n_rows
    homes = swap_state.homes(ragged, kept, rung.n_cells)
    an_arm = new * float(np.where(homes < 0, 0.0, shares[homes]).sum(axis=1).mean())
    left = (
        evaluations - ragged.oracle.evaluations.total() - k * new - SWAPS_A_RUNG * k * rung.n_rows
    )
    return min(rung.n_arms, int(0.95 * left / max(an_arm, 1.0)))


def _affordable_finalists(ragged: RaggedTable, rung: Rung, k: int, evaluations: int | None) -> int:
    """Return how many finalists, prototypes among them, can be measured at all rows."""
    new = ragged.n_rows - ragged.batches[0].stop
    if evaluations is None or new == 0:
        return rung.n_finalists
    left = evaluations - ragged.oracle.evaluations.total()
    return min(rung.n_finalists, k + left // new)


def _advance(
    race_state: RaceState, kept: Ids, batch: RowBatch, rung: Rung, control: SearchControl
) -> RaceState:
    """Return the arms ``kept`` and the prototypes with these target rows added, after swaps."""
    ragged, swap_state = race_state.ragged, race_state.swap_state
    k, limits = len(swap_state.members), swap_state.limits
    homes = swap_state.homes(ragged, kept, rung.n_cells)
    block = np.empty((k, len(batch.targets)), dtype=swap_state.matrix.dtype)
    ragged.oracle.tabulate(ragged.arms[swap_state.members], batch.targets, block)
    cells = block.argmin(axis=0)
    by_cell = np.argsort(cells, kind="stable")
    batch = RowBatch(
        batch.start, batch.targets.take(by_cell), batch.weights[by_cell], batch.rows, by_cell
    )
    cell_starts = np.searchsorted(cells[by_cell], np.arange(k + 1))
    # Prototypes have been measured at all of the batch just now.
    is_measured = ~np.isin(kept, swap_state.members)
    wider = ragged.extended(kept, batch, cell_starts, homes, is_measured, limits)
    matrix = np.hstack([swap_state.matrix, block[:, by_cell]])
    wide = SwapState(np.searchsorted(kept, swap_state.members), matrix, wider.weights)
    n_swaps, changes = refine_eagerly(wide, wider, passes=rung.passes, control=control)
    return RaceState(race_state.place + 1, wider, wide, changes, n_swaps)


def _read(
    oracle: Oracle, order: TargetOrder, start: int, stop: int, weights: Doubles | None
) -> RowBatch:
    rows = order.read(start, stop)
    own = np.ones(len(rows)) if weights is None else weights[rows]
    if weights is not None and not own.any():
        # Rows without weight still tell near from far, until one with weight outweighs them all.
        own = np.full(len(rows), _FEATHER * weights.max())
    return RowBatch(start, oracle.targets(rows), own, rows)
