"""Lists of near prototypes, grouped by slot, and the patches in which they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels import cells as kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.patches import Patches

_ROWS = 1 << 13  # of one patch
_GROUPED, _PIECES = 1 << 14, 16  # least rows that one task groups, most tasks
READ_WORK = 32  # multiplications in the time of one number that is read in any order

Positions: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RowsBySlot:
    """Rows grouped by the slots in their lists, as `kernels.cells` describes them."""

    starts: Ids
    rows: Positions
    n_own: Ids

    @classmethod
    def of(cls, oracle: Oracle, slots: Positions, k: int) -> RowsBySlot:
        """Return the rows with these lists, grouped."""
        slots = np.ascontiguousarray(slots)
        pieces = list(cuts(len(slots), max(_GROUPED, -(-len(slots) // _PIECES))))
        ends = np.zeros((len(pieces), 2, k), dtype=np.int64)
        rows = np.empty(slots.size, dtype=np.int32)

        def group(number: int, *, is_placing: bool) -> None:
            piece = pieces[number]
            kernels.group_by_slot(slots[piece], piece.start, ends[number], rows, is_placing)

        work = READ_WORK * slots.size
        oracle.share(partial(group, is_placing=False), range(len(pieces)), work)
        counts = ends.sum(axis=0)
        starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        # Where each piece writes: behind the pieces before it.
        ends[:] = np.cumsum(ends, axis=0) - ends
        ends += np.stack([starts[:-1], starts[:-1] + counts[0]])
        oracle.share(partial(group, is_placing=True), range(len(pieces)), work)
        return cls(starts, rows[: starts[-1]], counts[0])

    def in_sequence(self, cells: Ids) -> Ids:
        """Return cells in the order of their rows, so that those of neighbours are in cache."""
        middle = (self.starts[:-1] + self.n_own // 2)[cells]
        places = self.rows[np.minimum(middle, len(self.rows) - 1)]
        return cells[np.argsort(places, kind="stable")]

    def of_slot(self, slot: int) -> Positions:
        """Return the rows that have this slot in their lists."""
        return self.rows[self.starts[slot] : self.starts[slot + 1]]

    def ranges(self, cells: Ids) -> tuple[Ids, Ids]:
        """Return where the rows with these slots in their lists begin and end."""
        return self.starts[cells], self.starts[cells + 1]

    def own_ranges(self, cells: Ids) -> tuple[Ids, Ids]:
        """Return where the rows of these cells begin and end."""
        return self.starts[cells], self.starts[cells] + self.n_own[cells]


def empty_lists(oracle: Oracle, n: int, n_near: int) -> tuple[Positions, Floats]:
    """Return lists without entries."""
    slots = np.full((n, n_near), -1, dtype=np.int32)
    return slots, np.full((n, n_near), np.inf, dtype=oracle.dtype)


def nearest_lists(
    oracle: Oracle, ids: Ids, prototypes: Ids, n_near: int
) -> tuple[Positions, Floats]:
    """Return the nearest prototypes of each target row, by comparing with all prototypes."""
    slots, gaps = empty_lists(oracle, len(ids), n_near)

    def visit(block: Floats, cut: slice) -> None:
        kernels.insert_block(block, slots[cut], gaps[cut])

    is_whole = len(ids) == len(oracle.problem.target) and bool((np.diff(ids) == 1).all())
    oracle.each_chunk(prototypes, visit, None if is_whole else ids)
    return slots, gaps


def cell_ranks(slots: Positions, k: int) -> Positions:
    """Return the place of each slot in a sequence in which neighbours follow each other.

    Two slots are the closer the more rows have one first and the other second in their list. The
    sequence follows the branches of the tree that joins each slot to a close one.
    """
    from scipy.sparse import csr_array  # takes long to import
    from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

    if slots.shape[1] == 1:
        return np.arange(k, dtype=np.int32)
    first, second = (slots[slots[:, 1] >= 0, q].astype(np.int64) for q in (0, 1))
    pairs, n_rows = np.unique(
        np.minimum(first, second) * k + np.maximum(first, second), return_counts=True
    )
    # The root, a node beside the slots, joins what nothing else does.
    lengths = np.concatenate([1 / n_rows, np.full(k, 2.0)])
    left = np.concatenate([pairs // k, np.full(k, k)]).astype(np.int32)  # older SciPy needs int32
    right = np.concatenate([pairs % k, np.arange(k)]).astype(np.int32)
    tree = minimum_spanning_tree(csr_array((lengths, (left, right)), shape=(k + 1, k + 1)))
    nodes = depth_first_order(tree, k, directed=False, return_predecessors=False)
    ranks = np.empty(k, dtype=np.int32)
    ranks[nodes[1:]] = np.arange(k)
    return ranks


def in_order(oracle: Oracle, order: Ids, *arrays: Any) -> list[Any]:
    """Return the rows ``order`` of each array, gathered in parallel."""
    found = [np.empty_like(array) for array in arrays]

    def fill(cut: slice) -> None:
        for array, out in zip(arrays, found, strict=True):
            np.take(array, order[cut], axis=0, out=out[cut], mode="clip")

    n_numbers = sum(array.size for array in arrays)
    oracle.share(fill, cuts(len(order), _ROWS), READ_WORK * n_numbers)
    return found


def insert(
    oracle: Oracle,
    patches: Patches,
    rows: Operand,
    candidates: Operand,
    candidate_slots: Positions,
    slots: Positions,
    gaps: Floats,
    *,
    are_targets: bool = True,
) -> None:
    """Insert the candidates of patches into lists that have something farther, or nothing.

    ``candidate_slots`` are the slots of the candidates of all patches. A row is in one patch.
    """

    def visit(values: Floats, at: Ids, run: slice) -> None:
        kernels.insert_patches(
            values,
            at[:-1],
            patches.first[run],
            patches.last[run],
            patches.row_ids,
            candidate_slots,
            patches.begin[run],
            patches.end[run],
            slots,
            gaps,
        )

    oracle.visit_patches(patches, rows, candidates, visit, are_targets=are_targets)


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
