"""The target rows on which moves are judged, each with a list of its nearest prototypes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels import cells as kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.search.drivers.localsearch.lists import (
    READ_WORK,
    Positions,
    RowsBySlot,
    cell_ranks,
    in_order,
    insert,
    nearest_lists,
    row_patches,
)
from protobandit.search.drivers.localsearch.prototype_index import (
    LEAST_PROTOTYPES,
    can_index,
    indexed_lists,
)

_CELLS, _ROWS = 256, 8192  # of one task

# The first and second slots of lists, and the distances to them.
Near: TypeAlias = tuple[Positions, Positions, Floats, Floats]


@dataclass(eq=False)
class JudgedRows:
    """Target rows with their weights and lists of near prototypes.

    Attributes
    ----------
    ids
        The target rows.
    weights
        Their weights.
    targets
        Their operand.
    slots, gaps
        The lists: numbers of prototypes, and the distances to them, ascending.
    common
        For each slot itself and the slots most frequent in the lists of its cell, then -1.
    """

    oracle: Oracle
    ids: Ids
    weights: Doubles
    targets: Operand
    slots: Positions
    gaps: Floats
    common: Positions = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))

    @classmethod
    def assigned(
        cls,
        oracle: Oracle,
        ids: Ids,
        weights: Doubles,
        prototypes: Ids,
        n_near: int,
        random: np.random.Generator,
    ) -> JudgedRows:
        """Return rows with lists of ``n_near`` prototypes.

        The lists are found by an index if there are many prototypes, and are exact otherwise. Rows
        of a cell follow each other, then those of a neighbouring cell: what is read for one cell
        is still in cache when its neighbours are judged.
        """
        k = len(prototypes)
        is_indexed = k >= LEAST_PROTOTYPES and can_index(oracle.problem.metric)
        if is_indexed:
            targets = oracle.targets(ids)
            slots, gaps = indexed_lists(oracle, targets, prototypes, n_near, random)
        else:
            slots, gaps = nearest_lists(oracle, ids, prototypes, n_near)
        order = RowsBySlot.of(oracle, cell_ranks(slots, k)[slots[:, :1]], k).rows.astype(np.int64)
        targets = targets.take(order) if is_indexed else oracle.many_targets(ids[order])
        ids, weights, slots, gaps = in_order(oracle, order, ids, weights, slots, gaps)
        return cls(oracle, ids, weights, targets, slots, gaps)

    @property
    def near(self) -> Near:
        """Return the first and second slots of the lists, and the distances to them.

        They are copies that lie together in memory: kernels read them in any order.
        """
        slots, gaps = self.slots, self.gaps
        if gaps.shape[1] == 1:
            nothing, infinity = np.full_like(slots, -1), np.full_like(gaps, np.inf)
            slots, gaps = np.hstack([slots, nothing]), np.hstack([gaps, infinity])
        served, second = slots[:, :2].T.copy()
        D, E = gaps[:, :2].T.copy()
        return served, second, D, E

    @property
    def summed(self) -> float:
        """Return the weighted sum of the distances to the first prototypes of the lists."""
        return float(self.weights @ self.gaps[:, 0])

    @property
    def cost(self) -> float:
        """Return the weighted mean of these distances."""
        return self.summed / float(self.weights.sum())

    def losses(self, near: Near, k: int) -> Doubles:
        """Return by how much the summed cost rises if each prototype is removed."""
        served, _, D, E = near
        if self.gaps.shape[1] == 1:
            return np.full(k, np.inf)
        rise = np.subtract(E, D, dtype=np.float64)
        if not self.weights.all():  # the second prototype may be missing
            rise[self.weights == 0] = 0.0
        rise *= self.weights
        return np.bincount(served, rise, minlength=k).astype(np.float64)

    def representatives(self, k: int) -> tuple[Ids, Positions]:
        """Return the slots whose cells have rows, and the row of each nearest to its prototype."""
        near, gaps = self.slots[:, 0], self.gaps[:, 0]
        least = np.full(k, np.inf)
        np.minimum.at(least, near, gaps)
        rows = np.flatnonzero(gaps == least[near])[::-1]
        first = np.full(k, -1, dtype=np.int32)
        first[near[rows]] = rows  # of equal ones the first
        cells = np.flatnonzero(first >= 0)
        return cells, first[cells]

    def settle(self, near: Near, moved: Ids, n_relocations: int) -> None:
        """Bring the lists up to date after moves; slots ``near`` come first."""

        def fill(cut: slice) -> None:
            first_two = (array[cut] for array in near)
            kernels.settle_lists(moved, n_relocations, *first_two, self.slots[cut], self.gaps[cut])

        self.oracle.share(fill, cuts(len(self.slots), _ROWS), READ_WORK * self.slots.size)

    def rehouse(self, sources: Operand, before: Positions, served: Positions) -> None:
        """Let the slots ``before`` serve rows without ``served`` again, wherever they are now.

        All prototypes near a row without weight may leave in one pass.
        """
        left = np.flatnonzero(served < 0)
        if len(left) == 0:
            return
        cells, n_left = np.unique(before[left], return_counts=True)
        rows = left[np.argsort(before[left], kind="stable")].astype(np.int32)
        ends, slots = np.cumsum(n_left), cells.astype(np.int32)
        patches, _ = row_patches(rows, (ends - n_left, ends), slots, np.ones_like(cells))
        insert(self.oracle, patches, self.targets, sources, slots, self.slots, self.gaps)

    def replace_slots(
        self, sources: Operand, moved: NDArray[np.bool_], slots: Ids, cells: Positions
    ) -> None:
        """Let slots that served no row, those ``moved``, serve rows of other cells.

        Each of ``slots`` is compared with the rows of its new cell.
        """
        for cut in cuts(len(self.slots), _ROWS):
            known, gaps = self.slots[cut], self.gaps[cut]
            is_left = (known >= 0) & moved[known]
            known[is_left], gaps[is_left] = -1, np.inf
            order = np.argsort(is_left, axis=1, kind="stable")
            known[:] = np.take_along_axis(known, order, axis=1)
            gaps[:] = np.take_along_axis(gaps, order, axis=1)
        own = RowsBySlot.of(self.oracle, self.slots[:, :1], len(moved))
        order = np.argsort(cells, kind="stable")
        some, n_there = np.unique(cells, return_counts=True)
        in_order = slots[order].astype(np.int32)
        patches, _ = row_patches(own.rows, own.own_ranges(some.astype(np.int64)), in_order, n_there)
        insert(self.oracle, patches, self.targets, sources, in_order, self.slots, self.gaps)

    def refresh(self, sources: Operand, moved: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
        """Insert prototypes that have moved into the lists; return which cells have changed.

        The prototypes near a cell are those in the lists of its rows. Of these, the ones that have
        moved are compared with its rows; all are, if its own prototype has moved or if a list is
        half empty.
        """
        own = self.find_common(len(moved), width)
        is_there = self.common >= 0
        has_moved = is_there & moved[self.common]
        is_short = self._drop_unknown(len(moved))
        wanted = is_there & (has_moved | (moved | is_short)[:, None])
        wanted[:, 0] = False
        wanted[own.n_own == 0] = False
        cells = own.in_sequence(np.flatnonzero(wanted.any(axis=1)))
        n_wanted = wanted.sum(axis=1)[cells]
        slots = self.common[cells][wanted[cells]]
        patches, _ = row_patches(own.rows, own.own_ranges(cells), slots, n_wanted)
        insert(self.oracle, patches, self.targets, sources, slots, self.slots, self.gaps)
        return np.asarray(has_moved.any(axis=1) | moved)

    def _drop_unknown(self, k: int) -> NDArray[np.bool_]:
        """Remove slots at an infinite distance: they have moved, and are inserted again.

        Return the slots that serve a row whose list was half empty before.
        """
        is_short, middle = np.zeros(k, dtype=bool), self.slots.shape[1] // 2

        def fill(cut: slice) -> None:
            slots = self.slots[cut]
            is_short[slots[slots[:, middle] < 0, 0]] = True
            np.copyto(slots, -1, where=np.isinf(self.gaps[cut]))

        self.oracle.share(fill, cuts(len(self.slots), _ROWS), READ_WORK * self.slots.size)
        return is_short

    def find_common(self, k: int, width: int) -> RowsBySlot:
        """Find the slots most frequent in the lists of each cell; return the rows by cell."""
        own = RowsBySlot.of(self.oracle, self.slots[:, :1], k)
        out = np.empty((k, min(width, k)), dtype=np.int32)

        def fill(cut: slice) -> None:
            kernels.common_slots(
                own.starts[cut.start : cut.stop + 1],
                own.rows,
                own.n_own[cut],
                self.slots,
                cut.start,
                np.zeros(k, dtype=np.int32),
                np.empty(k, dtype=np.int32),
                out[cut],
            )

        n_cells = max(_CELLS, -(-k // 64))
        self.oracle.share(fill, cuts(k, n_cells), READ_WORK * self.slots.size)
        self.common = out
        return own
