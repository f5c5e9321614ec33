"""The source rows that may become prototypes, each in the cell whose prototype it may replace.

Where source and target are the same rows, the judged rows are source rows, and their lists say to
which cell they belong. Otherwise a source row belongs to the cell whose *representative* it is
nearest to: the judged row of the cell that is nearest to its prototype. So only dissimilarities of
a target row and a source row are needed, which every metric has.

To compare many source rows with all of many cells takes longer than the passes on few judged rows.
Then a row is compared with the representatives of some cells, next with those of the cells around
the nearest, and so on while it finds nearer ones: about 4 sqrt(k) + 60 evaluations instead of k.
One row in 40 ends in a cell that is not the nearest (3 x 10^5 rows, k = 1,000). Only candidates
depend on it. The times and costs of both ways are in `schedule`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.metrics.operands import Operand
from protobandit.oracle.patches import Patches
from protobandit.oracle.tasks import TILE
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.lists import (
    Positions,
    RowsBySlot,
    insert,
    row_patches,
)
from protobandit.search.drivers.localsearch.schedule import MOST_STEPS, n_first_cells

_ROWS = 1 << 11  # of one patch
_VISITED = 1 << 17  # distances to all cells that are computed at once


class Pool(Protocol):
    """Source rows that may become prototypes."""

    @property
    def is_held(self) -> bool:
        """Return whether the rows are in memory."""
        ...

    @property
    def ids(self) -> Ids:
        """Return the source rows."""
        ...

    @property
    def slots(self) -> Positions:
        """Return the slot of the cell of each row."""
        ...

    @property
    def gaps(self) -> Floats:
        """Return how far each row is from its cell."""
        ...

    @property
    def weights(self) -> Doubles | float:
        """Return how much a distance counts where rows are drawn."""
        ...

    def by_cell(self, judged: RowsBySlot) -> RowsBySlot:
        """Return the rows of each cell; ``judged`` are the judged rows by slot."""
        ...

    def update(
        self, is_active: NDArray[np.bool_], relocated: NDArray[np.bool_], before: Positions
    ) -> None:
        """Assign rows to cells again, after the cells ``is_active`` have changed.

        The prototypes of slots ``relocated`` have left their cells, which have gone to their
        neighbours; ``before`` were the common slots then.
        """
        ...

    def operand(self, positions: Positions) -> tuple[Operand, Positions]:
        """Return an operand that has these rows of the pool, and their positions in it."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the arrays from which the pool can be made again, as they are now."""
        ...


class JudgedPool:
    """The judged rows, where these are source rows."""

    is_held = True

    def __init__(self, judged: JudgedRows) -> None:
        self._judged = judged

    @property
    def ids(self) -> Ids:
        return self._judged.ids

    @property
    def slots(self) -> Positions:
        return self._judged.slots[:, 0]

    @property
    def gaps(self) -> Floats:
        return self._judged.gaps[:, 0]

    @property
    def weights(self) -> Doubles | float:
        return self._judged.weights

    def by_cell(self, judged: RowsBySlot) -> RowsBySlot:
        return judged

    def update(
        self, is_active: NDArray[np.bool_], relocated: NDArray[np.bool_], before: Positions
    ) -> None:
        pass

    def operand(self, positions: Positions) -> tuple[Operand, Positions]:
        return self._judged.targets, positions

    def state(self) -> dict[str, Any]:
        return {}


