"""Local search over cells: moves of single prototypes, judged on the rows near them.

Theory of operation
-------------------
Every judged row has a list of its nearest prototypes (`JudgedRows`). One pass

1. draws candidates for every cell: source rows near its prototype, and rows drawn in proportion to
   weight times distance, so that far rows are noticed;
2. judges each candidate on the rows that have the cell's prototype in their list: by how much the
   cost changes if the candidate replaces the prototype, or if it is added;
3. moves prototypes: first those whose removal costs least to the best additions, then the best
   replacements. Before a move is made it is judged again on the lists as they then are, so every
   move lowers the cost; rows that do not know the candidate can only lower it further;
4. compares the rows of the cells around with the prototypes that have moved.

Nothing of the size |S| x rows is kept: distances are computed in blocks that stay in cache, summed
and dropped. A pass costs (candidates per cell) x (length of lists) evaluations per judged row,
whatever k. Steps 1, 2 and 4 work on fixed blocks of cells in parallel; step 3 is serial. So the
result has the same bits on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import cells as kernels
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.patches import Patches
from protobandit.problem.feasibility import Feasibility
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.lists import Positions, RowsBySlot, row_patches
from protobandit.search.drivers.localsearch.pools import Pool
from protobandit.search.drivers.localsearch.schedule import Width

LEAST_GAIN = 1e-7  # of the cost: smaller changes are rounding


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

    @property
    def is_partial(self) -> bool:
        """Return whether the next pass leaves out cells, those around which nothing has changed."""
        return not self._is_active.all()

    def state(self) -> dict[str, Any]:
        """Return the arrays from which the search can be made again, as they are now."""
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
        judged, k = self.judged, len(self.prototypes)
        before, common = judged.summed, judged.common
        by_slot = RowsBySlot.of(judged.slots, k)
        moved, relocated = self._make_moves(by_slot, self.proposals(by_slot))
        n_moves = int(moved.sum())
        self._is_active = np.ones(k, dtype=bool)
        if n_moves:
            sources = self.oracle.sources(self.prototypes)
            self._is_active = judged.refresh(sources, moved, self.width.n_common)
            self.pool.update(self._is_active, relocated, common)
        return (1 - judged.summed / before if before > 0 else 0.0), n_moves

    def _candidates(self) -> Positions:
        k, width = len(self.prototypes), self.width
        own = RowsBySlot.of(self.pool.slots[:, None], k)
        own.n_own[~self._is_active] = 0
        is_open = np.ones(len(self.oracle.problem.source), dtype=bool)
        is_open[self.prototypes] = False
        out = np.empty((k, width.n_candidates), dtype=np.int32)
        shares = np.sort(self._random.random((k, width.n_drawn)), axis=1)
        gaps = np.ascontiguousarray(self.pool.gaps)
        scores = self._scores(own, gaps)
        kernels.candidates(
            own.starts,
            own.rows,
            own.n_own,
            scores,
            gaps.astype(np.float64),
            is_open[self.pool.ids],
            shares,
            np.zeros(len(self.pool.ids), dtype=bool),
            out,
        )
        return out

    def _scores(self, own: RowsBySlot, gaps: Floats) -> Floats:
        """Return how central each row of the pool is in its cell: smaller is better.

        In a cell with more rows than candidates, it is the mean distance to a few judged rows.
        """
        width, judged = self.width, self.judged
        cells = np.flatnonzero(own.n_own > width.n_candidates)
        scores = gaps.copy()
        there = RowsBySlot.of(judged.slots[:, :1], len(self.prototypes))
        cells = cells[there.n_own[cells] > 0]
        if len(cells) == 0:
            return scores
        n = there.n_own[cells]
        at = self._random.integers(n[:, None], size=(len(cells), width.n_probes))
        probes = there.rows[there.starts[cells][:, None] + at].ravel()
        operand, positions = self.pool.operand(own.rows)
        n_probes = np.full(len(cells), width.n_probes)
        patches, _ = row_patches(positions, own.own_ranges(cells), probes, n_probes)

        def visit(values: Floats, at: Ids, run: slice) -> None:
            sums = values.reshape(-1, width.n_probes).sum(axis=1)
            n_rows = patches.last[run] - patches.first[run]
            ends = np.cumsum(n_rows)
            for begin, end, first in zip(ends - n_rows, ends, patches.first[run], strict=True):
                scores[own.rows[first : first + end - begin]] = sums[begin:end]

        self.oracle.visit_patches(patches, operand, judged.targets, visit, are_targets=False)
        return scores

    def proposals(self, by_slot: RowsBySlot) -> Proposals:
        """Return for each cell the best candidate to replace its prototype and the best to add."""
        judged, k = self.judged, len(self.prototypes)
        drawn = self._candidates()
        n_drawn = (drawn >= 0).sum(axis=1)
        cells = np.flatnonzero(n_drawn)
        operand, positions = self.pool.operand(drawn[drawn >= 0])
        patches, which = row_patches(by_slot.rows, by_slot.ranges(cells), positions, n_drawn[cells])
        shape = len(patches), self.width.n_candidates
        changes, gains = np.zeros(shape), np.zeros(shape)
        best = np.empty((len(patches), 2), dtype=np.int32)
        is_open = self._may_replace(drawn, cells)
        proposals = Proposals(
            additions=np.full(k, -1),
            gains=np.zeros(k),
            replacements=np.full(k, -1),
            changes=np.zeros(k),
            values=np.empty((2, len(by_slot.rows)), dtype=self.oracle.dtype),
        )

        def visit(values: Floats, at: Ids, run: slice) -> None:
            place = at[:-1], patches.first[run], patches.last[run]
            n_candidates = patches.end[run] - patches.begin[run]
            kernels.judge(
                values,
                *place,
                cells[which[run]],
                by_slot.rows,
                judged.slots,
                judged.gaps,
                judged.weights,
                n_candidates,
                changes[run],
                gains[run],
            )
            if is_open is not None:
                changes[run][~is_open[which[run]]] = np.inf
            kept = proposals.values
            kernels.keep_best(
                values, *place, changes[run], gains[run], n_candidates, best[run], *kept
            )

        self.oracle.visit_patches(patches, judged.targets, operand, visit)
        if len(cells) == 0:
            return proposals
        firsts = np.searchsorted(which, np.arange(len(cells)))
        every = np.arange(len(cells))
        changes = np.add.reduceat(changes, firsts, axis=0)
        gains = np.add.reduceat(gains, firsts, axis=0)
        n_pieces = np.bincount(which, minlength=len(cells))
        is_padding = np.arange(shape[1]) >= n_drawn[cells][:, None]
        changes[is_padding], gains[is_padding] = np.inf, -np.inf
        add, replace = gains.argmax(axis=1), changes.argmin(axis=1)
        proposals.additions[cells] = drawn[cells, add]
        proposals.replacements[cells] = drawn[cells, replace]
        proposals.gains[cells], proposals.changes[cells] = (
            gains[every, add],
            changes[every, replace],
        )
        self._measure_again(by_slot, proposals, cells[n_pieces > 1])
        return proposals

    def _may_replace(self, drawn: Positions, cells: Ids) -> NDArray[np.bool_] | None:
        """Return which candidates may replace the prototype of their cell; None if all may."""
        feasibility = self._feasibility
        if feasibility.is_free:
            return None
        allowed = feasibility.allowed(self.prototypes)
        groups = feasibility.groups[self.pool.ids[drawn[cells]]]
        return allowed[groups, cells[:, None]]

    def _measure_again(self, by_slot: RowsBySlot, proposals: Proposals, cells: Ids) -> None:
        """Compute the distances of the best candidates of cells that were judged in pieces."""
        for chosen, out in (
            (proposals.additions, proposals.values[0]),
            (proposals.replacements, proposals.values[1]),
        ):
            operand, positions = self.pool.operand(chosen[cells].astype(np.int32))
            ones = np.ones(len(cells), dtype=np.int64)
            patches, _ = row_patches(by_slot.rows, by_slot.ranges(cells), positions, ones)

            def visit(
                values: Floats, at: Ids, run: slice, patches: Patches = patches, out: Floats = out
            ) -> None:
                for p in range(run.start, run.stop):
                    here = slice(at[p - run.start], at[p - run.start + 1])
                    out[patches.first[p] : patches.last[p]] = values[here]

            self.oracle.visit_patches(patches, self.judged.targets, operand, visit)

    def _make_moves(
        self, by_slot: RowsBySlot, proposals: Proposals
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Move prototypes to the candidates that lower the cost.

        Return which slots have moved, and which of these to another cell.
        """
        judged, k, feasibility = self.judged, len(self.prototypes), self._feasibility
        least = LEAST_GAIN * judged.summed
        losses = judged.losses(k)
        order = np.argsort(losses, kind="stable")
        order = order[~self._is_fixed[order]]
        gains, changes = proposals.gains, proposals.changes
        added = np.argsort(-gains, kind="stable")[: len(order)]
        added = added[gains[added] > losses[order[: len(added)]] + least]
        replaced = np.argsort(changes, kind="stable")
        replaced = replaced[(changes[replaced] < -least) & ~self._is_fixed[replaced]]
        cells = np.concatenate([added, replaced])
        moved = np.full(k, -1, dtype=np.int64)
        candidates = np.concatenate([proposals.additions[added], proposals.replacements[replaced]])
        sources = self.pool.ids[candidates]
        n_rows = len(by_slot.rows)
        is_taken = np.zeros(len(self.oracle.problem.source), dtype=bool)
        is_taken[self.prototypes] = True
        kernels.make_moves(
            cells,
            np.concatenate([np.full(len(added), -1), replaced]),
            gains[cells],
            sources,
            feasibility.groups[sources],
            proposals.values.ravel(),
            by_slot.starts[cells] + np.repeat([0, n_rows], [len(added), len(replaced)]),
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
            judged.slots,
            judged.gaps,
            moved,
        )
        has_moved = moved >= 0
        self.prototypes[has_moved] = sources[moved[has_moved]]
        return has_moved, has_moved & (moved < len(added))


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposals:
    """For each cell the best candidate to add and the best to replace its prototype.

    Candidates are positions in the pool. ``values`` are the distances of the rows of a cell to
    both, at the positions of these rows in `RowsBySlot`.
    """

    additions: Ids
    gains: Doubles
    replacements: Ids
    changes: Doubles
    values: Floats
