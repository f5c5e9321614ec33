"""The memory that a race needs, predicted from its rungs.

What is predicted is the growth of the resident memory of the process at its peak: the table of the
first rung, the ragged table of a rung beside that of the rung before (one is made from the other),
the distances of the prototypes, copies of target rows, and working blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
_MARGIN = 1.05  # of the expected number of entries, if memory is limited
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
        # The values of the only ragged table are those of the full table.
        return round(table + blocks // 8 + _COLUMN_BYTES * n_first)
    entries = expected_entries(rungs, k)
    peak = entry * entries[0]
    for (before, rung), (n_before, n_after) in zip(pairwise(rungs), pairwise(entries), strict=True):
        n_new = rung.n_rows - before.n_rows
        rows = row_bytes * (before.n_rows + _ROW_COPIES * n_new)
        members = _COPIES * itemsize * k * rung.n_rows
        homes = _BYTES_PER_HOME * rung.n_arms * rung.n_cells
        peak = max(peak, entry * (n_before + n_after) + rows + members + homes)
    if last.n_finalists:
        matrix = itemsize * last.n_finalists * last.n_rows
        within = entry * last.n_finalists * last.n_rows * min(1.0, _WITHIN * _REACH / k)
        peak = max(peak, entry * entries[-1] + matrix + max(matrix, within))
    return round(table + blocks + peak)


def expected_entries(rungs: Sequence[Rung], k: int) -> list[float]:
    """Return about how many distances the ragged table of each rung keeps."""
    first = rungs[0]
    kept = first.n_arms * first.n_rows * min(1.0, _WITHIN * _REACH / k)
    entries = [kept]
    still = 1.0 if k <= _REACH else _STILL_WITHIN
    for before, rung in pairwise(rungs):
        added = expected_in_homes(rung, rung.n_rows - before.n_rows, k)
        entries.append(kept * rung.n_arms / before.n_arms + added)
        kept = entries[-1] - added * (1 - still)
    return entries


def with_most_entries(rungs: Sequence[Rung], k: int, *, itemsize: int, spare: int) -> list[Rung]:
    """Return rungs whose tables never keep more distances than a limit of the memory allows.

    How many distances matter depends on the data. ``spare`` is the memory beyond what is expected
    to be needed; two tables exist at the same time.
    """
    more = max(spare, 0) // (2 * (itemsize + _COLUMN_BYTES))
    return [
        replace(rung, n_entries=max(rung.n_arms, round(_MARGIN * n) + more))
        for rung, n in zip(rungs, expected_entries(rungs, k), strict=True)
    ]
