"""Parquet files as parts: row groups that tasks read where they run, and nothing is read here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.tables import FileTable, open_parquet

_LEAST_BYTES = 1 << 25  # of a part; smaller row groups of a file are read together


class TableLayout(Protocol):
    """What is used of the `Layout` of the columns of a table."""

    @property
    def numbers(self) -> dict[str, int]: ...

    @property
    def texts(self) -> tuple[str, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def n_features(self) -> int: ...

    @property
    def batch_rows(self) -> int: ...

    def write(self, batch: Any, out: Any, *, shown: str, first: int) -> None: ...


@dataclass(frozen=True, eq=False)
class TablePart:
    """Consecutive row groups of a Parquet file."""

    path: Any
    groups: tuple[int, ...]
    n_rows: int


@dataclass(frozen=True, kw_only=True, eq=False)
class TableParts:
    """The rows of Parquet files, not read yet; ``layout`` are their columns."""

    parts: tuple[TablePart, ...]
    layout: TableLayout
    shown: str
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.n_rows for part in self.parts), self.layout.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.layout.dtype


def table_parts(table: FileTable, layout: TableLayout, asked: ReadRequest) -> TableParts:
    """Return the parts of Parquet files."""
    if table.form != "parquet" or asked.where is not None or asked.sample is not None:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} cannot be read in parts. Pass Parquet files, without a "
            f"sample and without a condition on rows."
        )
    if layout.texts or set(layout.numbers) & set(asked.partitions):
        raise InvalidInput(
            f"{asked.name}: columns of texts and columns that are named by folders cannot be "
            f"compared if files are read in parts. Leave them out."
        )
    row_bytes = layout.n_features * layout.dtype.itemsize
    parts: list[TablePart] = []
    numbers: dict[Any, int] = {}
    for piece in table.pieces:
        group = numbers[piece.path] = numbers.get(piece.path, -1) + 1
        last = parts[-1] if parts else None
        if last is not None and last.path == piece.path and last.n_rows * row_bytes < _LEAST_BYTES:
            joined = TablePart(piece.path, (*last.groups, group), last.n_rows + piece.n_rows)
            parts[-1] = joined
        else:
            parts.append(TablePart(piece.path, (group,), piece.n_rows))
    return TableParts(parts=tuple(parts), layout=layout, shown=asked.shown, name=asked.name)


def read_table_part(part: TablePart, layout: TableLayout, shown: str, name: str) -> Any:
    """Return the numbers of a part."""
    out = np.empty((part.n_rows, layout.n_features), dtype=layout.dtype)
    at = 0
    with reading(part.path, name=name, as_what="parquet"):
        pieces = open_parquet(part.path, ReadRequest(shown=shown, name=name)).pieces
        for group in part.groups:
            for batch in pieces[group].read(list(layout.numbers), layout.batch_rows):
                batch.validate(full=True)
                layout.write(batch, out[at : at + batch.num_rows], shown=shown, first=at)
                at += batch.num_rows
    return out[:at]
