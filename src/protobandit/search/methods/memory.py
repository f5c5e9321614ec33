"""The memory that methods need beside what they keep: copies of rows, and working blocks."""

from __future__ import annotations

from protobandit.problem.problem import Problem
from protobandit.rows.rows import Rows

_NORM_BYTES = 16  # of a row: its norm and its number
_CACHED_CELLS = 1 << 24  # up to this many, the oracle prepares the source once
_BLOCKS = 5_000_000  # bytes of the blocks that tasks compute at the same time


def row_bytes(rows: Rows) -> float:
    """Return the bytes of a row that was read."""
    return rows.n_cells / max(len(rows), 1) * rows.dtype.itemsize + _NORM_BYTES


def prepared_bytes(problem: Problem) -> int:
    """Return the bytes of the prepared source.

    Whether rows are centred, which copies them, depends on the data; a half is assumed.
    """
    source = problem.source
    if not problem.metric.is_product or source.n_cells > _CACHED_CELLS:
        return 0
    return round(source.n_cells * source.dtype.itemsize / 2)


def working_bytes(problem: Problem) -> int:
    """Return the bytes that a method needs beside the dissimilarities it keeps."""
    n_pairs = len(problem.source) * len(problem.target)
    return prepared_bytes(problem) + min(_BLOCKS, 16 * n_pairs)