class SourcePool:
    """Source rows that are not judged rows.

    Parameters
    ----------
    ids
        The source rows.
    k
        The number of slots.
    is_held
        Whether the rows are kept in memory. Otherwise the source is read once per pass.
    is_descending
        Whether rows that are in memory find their cells without being compared with all.
    """

    def __init__(
        self, judged: JudgedRows, ids: Ids, k: int, *, is_held: bool, is_descending: bool = False
    ) -> None:
        self._judged, self._k = judged, k
        self._is_descending = is_descending and is_held
        self._ids = ids
        self._held = judged.oracle.many_sources(ids) if is_held else None
        self._slots = np.zeros((len(ids), 1), dtype=np.int32)
        self._gaps = np.empty((len(ids), 1), dtype=judged.oracle.dtype)
        self._is_stale = True

    @property
    def is_held(self) -> bool:
        return self._held is not None

    @property
    def ids(self) -> Ids:
        return self._ids

    @property
    def slots(self) -> Positions:
        if self._is_stale:
            self._assign()
        return self._slots[:, 0]

    @property
    def gaps(self) -> Floats:
        if self._is_stale:
            self._assign()
        return self._gaps[:, 0]

    @property
    def weights(self) -> Doubles | float:
        return 1.0  # only target rows have weights

    def by_cell(self, judged: RowsBySlot) -> RowsBySlot:
        return RowsBySlot.of(self._judged.oracle, self.slots[:, None], self._k)

    def operand(self, positions: Positions) -> tuple[Operand, Positions]:
        if self._held is not None:
            return self._held, positions
        some, at = np.unique(positions, return_inverse=True)
        return self._judged.oracle.sources(self._ids[some]), at.astype(np.int32)

    def state(self) -> dict[str, Any]:
        gaps = np.full_like(self._gaps, np.nan) if self._is_stale else self._gaps.copy()
        return {"ids": self._ids, "slots": np.maximum(self._slots, 0), "gaps": gaps}

    def restore(self, slots: Positions, gaps: Floats) -> None:
        """Set the cells of an earlier run; NaN says that they had not been found yet."""
        self._slots, self._gaps = slots.copy(), gaps.copy()
        self._is_stale = bool(np.isnan(gaps).any())

    def _assign(self) -> None:
        """Find the cells of all rows of the pool."""
        self._is_stale = False
        if self._is_descending:
            self._descend()
        else:
            self._compare_all()

    def _compare_all(self) -> None:
        """Compare all rows of the pool with the representatives of all cells."""
        cells, rows = self._judged.representatives(self._k)

        def visit(block: Floats, tile: slice) -> None:
            nearest = block.argmin(axis=1)
            self._slots[tile, 0] = cells[nearest]
            self._gaps[tile, 0] = block[np.arange(len(block)), nearest]

        targets = self._judged.targets.take(rows.astype(np.int64))
        sources = self._ids if self._held is None else self._held
        size = max(TILE, _VISITED // max(1, len(rows)))
        self._judged.oracle.visit(sources, targets, visit, size)

    def _descend(self) -> None:
        """Compare rows with some cells, and then go on to nearer ones around."""
        cells, rows = self._judged.representatives(self._k)
        # Judged rows of neighbouring cells lie together, so these are spread over all of them.
        spread = np.argsort(rows, kind="stable")[:: max(1, len(cells) // n_first_cells(self._k))]
        n = len(self._ids)
        first = np.arange(0, n, _ROWS)
        patches = Patches(
            row_ids=np.arange(n, dtype=np.int32),
            first=first,
            last=np.append(first[1:], n),
            candidate_ids=rows[spread],
            begin=np.zeros(len(first), dtype=np.int64),
            end=np.full(len(first), len(spread)),
        )
        self._slots[:], self._gaps[:] = -1, np.inf
        self._insert(patches, cells[spread].astype(np.int32))
        representative = self._representatives(cells, rows)
        has_moved = np.ones((n, 1), dtype=bool)
        for _ in range(MOST_STEPS):
            before = self._slots.copy()
            own = RowsBySlot.of(self._judged.oracle, np.where(has_moved, before, -1), self._k)
            patches, slots, _ = self._around(own, representative, np.ones(self._k, dtype=bool))
            self._insert(patches, slots)
            has_moved = self._slots != before
            if not has_moved.any():
                break

    def _representatives(self, cells: Ids, rows: Positions) -> Positions:
        """Return the representative of each slot, or -1."""
        representative = np.full(self._k, -1, dtype=np.int32)
        representative[cells] = rows
        return representative

    def _around(
        self, own: RowsBySlot, representative: Positions, is_active: NDArray[np.bool_]
    ) -> tuple[Patches, Positions, Ids]:
        """Return patches that compare the rows of active cells with their and the cells around.

        The other results are the slots of these cells, and the active cells that have any.
        """
        common = self._judged.common
        is_served = (common >= 0) & (representative[common] >= 0)
        wanted = np.asarray(is_served & (is_active & (own.n_own > 0))[:, None])
        cells = np.flatnonzero(wanted.any(axis=1))
        slots = common[wanted]
        n_wanted = wanted.sum(axis=1)[cells]
        patches, _ = row_patches(own.rows, own.own_ranges(cells), representative[slots], n_wanted)
        return patches, slots, cells

    def _insert(self, patches: Patches, slots: Positions) -> None:
        """Let rows go to those of the cells ``slots`` that are nearer."""
        judged, held = self._judged, self._held
        assert held is not None, "rows that are read in blocks are compared with all cells"
        places = slots, self._slots, self._gaps
        insert(judged.oracle, patches, held, judged.targets, *places, are_targets=False)

    def update(
        self, is_active: NDArray[np.bool_], relocated: NDArray[np.bool_], before: Positions
    ) -> None:
        if self._held is None or self._is_stale:
            self._is_stale = True  # the source is read when the next pass needs it
            return
        representative = self._representatives(*self._judged.representatives(self._k))
        if before.shape[1] > 1:
            is_left = (relocated | (representative < 0)) & (before[:, 1] >= 0)
            heir = np.where(is_left, before[:, 1], np.arange(self._k))
            self._slots[:, 0] = heir[self._slots[:, 0]]
            is_active = is_active | np.isin(np.arange(self._k), heir[is_left])
        own = RowsBySlot.of(self._judged.oracle, self._slots, self._k)
        patches, slots, active = self._around(own, representative, is_active)
        has_changed = np.isin(self._slots[:, 0], active)
        self._slots[has_changed], self._gaps[has_changed] = -1, np.inf
        self._insert(patches, slots)
