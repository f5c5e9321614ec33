"""The memory that a race needs, predicted from its rungs.

What is predicted is the growth of the resident memory of the process at its peak: the table of the
first rung, the ragged table of a rung beside that of the rung before (one is made from the other),
the distances of the prototypes, copies of target rows, and working blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from protobandit.search.drivers.race.schedule import Rung, expected_in_homes

_COLUMN_BYTES = 4  # of the column of a ragged entry
_REACH = 4  # an arm is kept at a row if it is closer than this many prototypes
_WITHIN = 1.6  # entries kept on the first rung, in units of |S| _REACH / k per row (measured)
_STILL_WITHIN = 0.6  # of the distances in home cells, those that the next rung keeps (measured)
_COPIES = 3.0  # of the prototypes' distances while a rung is extended
_ROW_COPIES = 3.0  # of the new target rows: as read, by cell, and in patches
_BLOCK_ENTRIES = 1 << 20  # of the blocks that tasks compute at the same time
_BYTES_PER_BLOCK_ENTRY = 18
_BYTES_PER_HOME = 48  # of one home cell of one arm, in the arrays that list and order them


def race_memory(rungs: Sequence[Rung], k: int, *, itemsize: int, row_bytes: float) -> int:
    """Return about how many bytes a race needs at its peak.

    Parameters
    ----------
    rungs, k
        The race.
    itemsize
        The bytes of a dissimilarity.
    row_bytes
        The bytes of a target row that is read.
    """
    first, last = rungs[0], rungs[-1]
    n_first = first.n_arms * first.n_rows
    entry = itemsize + _COLUMN_BYTES
    blocks = _BYTES_PER_BLOCK_ENTRY * min(n_first, _BLOCK_ENTRIES)
    table = itemsize * (n_first + k * first.n_rows) + row_bytes * first.n_rows
    if len(rungs) == 1:
        kept = peak = float(_COLUMN_BYTES * n_first)  # the values are those of the table
        blocks //= 8
    else:
        kept = entry * n_first * min(1.0, _WITHIN * _REACH / k)
        peak = kept
    still = 1.0 if k <= _REACH else _STILL_WITHIN
    for before, rung in pairwise(rungs):
        n_new = rung.n_rows - before.n_rows
        added = entry * expected_in_homes(rung, n_new, k)
        after = kept * rung.n_arms / before.n_arms + added
        rows = row_bytes * (before.n_rows + _ROW_COPIES * n_new)
        members = _COPIES * itemsize * k * rung.n_rows
        homes = _BYTES_PER_HOME * rung.n_arms * rung.n_cells
        peak = max(peak, kept + after + rows + members + homes)
        kept = after - added * (1 - still)
    if last.n_finalists:
        matrix = itemsize * last.n_finalists * last.n_rows
        within = entry * last.n_finalists * last.n_rows * min(1.0, _WITHIN * _REACH / k)
        peak = max(peak, kept + 2 * matrix, kept + matrix + within)
    return round(table + blocks + peak)
