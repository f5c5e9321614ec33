"""Tables by pyarrow: CSV, JSON lines, Parquet and Arrow files, one or several as one.

A table is a sequence of pieces that can be read batch by batch, each on its own: a row group of a
Parquet file, a record batch of an Arrow file, a whole CSV or JSON file. The number of rows of every
piece is known, so that rows have numbers and only pieces that hold wanted rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.rows.arrow import as_indices
from protobandit.rows.files.file_errors import reading

Batches: TypeAlias = Iterator[Any]  # of pyarrow.RecordBatch
Pieces: TypeAlias = "tuple[Any, list[Piece]]"  # a schema, and the pieces of one file


@dataclass(frozen=True)
class Piece:
    """Part of a file: ``read(columns, batch_rows)`` yields its rows."""

    path: Path
    n_rows: int
    read: Callable[[list[str], int], Batches]


@dataclass(frozen=True, kw_only=True, eq=False)
class FileTable:
    """Rows of named columns.

    ``has_groups`` tells whether pieces are groups of rows, so that some of them can stand for all
    if the rows were shuffled.
    """

    form: str
    schema: Any
    pieces: tuple[Piece, ...]
    has_groups: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def n_rows(self) -> int:
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def paths(self) -> list[Path]:
        return list(dict.fromkeys(piece.path for piece in self.pieces))

    def batches(
        self, columns: Sequence[str], ids: Ids | None, *, name: str, batch_rows: int = 1 << 14
    ) -> Iterator[tuple[slice, Any]]:
        """Yield the rows ``ids`` (ascending; None for all), batch by batch, in bounded memory.

        Each batch comes with where its rows stand among those asked for.
        """
        first = 0
        for piece in self.pieces:
            last = first + piece.n_rows
            low, high = (first, last) if ids is None else np.searchsorted(ids, (first, last))
            if low < high:
                wanted = None if ids is None else ids[low:high] - first
                with reading(piece.path, name=name, as_what=self.form):
                    found = _rows_of(piece.read(list(columns), batch_rows), wanted)
                    for cut, batch in found:
                        yield slice(int(low) + cut.start, int(low) + cut.stop), batch
            first = last


def _rows_of(batches: Batches, wanted: Ids | None) -> Iterator[tuple[slice, Any]]:
    """Yield the wanted rows of a piece, and stop reading behind the last of them."""
    start = 0
    for batch in batches:
        stop = start + batch.num_rows
        if wanted is None:
            yield slice(start, stop), batch
        else:
            low, high = (int(at) for at in np.searchsorted(wanted, (start, stop)))
            if low < high:
                is_all = high - low == batch.num_rows
                rows = as_indices(wanted[low:high] - start)
                yield slice(low, high), batch if is_all else batch.take(rows)
            if high == len(wanted):
                return
        start = stop
