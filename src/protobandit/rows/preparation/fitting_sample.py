"""Draw the rows that a preparation is fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.rows.columns import Columns
from protobandit.rows.memory_maps import is_mapped
from protobandit.rows.preparation.tables import RowsAsArray
from protobandit.rows.rows import is_sparse

MOST_ROWS = 65_536
MOST_ON_DISK = 16_384  # rows on disk are read in runs:
_RUN = 16  # rows
_MOST_CELLS = 1 << 26  # so that a sample of wide rows fits into memory


def fitting_sample(table: Any, random: np.random.Generator) -> Any:
    """Return all rows of a table, or a random sample of a large one."""
    n, width = table.shape
    if is_sparse(table):
        some = slice(0, n) if n <= MOST_ROWS else _drawn(n, MOST_ROWS, random)
        return table[some]
    most = min(MOST_ROWS, max(1, _MOST_CELLS // max(1, width)))
    if n <= most:
        return table.take(slice(0, n))
    if isinstance(table.numbers, RowsAsArray):  # such rows choose a sample that is cheap to read
        numbers = table.numbers.rows.sample(most)
        return Columns(numbers=numbers, names=table.names, is_named=False)
    if is_mapped(table.numbers):
        return table.take(_runs(n, min(most, MOST_ON_DISK), random))
    return table.take(_drawn(n, most, random))


def _drawn(n: int, most: int, random: np.random.Generator) -> Ids:
    return np.sort(random.choice(n, most, replace=False, shuffle=False))


def _runs(n: int, most: int, random: np.random.Generator) -> Ids:
    """Return short runs of rows, one at a random place in each of equal sections of the table.

    A page of a file holds several rows, so reading single rows would cost many times as much. If a
    file is sorted by class, each class still has its share, up to one section.
    """
    if n <= most:
        return np.arange(n)
    n_blocks, n_runs = -(-n // _RUN), max(1, most // _RUN)
    edges = np.linspace(0, n_blocks, n_runs + 1).astype(np.int64)
    blocks = random.integers(edges[:-1], edges[1:])
    rows = (blocks[:, None] * _RUN + np.arange(_RUN)).ravel()
    return rows[rows < n]
