"""The race: all arms on few target rows, then fewer arms on more rows, each in its home cells only.

Theory of operation
-------------------
All arms read the same random order of the target rows, from its beginning. On the first rung the
distances of all arms to a few rows are computed. Greedy selection finds k prototypes on them and
swaps improve these. Then target rows far from all prototypes are searched (`far_rows`), since the
arms near them would leave the race. From then on an arm that is farther from a row than its fourth
prototype is ignored at that row: it could become nearest only after several swaps. Every later rung
adds rows:

1. The prototypes are kept, and the arms whose best swap was closest to an improvement when it was
   last computed.
2. The distances of the prototypes to the new rows are computed, which assigns the rows to cells.
3. The distances of an arm are computed only at the new rows of its home cells: the cell of its
   nearest row, and those in which, on the rows so far, it is closest to beating the second
   prototype. Rows of other cells would stay with their prototypes if the arm became one. (MNIST,
   k = 100: 5 of 100 cells hold 80 % of what an arm can save.)
4. Swaps improve the prototypes on all rows so far. Unknown distances of an arm count as no
   improvement, so a swap is never worse than estimated. Before it is made, the distances of the arm
   to all rows are computed.

Steps 3 and 4 have a fixed number of evaluations (`most_in_homes`, `most_swaps`), so no data can
make a race more expensive than `most_evaluations`. If the rows clump together in a few cells, home
cells cost more than on average. Then fewer of them are used, those with the least promise first,
and of the arms whose home cells are still expensive only the best are kept.

If the last rung has finalists, the distances of the best arms to all rows read so far are computed,
and forced swaps among them (`perturb`) improve the prototypes further. If the only rung has all
distances, other starts (`improve_by_restarts`) do so, without further evaluations.

So the number of evaluations is the number of arms times a few rows, plus a multiple of k times the
rows read. It does not depend on the size of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import Halt
from protobandit.foundation.selection import smallest
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RaggedTable, RowBatch
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.search.control import SearchControl
from protobandit.search.drivers.race.far_rows import Budget, FarRowSearch, most_evaluations
from protobandit.search.drivers.race.perturbation import perturb
from protobandit.search.drivers.race.restarts import improve_by_restarts
from protobandit.search.drivers.race.schedule import (
    SWAPS_PER_RUNG,
    Rung,
    most_for_swaps,
    most_in_homes,
)
from protobandit.search.drivers.race.state import (
    RaceState,
    RungResult,
    restore_state,
    save_state,
)
from protobandit.search.drivers.ragged_swaps import least_change, refine_eagerly
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.drivers.table_greedy import greedy_on_table
from protobandit.search.objectives.swap_state import SwapState

_TINY_WEIGHT = 1e-100
_FEWEST_CELLS = 2  # home cells of an arm before arms are left out
_FAR_PASSES = 2  # of swaps on the first rung with far rows
_FAR_TRIES = 2  # each with the distances that matter to the prototypes so far


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
    """Yield the result of each rung.

    ``start`` are prototypes to improve; by default, greedy selection on the first rung finds them.
    If large cells make a rung more expensive than planned, fewer arms are kept, or fewer finalists,
    so that ``evaluations`` are sufficient; if even the fewest are too many, the race ends. It
    starts at the last rung of an earlier run, if ``control`` has its state. If it is interrupted
    between two swaps, the result so far is yielded.
    """
    problem, first = oracle.problem, rungs[0]
    control = control or SearchControl()
    is_exact = (first.n_arms, first.n_rows) == (len(problem.source), len(problem.target))
    race_state = restore_state(control, oracle, order)
    if race_state is None:
        race_state = _first_state(oracle, order, rungs, k, weights, random, start, control)
        with suppress(Halt), oracle.during("swap"):
            race_state = _with_far_rows(
                race_state, order, rungs, weights, random, evaluations, control
            )
    while True:
        rung, ragged, swap_state = rungs[race_state.place], race_state.ragged, race_state.swap_state
        result = RungResult(
            rung,
            ragged.arms,
            ragged.batches,
            swap_state,
            race_state.n_swaps,
            first.n_arms,
            is_exact,
            race_state.is_searched,
        )
        if control.is_interrupted():
            yield result
            return
        if len(rungs) > 1:
            save_state(control, race_state, order)
        with oracle.during("swap"):
            n_finalists = _n_affordable_finalists(ragged, rung, k, evaluations)
            if n_finalists > k:
                result = _perturbed(result, ragged, race_state.changes, n_finalists, random)
            if rung.n_reads:
                result = _restarted(result, ragged.table, random, control)
            yield result
            if rung is rungs[-1]:
                return
            following = rungs[race_state.place + 1]
            n_arms = _n_affordable(race_state, rung, following, evaluations)
            if n_arms < min(2 * k, following.n_arms):
                return
            kept = _best_arms(swap_state, race_state.changes, n_arms)
            batch = _next_rows(race_state, oracle, order, rung, following, weights)
            race_state = _next_state(race_state, kept, batch, rungs, evaluations, control)


def _first_state(
    oracle: Oracle,
    order: TargetOrder,
    rungs: Sequence[Rung],
    k: int,
    weights: Doubles | None,
    random: np.random.Generator,
    start: Ids | None,
    control: SearchControl,
) -> RaceState:
    """Return all arms on the rows of the first rung, and the prototypes found there or given."""
    first, *others = rungs
    batch = _batch(oracle, order.read(0, first.n_rows), 0, weights)
    table = FullTable.of(oracle, _first_arms(oracle, first.n_arms, start, random), batch.targets)
    if start is None:
        feasibility = oracle.problem.feasibility.among(table.arms)
        members, _ = greedy_on_table(table, batch.weights, k, random, feasibility)
    else:
        members = np.searchsorted(table.arms, start)
    swap_state = SwapState(members, table.matrix[members], batch.weights)
    ragged = table.ragged(batch, swap_state.limits if others else None, first.n_entries)
    with oracle.during("swap"):
        n_swaps, changes = refine_eagerly(swap_state, ragged, passes=first.passes, control=control)
    return RaceState(0, ragged, swap_state, changes, n_swaps)


def _with_far_rows(
    race_state: RaceState,
    order: TargetOrder,
    rungs: Sequence[Rung],
    weights: Doubles | None,
    random: np.random.Generator,
    evaluations: int | None,
    control: SearchControl,
) -> RaceState:
    """Return the state of the first rung with the far rows that matter, after swaps."""
    ragged, swap_state = race_state.ragged, race_state.swap_state
    oracle, n_target = ragged.oracle, len(ragged.oracle.problem.target)
    # A single prototype has no second, so an arm must be known at all rows; and it stays with the
    # many rows. If every arm is a prototype, there is nothing to find.
    if rungs[0].n_rows == n_target or not 1 < len(swap_state.members) < len(ragged):
        return race_state
    n_searched = None if isinstance(order, WeightedOrder) else n_target
    is_whole = rungs[-1].n_rows == n_target
    n_whole = rungs[0].n_rows if is_whole else 0
    most = most_evaluations(len(ragged), n_searched, len(swap_state.members), n_whole)
    budget = Budget(oracle, evaluations, most)
    search = FarRowSearch(
        oracle,
        order,
        ragged.arms,
        swap_state,
        weights=weights,
        is_whole=is_whole,
        budget=budget,
    )
    far = search.find(random)
    if far is None:
        return replace(race_state, is_searched=not budget.is_exceeded)
    start, own = ragged.n_rows, far.strata.weights_on(rungs[0].n_rows)
    batch = RowBatch(start, far.targets, own[start:], far.rows)
    arms, columns, values = far.entries()
    columns += start
    members, matrix = swap_state.members, np.hstack([swap_state.matrix, far.matrix])
    n_swaps = 0
    for attempt in range(_FAR_TRIES):
        wider = ragged.with_entries(batch, arms, columns, values).reweighted(own)
        wide = SwapState(members, matrix, wider.weights)
        most = _n_affordable_swaps(wider, rungs[0], rungs[0], len(members), evaluations)
        n_more, changes = refine_eagerly(
            wide, wider, passes=_FAR_PASSES, most=max(0, most - n_swaps), control=control
        )
        n_swaps += n_more
        if n_more == 0 or attempt + 1 == _FAR_TRIES:
            break
        # Prototypes have moved to far rows, so that the others serve more rows than before, and
        # arms matter at more rows. Their distances are in the table of the first rung.
        members, matrix = wide.members, wide.matrix
        wider = ragged  # the wider table is not needed while the next one is made
        ragged = ragged.table.ragged(ragged.batches[0], wide.limits[:start], rungs[0].n_entries)
    return RaceState(
        0,
        wider,
        wide,
        changes,
        race_state.n_swaps + n_swaps,
        far.strata,
        is_searched=not budget.is_exceeded,
    )


def _perturbed(
    result: RungResult,
    ragged: RaggedTable,
    changes: Doubles,
    n_finalists: int,
    random: np.random.Generator,
) -> RungResult:
    """Return the result after forced swaps among its best arms, whose distances are computed."""
    swap_state = result.swap_state
    kept = _best_arms(swap_state, changes, n_finalists)
    members = np.searchsorted(kept, swap_state.members)
    is_other = ~np.isin(kept, swap_state.members)
    matrix = np.empty((len(kept), ragged.n_rows), dtype=swap_state.matrix.dtype)
    matrix[members] = swap_state.matrix
    matrix[is_other] = ragged.distances(kept[is_other])
    table = FullTable(oracle=ragged.oracle, arms=ragged.arms[kept], matrix=matrix)
    forced = _forced_arms(len(kept), result.rung.n_trials, random)
    start = SwapState(members, swap_state.matrix, swap_state.weights)
    feasibility = ragged.oracle.problem.feasibility.among(table.arms)
    least = -least_change(start)
    improved = perturb(table, start, forced, feasibility, least)
    return replace(result, arms=table.arms, swap_state=improved)


def _restarted(
    result: RungResult, table: FullTable, random: np.random.Generator, control: SearchControl
) -> RungResult:
    """Return the best of this result and those of other starts; the table has all distances."""
    improved = improve_by_restarts(
        table,
        result.swap_state,
        table.oracle.problem.feasibility.among(table.arms),
        least=-least_change(result.swap_state),
        n_reads=result.rung.n_reads,
        random=random,
        control=control,
    )
    return replace(result, swap_state=improved)


def _forced_arms(n_arms: int, n_trials: int, random: np.random.Generator) -> Ids:
    """Return the arms to swap in by force: all in turn if there are enough trials, or random."""
    if n_trials >= n_arms:
        return np.resize(np.arange(n_arms), n_trials)
    return random.integers(n_arms, size=n_trials)


def _first_arms(oracle: Oracle, n: int, start: Ids | None, random: np.random.Generator) -> Ids:
    """Return all source rows, or ``n`` random ones and those that are needed, ascending."""
    n_source, feasibility = len(oracle.problem.source), oracle.problem.feasibility
    if n == n_source:
        return np.arange(n)
    drawn: Ids = random.choice(n_source, n, replace=False)
    needed = np.empty(0, dtype=np.int64) if start is None else start
    if start is None and not feasibility.is_free:
        # With these there is a feasible selection, whatever else was drawn.
        needed = random_rows(feasibility, oracle.problem.k, random)
    others = drawn[~np.isin(drawn, needed)][: n - len(needed)]
    return np.sort(np.concatenate([others, needed]))


def _best_arms(swap_state: SwapState, changes: Doubles, n: int) -> Ids:
    """Return the prototypes and the arms that are closest to an improvement, ascending."""
    changes = changes.copy()
    changes[swap_state.members] = -np.inf
    return smallest(changes, n)


def _n_affordable(race_state: RaceState, before: Rung, rung: Rung, evaluations: int | None) -> int:
    """Return the number of arms that a rung can keep, given how the rows are spread over cells."""
    if evaluations is None:
        return rung.n_arms
    ragged, swap_state = race_state.ragged, race_state.swap_state
    k, new = len(swap_state.members), rung.n_rows - before.n_rows
    kept = _best_arms(swap_state, race_state.changes, rung.n_arms)
    n_far = 0 if race_state.strata is None else len(ragged.batches[1].targets)
    near = np.delete(swap_state.near, slice(ragged.batches[0].stop, ragged.batches[0].stop + n_far))
    shares = np.bincount(near, minlength=k) / len(near)
    homes = swap_state.homes(ragged, kept, rung.n_cells)
    per_arm = new * float(np.where(homes < 0, 0.0, shares[homes]).sum(axis=1).mean())
    left = evaluations - ragged.oracle.evaluations.total()
    left_for_arms = left - k * new - SWAPS_PER_RUNG * k * (rung.n_rows + n_far)
    return min(rung.n_arms, int(0.95 * left_for_arms / max(per_arm, 1.0)))


def _n_affordable_finalists(
    ragged: RaggedTable, rung: Rung, k: int, evaluations: int | None
) -> int:
    """Return the number of finalists, including prototypes, whose distances can be computed."""
    new = ragged.n_rows - ragged.batches[0].stop
    if evaluations is None or new == 0:
        return rung.n_finalists
    left = evaluations - ragged.oracle.evaluations.total()
    return min(rung.n_finalists, k + left // new)


def _next_state(
    race_state: RaceState,
    kept: Ids,
    batch: RowBatch,
    rungs: Sequence[Rung],
    evaluations: int | None,
    control: SearchControl,
) -> RaceState:
    """Return the arms ``kept`` and the prototypes with more target rows, after swaps."""
    rung = rungs[race_state.place + 1]
    ragged, swap_state, strata = race_state.ragged, race_state.swap_state, race_state.strata
    if strata is not None:
        ragged = ragged.reweighted(strata.weights_on(rung.n_rows))
    oracle, n_new = ragged.oracle, len(batch.targets)
    k, limits = len(swap_state.members), swap_state.limits
    homes = swap_state.homes(ragged, kept, rung.n_cells)
    block = np.empty((k, n_new), dtype=swap_state.matrix.dtype)
    oracle.tabulate(ragged.arms[swap_state.members], batch.targets, block)
    cells = block.argmin(axis=0)
    by_cell = np.argsort(cells, kind="stable")
    batch = RowBatch(
        batch.start, batch.targets.take(by_cell), batch.weights[by_cell], batch.rows, by_cell
    )
    cell_starts = np.searchsorted(cells[by_cell], np.arange(k + 1))
    # The distances of prototypes to the batch are known.
    is_member = np.isin(kept, swap_state.members)
    most = most_in_homes(rung, n_new, k)
    if evaluations is not None:
        most = min(most, evaluations - oracle.evaluations.total())
    order = np.where(is_member, -np.inf, race_state.changes[kept])
    is_kept, homes = _within_budget(homes, np.diff(cell_starts), order, is_member, most)
    kept, homes, is_member = kept[is_kept], homes[is_kept], is_member[is_kept]
    wider = ragged.extended(kept, batch, cell_starts, homes, ~is_member, limits, rung.n_entries)
    matrix = np.hstack([swap_state.matrix, block[:, by_cell]])
    wide = SwapState(np.searchsorted(kept, swap_state.members), matrix, wider.weights)
    n_swaps, changes = refine_eagerly(
        wide,
        wider,
        passes=rung.passes,
        most=_n_affordable_swaps(wider, rungs[0], rung, k, evaluations),
        control=control,
    )
    return RaceState(
        race_state.place + 1, wider, wide, changes, n_swaps, strata, race_state.is_searched
    )


def _within_budget(
    homes: Ids, sizes: Ids, order: Doubles, is_member: Any, most: int
) -> tuple[Any, Ids]:
    """Return which arms are kept and their home cells, so that ``most`` evaluations suffice.

    ``sizes`` are the new rows of each cell. Every arm uses the same number of home cells, the most
    promising first, but at least `_FEWEST_CELLS`. If that is still too much, the arms that cost no
    more than an equal share of ``most`` are kept, and those that cost more as long as evaluations
    are left, in ascending ``order``. Prototypes cost nothing.
    """
    costs = np.append(sizes, 0)[homes]  # a missing home is -1
    costs[is_member] = 0
    if costs.sum() <= most:
        return np.ones(len(homes), dtype=bool), homes
    if homes.shape[1] < len(sizes):
        n_cells = int(np.searchsorted(np.cumsum(costs.sum(axis=0)), most, side="right"))
        n_cells = max(n_cells, min(_FEWEST_CELLS, homes.shape[1]))
        homes, costs = np.ascontiguousarray(homes[:, :n_cells]), costs[:, :n_cells]
    per_arm = costs.sum(axis=1)
    is_kept = is_member | (per_arm <= most / len(homes))
    others = np.flatnonzero(~is_kept)
    others = others[np.argsort(order[others], kind="stable")]
    is_kept[others] = np.cumsum(per_arm[others]) <= most - per_arm[is_kept].sum()
    return is_kept, homes


def _n_affordable_swaps(
    ragged: RaggedTable, first: Rung, rung: Rung, k: int, evaluations: int | None
) -> int:
    """Return the number of arms whose distances may be computed to try swaps."""
    most = most_for_swaps(first, rung, k)
    if evaluations is not None:
        most = min(most, evaluations - ragged.oracle.evaluations.total())
    return max(0, most // (ragged.n_rows - first.n_rows))


def _next_rows(
    race_state: RaceState,
    oracle: Oracle,
    order: TargetOrder,
    rung: Rung,
    following: Rung,
    weights: Doubles | None,
) -> RowBatch:
    """Return the rows that the following rung adds, without far rows, which it has already."""
    rows = order.read(rung.n_rows, following.n_rows)
    if race_state.strata is not None:
        positions = race_state.strata.positions
        is_new = (positions >= rung.n_rows) & (positions < following.n_rows)
        rows = np.delete(rows, positions[is_new] - rung.n_rows)
    return _batch(oracle, rows, race_state.ragged.n_rows, weights)


def _batch(oracle: Oracle, rows: Ids, start: int, weights: Doubles | None) -> RowBatch:
    own = np.ones(len(rows)) if weights is None else weights[rows]
    if weights is not None and not own.any():
        # All rows have weight 0. With equal tiny weights they can still be compared, until a row
        # with a weight follows, which outweighs them all.
        own = np.full(len(rows), _TINY_WEIGHT * weights.max())
    return RowBatch(start, oracle.targets(rows), own, rows)
