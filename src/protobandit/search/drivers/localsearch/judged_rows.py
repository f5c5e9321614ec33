"""The target rows on which moves are judged, each with a list of its nearest prototypes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels import cells as kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.patches import Patches

_CELLS = 256  # cells of one task
_ROWS = 1 << 13  # of one patch

Positions = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RowsBySlot:
    """Rows grouped by the slots in their lists, as `kernels.cells` describes them."""

    starts: Ids
    rows: Positions
    n_own: Ids

    def ranges(self, cells: Ids) -> tuple[Ids, Ids]:
        """Return where the rows with these slots in their lists begin and end."""
        return self.starts[cells], self.starts[cells + 1]

    def own_ranges(self, cells: Ids) -> tuple[Ids, Ids]:
        """Return where the rows of these cells begin and end."""
        return self.starts[cells], self.starts[cells] + self.n_own[cells]

    @classmethod
    def of(cls, slots: Positions, k: int) -> RowsBySlot:
        """Return the rows with these lists, grouped."""
        starts, n_own = np.empty(k + 1, dtype=np.int64), np.empty(k, dtype=np.int64)
        rows = np.empty(slots.size, dtype=np.int32)
        kernels.group_by_slot(np.ascontiguousarray(slots), starts, rows, n_own)
        return cls(starts, rows, n_own)


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
    """

    oracle: Oracle
    ids: Ids
    weights: Doubles
    targets: Operand
    slots: Positions
    gaps: Floats
    total: float = field(init=False)

    def __post_init__(self) -> None:
        self.total = float(self.weights.sum())

    @classmethod
    def assigned(
        cls, oracle: Oracle, ids: Ids, weights: Doubles, prototypes: Ids, n_near: int
    ) -> JudgedRows:
        """Return rows with exact lists of ``n_near`` prototypes, ordered by cell."""
        slots, gaps = nearest_lists(oracle, ids, prototypes, n_near)
        # Rows of a cell are read together, so they lie together in memory.
        order = np.argsort(slots[:, 0], kind="stable")
        ids = ids[order]
        return cls(oracle, ids, weights[order], oracle.targets(ids), slots[order], gaps[order])

    @property
    def cost(self) -> float:
        """Return the weighted mean distance to the first prototype of each list."""
        return float(self.weights @ self.gaps[:, 0]) / self.total

    def losses(self, k: int) -> Doubles:
        """Return by how much the summed cost rises if each prototype is removed."""
        near, D = self.slots[:, 0], self.gaps[:, 0].astype(np.float64)
        if self.gaps.shape[1] == 1:
            return np.full(k, np.inf)
        rise = np.where(self.weights > 0, self.gaps[:, 1] - D, 0.0)
        return np.bincount(near, self.weights * rise, minlength=k)

    def common_slots(self, own: RowsBySlot, width: int) -> Positions:
        """Return for each slot itself and the slots most frequent in the lists of its cell."""
        k = len(own.n_own)
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

        self.oracle.share(fill, cuts(k, max(_CELLS, -(-k // 64))), self.slots.size * 8)
        return out

    def refresh(self, sources: Operand, moved: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
        """Insert prototypes into lists that may miss them; return which cells have changed.

        The prototypes near a cell are those in the lists of its rows. Of these, the ones that have
        moved are compared with its rows; all are, if its own prototype has moved or if a list has
        an empty place. Then all distances in lists remain those of current prototypes.
        """
        own = RowsBySlot.of(self.slots[:, :1], len(moved))
        common = self.common_slots(own, width)
        is_there = common >= 0
        has_moved = is_there & moved[common]
        is_short = np.bincount(self.slots[:, 0], np.isinf(self.gaps[:, -1]), minlength=len(moved))
        is_whole = moved | (is_short > 0)
        wanted = is_there & (has_moved | is_whole[:, None])
        wanted[:, 0] = False
        n_wanted = wanted.sum(axis=1)
        cells = np.flatnonzero((n_wanted > 0) & (own.n_own > 0))
        wanted[own.n_own == 0] = False
        patches, _ = row_patches(own.rows, own.own_ranges(cells), common[wanted], n_wanted[cells])
        self.insert(patches, sources)
        return np.asarray(has_moved.any(axis=1) | moved)

    def insert(self, patches: Patches, sources: Operand) -> None:
        """Compare rows with prototypes and insert those that are nearer than the lists have."""

        def visit(values: Floats, at: Ids, run: slice) -> None:
            begin = patches.begin[run]
            # One candidate range per patch; the kernel reads them as consecutive places.
            kernels.insert_patches(
                values,
                at[:-1],
                patches.first[run],
                patches.last[run],
                patches.row_ids,
                patches.candidate_ids,
                begin,
                patches.end[run],
                self.slots,
                self.gaps,
            )

        self.oracle.visit_patches(patches, self.targets, sources, visit)


def nearest_lists(oracle: Oracle, ids: Ids, prototypes: Ids, n_near: int) -> tuple[Positions, Floats]:
    """Return the nearest prototypes of each row and their distances, by comparing with all."""
    n_near = min(n_near, len(prototypes))
    slots = np.empty((len(ids), n_near), dtype=np.int32)
    gaps = np.empty((len(ids), n_near), dtype=oracle.dtype)

    def visit(block: Floats, cut: slice) -> None:
        kernels.insert_block(block, slots[cut], gaps[cut])

    is_whole = len(ids) == len(oracle.problem.target) and (np.diff(ids) == 1).all()
    oracle.each_chunk(prototypes, visit, None if is_whole else ids)
    return slots, gaps


def row_patches(
    rows: Positions, ranges: tuple[Ids, Ids], candidates: Positions, n_candidates: Ids
) -> tuple[Patches, Ids]:
    """Return patches that compare ranges of rows with candidates.

    ``ranges`` are the first and last positions in ``rows``; ``candidates`` are those of all ranges,
    one after the other, ``n_candidates`` their numbers. Long ranges are cut into pieces; the second
    result is the range of each patch.
    """
    first, last = ranges
    ends = np.cumsum(n_candidates)
    n_pieces = np.maximum(1, -(-(last - first) // _ROWS))
    which = np.repeat(np.arange(len(first)), n_pieces)
    piece = np.arange(len(which)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    start = first[which] + piece * _ROWS
    stop = np.minimum(start + _ROWS, last[which])
    return Patches(rows, start, stop, candidates, (ends - n_candidates)[which], ends[which]), which
