"""Local search over cells: moves of single prototypes, judged on the rows near them.

Theory of operation
-------------------
Every judged row has a list of its nearest prototypes (`JudgedRows`). One pass

1. draws candidates for every cell: source rows near its prototype, and rows drawn in proportion to
   weight times distance, so that far rows are noticed;
2. judges each candidate on some of the rows that have the cell's prototype in their list: by how
   much the cost changes if the candidate replaces the prototype, or if it is added;
3. measures the best candidates of the cells on all of these rows, if their moves seem to lower the
   cost;
4. moves prototypes: first those whose removal costs least to the best additions, then the best
   replacements. Before a move is made it is judged again on the two nearest prototypes of rows as
   they then are, so every move lowers the cost; rows that do not know the candidate can only lower
   it further;
5. brings the lists up to date: compares the rows of the cells around with the prototypes that have
   moved.

Nothing of the size |S| x rows is kept: distances are computed in blocks that stay in cache, summed
and dropped. A pass costs about (candidates) x (rows that judge them) evaluations per cell, and
about (length of lists) per judged row. Rows of neighbouring cells lie together in memory, and
cells are taken in the order of their rows, so most rows are in cache. Steps 1, 2, 3 and 5 work on
fixed blocks of cells or rows in parallel; moves are made on one thread. So the result has the same
bits on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels import cells as kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.patches import Judged
from protobandit.problem.feasibility import Feasibility
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows, Near
from protobandit.search.drivers.localsearch.lists import (
    READ_WORK,
    Positions,
    RowsBySlot,
    row_patches,
)
from protobandit.search.drivers.localsearch.pools import Pool
from protobandit.search.drivers.localsearch.schedule import Width

_COSTLY = 16  # times the mean cost of a cell, for which a cell gets another addition
LEAST_GAIN = 1e-7  # of the cost: smaller changes are rounding
_CELLS = 64  # of one task that draws rows
_BLOCK = 2**26  # bytes of float32 source rows that are read at once to find central ones


class LocalSearch:
    """Prototypes that passes improve on some judged rows.

    Parameters
    ----------
    judged, pool
        The rows on which moves are judged, and those that may become prototypes.
    prototypes
        The source rows to start with, one per slot; the lists of ``judged`` refer to them.
    """

    def __init__(
        self,
        judged: JudgedRows,
        pool: Pool,
        prototypes: Ids,
        width: Width,
        random: np.random.Generator,
    ) -> None:
        self.oracle: Oracle = judged.oracle
        self.judged = judged
        self.pool = pool
        self.prototypes = prototypes.copy()
        self.width = width
        self._random = random
        self._feasibility: Feasibility = self.oracle.problem.feasibility
        self._is_fixed = np.isin(prototypes, self._feasibility.fixed)
        self._is_active = np.ones(len(prototypes), dtype=bool)
        self._pending: tuple[NDArray[np.bool_], NDArray[np.bool_], Positions] | None = None

    @property
    def is_partial(self) -> bool:
        """Return whether the next pass leaves out cells, those around which nothing has changed."""
        return not self._is_active.all()

    def state(self) -> dict[str, Any]:
        """Return the arrays from which the search can be made again, as they are now."""
        self.update_pool()
        judged, pool = self.judged, self.pool
        arrays = {
            "ids": judged.ids,
            "slots": judged.slots.copy(),
            "gaps": judged.gaps.copy(),
            "common": judged.common,
            "active": self._is_active,
        }
        return arrays | {f"pool {name}": array for name, array in pool.state().items()}

    def restore(self, is_active: NDArray[np.bool_]) -> None:
        """Set which cells the next pass judges."""
        self._is_active = is_active.astype(bool)

    def include_all_cells(self) -> None:
        """Let the next pass judge all cells."""
        self._is_active = np.ones(len(self.prototypes), dtype=bool)

    def make_pass(self) -> tuple[float, int]:
        """Make one pass; return by which share the cost has fallen, and the number of moves."""
        self.update_pool()
        judged, k = self.judged, len(self.prototypes)
        before, common = judged.summed, judged.common
        by_slot, near = RowsBySlot.of(self.oracle, judged.slots, k), judged.near
        served = near[0].copy()
        proposals, least = self.proposals(by_slot, near), LEAST_GAIN * before
        moved, relocated = self._make_moves(by_slot, near, proposals, least)
        n_moves = int(moved.sum())
        self._is_active = np.ones(k, dtype=bool)
        if n_moves:
            sources = self.oracle.sources(self.prototypes)
            judged.rehouse(sources, served, near[0])
            self._is_active = judged.refresh(sources, moved, self.width.n_common)
            self._pending = self._is_active, relocated, common
        return (1 - judged.summed / before if before > 0 else 0.0), n_moves

    @property
    def free_slots(self) -> Ids:
        """Return the slots that serve no judged row, and may move."""
        n_served = np.bincount(self.judged.slots[:, 0], minlength=len(self.prototypes))
        return np.flatnonzero((n_served == 0) & ~self._is_fixed)

    def fill_free_slots(self) -> None:
        """Move the prototypes of free slots to rows drawn in proportion to weight times distance.

        A pass moves one prototype to a cell. If most rows are equal, most prototypes that were
        drawn are, and all rows that need another one are in one cell. No row is farther from its
        prototype after this.
        """
        self.update_pool()
        judged, k, common = self.judged, len(self.prototypes), self.judged.common
        drawn, slots = self._drawn_for(self.free_slots)
        moved = np.zeros(k, dtype=bool)
        moved[slots] = True
        self.prototypes[slots] = self.pool.ids[drawn]
        cells = self.pool.slots[drawn]
        sources = self.oracle.sources(self.prototypes)
        judged.replace_slots(sources, moved, slots, cells)
        is_active = judged.refresh(sources, moved, self.width.n_common)
        self._pending = is_active, moved, common

    def _drawn_for(self, free: Ids) -> tuple[Ids, Ids]:
        """Draw rows of the pool for slots of the same group; return both, for as many as found."""
        pool, groups = self.pool, self._feasibility.groups
        # The pool has a row several times if judged rows were drawn by weight.
        ids, first, at = np.unique(pool.ids, return_index=True, return_inverse=True)
        worth = np.bincount(at, pool.gaps.astype(np.float64) * pool.weights)
        worth[np.isin(ids, self.prototypes)] = 0.0
        is_far = worth > 0
        # The first of these numbers to be reached is that of each row with its share of the sum.
        waits = self._random.exponential(size=int(is_far.sum())) / worth[is_far]
        rows = first[is_far]
        own, wanted = groups[pool.ids[rows]], groups[self.prototypes[free]]
        rows, free = rows[np.lexsort((waits, own))], free[np.argsort(wanted, kind="stable")]
        names, n_wanted = np.unique(wanted, return_counts=True)
        begin, end = (np.searchsorted(np.sort(own), names, side=side) for side in ("left", "right"))
        n = np.minimum(n_wanted, end - begin)
        starts = np.cumsum(n_wanted) - n_wanted
        steps = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        return rows[np.repeat(begin, n) + steps], free[np.repeat(starts, n) + steps]

    def update_pool(self) -> None:
        """Assign source rows to cells again if prototypes have moved; not after the last pass."""
        if self._pending is not None:
            self.pool.update(*self._pending)
            self._pending = None

    def _candidates(self, by_slot: RowsBySlot) -> Positions:
        k, width, pool = len(self.prototypes), self.width, self.pool
        own = pool.by_cell(by_slot)
        own = replace(own, n_own=np.where(self._is_active, own.n_own, 0))
        is_open = np.ones(len(self.oracle.problem.source), dtype=bool)
        is_open[self.prototypes] = False
        is_open = is_open[pool.ids]
        out = np.empty((k, width.n_candidates), dtype=np.int32)
        shares = np.sort(self._random.random((k, width.n_drawn)), axis=1)
        gaps = np.ascontiguousarray(pool.gaps)
        scores, worth = self._scores(by_slot, own, gaps), gaps.astype(np.float64) * pool.weights
        is_drawn = np.zeros(len(gaps), dtype=bool)

        def fill(cut: slice) -> None:
            kernels.candidates(
                own.starts[cut],
                own.rows,
                own.n_own[cut],
                scores,
                worth,
                is_open,
                shares[cut],
                is_drawn,
                out[cut],
            )

        self.oracle.share(fill, cuts(k, _CELLS), 2 * READ_WORK * len(gaps))
        return out

    def _scores(self, by_slot: RowsBySlot, own: RowsBySlot, gaps: Floats) -> Floats:
        """Return how central each row of the pool is in its cell: smaller is better.

        In a cell with more rows than candidates, it is the mean distance to a few judged rows,
        drawn by weight. If the rows of the pool are not in memory, they are read in blocks.
        """
        width, k = self.width, len(self.prototypes)
        cells = np.flatnonzero((own.n_own > width.n_candidates) & (by_slot.n_own > 0))
        scores = gaps.copy()
        if len(cells) == 0:
            return scores
        cells = by_slot.in_sequence(cells)
        probes = self._probes(by_slot, cells)
        if self.pool.is_held:
            operand, _ = self.pool.operand(own.rows[:0])
            self._score(own, cells, probes, operand, own.rows, scores)
            return scores
        slots = self.pool.slots
        source = self.oracle.problem.source
        n_rows = max(1, _BLOCK * len(source) // max(1, 4 * source.n_cells))
        for start in range(0, len(slots), n_rows):
            block = np.arange(start, min(start + n_rows, len(slots)), dtype=np.int32)
            own = RowsBySlot.of(self.oracle, slots[block][:, None], k)
            operand, positions = self.pool.operand(block)
            self._score(own, cells, probes, operand, positions[own.rows], scores[block[0] :])
        return scores

    def _score(
        self,
        own: RowsBySlot,
        cells: Ids,
        probes: Positions,
        operand: Operand,
        positions: Positions,
        scores: Floats,
    ) -> None:
        """Fill in the scores of rows of the pool; ``positions`` are those of ``own`` in operand."""
        n_probes = self.width.n_probes
        patches, _ = row_patches(
            positions, own.own_ranges(cells), probes, np.full(len(cells), n_probes)
        )

        def visit(values: Floats, at: Ids, run: slice) -> None:
            sums = np.einsum("ij->i", values.reshape(-1, n_probes))  # faster than sum(axis=1)
            n_rows = patches.last[run] - patches.first[run]
            skipped = patches.first[run] - (np.cumsum(n_rows) - n_rows)
            rows = own.rows[np.repeat(skipped, n_rows) + np.arange(len(sums))]
            scores[rows] = sums

        self.oracle.visit_patches(patches, operand, self.judged.targets, visit, are_targets=False)

    def _probes(self, there: RowsBySlot, cells: Ids) -> Positions:
        """Draw judged rows of each cell by weight."""
        first, last = there.own_ranges(cells)
        weights, size = self.judged.weights, (len(cells), self.width.n_probes)
        if weights.min() == weights.max():
            at = first[:, None] + self._random.integers((last - first)[:, None], size=size)
            return np.ravel(there.rows[at])
        # Weights are divided by those of the cell: they may differ by many orders of magnitude.
        served = self.judged.slots[:, 0]
        totals = np.bincount(served, weights)[served]
        own = np.divide(weights, totals, out=np.zeros(len(weights)), where=totals > 0)
        ends = np.append(0.0, np.cumsum(own[there.rows]))
        begin, end = ends[first][:, None], ends[last][:, None]
        at = np.searchsorted(ends, begin + self._random.random(size) * (end - begin), side="right")
        return np.ravel(there.rows[np.clip(at - 1, first[:, None], last[:, None] - 1)])

    def proposals(self, by_slot: RowsBySlot, near: Near) -> Proposals:
        """Return for each cell the best candidate to replace its prototype and the best to add.

        They are judged on some of the rows that have the prototype in their list.
        """
        k = len(self.prototypes)
        drawn = self._candidates(by_slot)
        cells = by_slot.in_sequence(np.flatnonzero(drawn[:, 0] >= 0))
        if len(cells) == 0:
            none = np.empty(0, dtype=np.int64)
            return Proposals(none, none, np.empty(0), np.full(k, -1), np.zeros(k))
        judged = self._judge(by_slot, near, cells, drawn[cells], self.width.n_screened)
        changes, gains = judged.changes, judged.gains
        is_open = self._may_replace(drawn, cells)
        if is_open is not None:
            changes[~is_open] = np.inf
        is_padding = drawn[cells] < 0
        changes[is_padding], gains[is_padding] = np.inf, -np.inf
        best, replace = np.argsort(-gains, axis=1, kind="stable"), changes.argmin(axis=1)
        is_added = np.arange(best.shape[1]) < self._n_additions(cells)[:, None]
        added, rank = np.nonzero(is_added)
        place = best[added, rank]
        replacements, least = np.full(k, -1), np.zeros(k)
        replacements[cells] = drawn[cells, replace]
        least[cells] = changes[np.arange(len(cells)), replace]
        return Proposals(
            cells[added],
            drawn[cells[added], place].astype(np.int64),
            gains[added, place],
            replacements,
            least,
        )

    def _n_additions(self, cells: Ids) -> Ids:
        """Return how many additions to propose for each cell: one, unless it costs very much.

        If most rows are equal, most of the cost is that of one cell.
        """
        judged, k = self.judged, len(self.prototypes)
        if judged.summed <= 0:
            return np.ones(len(cells), dtype=np.int64)
        costs = np.bincount(judged.slots[:, 0], judged.weights * judged.gaps[:, 0], minlength=k)
        n: Ids = 1 + np.floor(costs[cells] * (k / (_COSTLY * judged.summed))).astype(np.int64)
        return n

    def _judge(
        self,
        by_slot: RowsBySlot,
        near: Near,
        cells: Ids,
        candidates: Positions,
        most: int | None,
        *,
        are_kept: bool = False,
    ) -> Judgements:
        """Judge candidates of cells on at most ``most`` rows that know the cell (None: on all).

        Each cell has a row of ``candidates``, positions in the pool, then -1. Their distances are
        kept if ``are_kept``.
        """
        rows, weights, ranges = self._screened(by_slot, near, cells, most)
        served, _, D, E = near
        is_there = candidates >= 0
        n_candidates = is_there.sum(axis=1)
        operand, positions = self.pool.operand(candidates[is_there])
        patches, which = row_patches(rows, ranges, positions, n_candidates)
        shape = len(patches), candidates.shape[1]
        changes, gains = np.zeros(shape), np.zeros(shape)
        values = np.empty(patches.n_entries, dtype=self.oracle.dtype) if are_kept else None
        judged = Judged(cells[which], weights, served, D, E, changes, gains)
        self.oracle.judge_patches(patches, self.judged.targets, operand, judged, values)
        firsts = np.searchsorted(which, np.arange(len(cells)))
        if len(which) > len(cells):  # long ranges are cut
            changes, gains = (np.add.reduceat(each, firsts, axis=0) for each in (changes, gains))
        return Judgements(
            changes=changes,
            gains=gains,
            values=np.empty(0) if values is None else values,
            starts=patches.at[firsts],
        )

    def _screened(
        self, by_slot: RowsBySlot, near: Near, cells: Ids, most: int | None
    ) -> tuple[Positions, Floats, tuple[Ids, Ids]]:
        """Return the rows on which candidates of cells are judged, their weights and ranges."""
        judged, n_rows = self.judged, np.diff(by_slot.starts)[cells]
        shares = np.zeros(len(cells)) if most is None else self._random.random(len(cells))
        most = int(n_rows.max(initial=0)) if most is None else most
        _, _, D, _ = near
        n_kept = np.minimum(n_rows, most)
        ends = np.cumsum(n_kept)
        first, last = ends - n_kept, ends.copy()
        rows = np.empty(int(ends[-1]), dtype=np.int32)
        weights = np.empty(len(rows), dtype=self.oracle.dtype)

        def fill(cut: slice) -> None:
            kernels.screen(
                cells[cut],
                by_slot.starts,
                by_slot.rows,
                D,
                judged.weights,
                most,
                shares[cut],
                first[cut],
                last[cut],
                rows,
                weights,
            )

        self.oracle.share(fill, cuts(len(cells), _CELLS), READ_WORK * len(by_slot.rows))
        return rows, weights, (first, last)

    def _may_replace(self, drawn: Positions, cells: Ids) -> NDArray[np.bool_] | None:
        """Return which candidates may replace the prototype of their cell; None if all may."""
        feasibility = self._feasibility
        if feasibility.is_free:
            return None
        allowed = feasibility.allowed(self.prototypes)
        groups = feasibility.groups[self.pool.ids[drawn[cells]]]
        return allowed[groups, cells[:, None]]

    def _measured(self, by_slot: RowsBySlot, near: Near, cells: Ids, candidates: Ids) -> Measured:
        """Judge candidates on all rows that know their cell; a cell has one or some of them."""
        unique, at, n_here = np.unique(cells, return_inverse=True, return_counts=True)
        some = by_slot.in_sequence(unique)
        where = np.argsort(some, kind="stable")[at]
        column = np.empty(len(cells), dtype=np.int64)
        skipped = np.repeat(np.cumsum(n_here) - n_here, n_here)
        column[np.argsort(at, kind="stable")] = np.arange(len(cells)) - skipped
        own = np.full((len(some), n_here.max()), -1, dtype=np.int32)
        own[where, column] = candidates
        judged = self._judge(by_slot, near, some, own, None, are_kept=True)
        return Measured(
            values=judged.values,
            places=judged.starts[where] + column,
            steps=n_here[at],
            changes=judged.changes[where, column],
            gains=judged.gains[where, column],
        )

    def _make_moves(
        self, by_slot: RowsBySlot, near: Near, proposals: Proposals, least: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Move prototypes to the candidates that lower the cost by ``least``; update ``near``.

        Return which slots have moved, and which of these to another cell.
        """
        judged, k, feasibility = self.judged, len(self.prototypes), self._feasibility
        losses = judged.losses(near, k)
        order = np.argsort(losses, kind="stable")
        order = order[~self._is_fixed[order]]
        moved = np.full(k, -1, dtype=np.int64)

        def worth_adding(gains: Doubles) -> Ids:
            best = np.argsort(-gains, kind="stable")[: len(order)]
            return best[gains[best] > losses[order[: len(best)]] + least]

        def worth_replacing(changes: Doubles) -> Ids:
            best = np.argsort(changes, kind="stable")
            return best[changes[best] < -least]

        # First by the estimates, then by what was measured.
        added = worth_adding(proposals.gains)
        replaced = worth_replacing(np.where(self._is_fixed, np.inf, proposals.changes))
        cells = np.concatenate([proposals.cells[added], replaced])
        candidates = np.concatenate([proposals.additions[added], proposals.replacements[replaced]])
        if len(cells) == 0:
            return moved >= 0, moved >= 0
        # Of cells with several additions, no more are measured than of two per cell.
        n_measured = np.cumsum(np.diff(by_slot.starts)[cells])
        n_made = np.searchsorted(n_measured, 2 * judged.slots.size, side="right")
        added, replaced = added[:n_made], replaced[: max(0, n_made - len(added))]
        cells, candidates = cells[:n_made], candidates[:n_made]
        measured = self._measured(by_slot, near, cells, candidates)
        n = len(added)
        added, replaced = worth_adding(measured.gains[:n]), worth_replacing(measured.changes[n:])
        made = np.concatenate([added, n + replaced])
        cells, sources = cells[made], self.pool.ids[candidates[made]]
        leaving = np.where(made < n, -1, cells)
        is_taken = np.zeros(len(self.oracle.problem.source), dtype=bool)
        is_taken[self.prototypes] = True
        kernels.make_moves(
            cells,
            leaving,
            measured.gains[made],
            sources,
            feasibility.groups[sources],
            measured.values,
            measured.places[made],
            measured.steps[made],
            order,
            losses,
            by_slot.starts,
            by_slot.rows,
            judged.weights,
            least,
            self._is_fixed,
            feasibility.least,
            feasibility.most,
            feasibility.groups[self.prototypes],
            feasibility.counts(self.prototypes),
            is_taken,
            *near,
            judged.slots,
            judged.gaps,
            moved,
        )
        judged.settle(near, moved, len(added))
        has_moved = moved >= 0
        self.prototypes[has_moved] = sources[moved[has_moved]]
        return has_moved, has_moved & (moved < len(added))


@dataclass(frozen=True, eq=False)
class Proposals:
    """Candidates to add to ``cells``, and for each cell the best to replace its prototype.

    Candidates are positions in the pool. ``gains`` and ``changes`` of the cost are estimates.
    """

    cells: Ids
    additions: Ids
    gains: Doubles
    replacements: Ids
    changes: Doubles


@dataclass(frozen=True, kw_only=True, eq=False)
class Judgements:
    """Candidates of cells, judged on rows: one row of ``changes`` and ``gains`` per cell.

    ``values`` are the distances, if they are kept. Those of a cell begin at ``starts``, one line
    per row that judges.
    """

    changes: Doubles
    gains: Doubles
    values: Floats
    starts: Ids


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Candidates judged on all rows that know their cell.

    ``values`` are distances; those of candidate i are at ``places[i]``, then ``steps[i]`` places
    further, and so on. ``changes`` and ``gains`` are those of the cost if it replaces the prototype
    of its cell, or if it is added.
    """

    values: Floats
    places: Ids
    steps: Ids
    changes: Doubles
    gains: Doubles
