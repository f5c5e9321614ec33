"""Tables in CSV, JSON, Parquet and Arrow files, read by pyarrow; several files make one table.

A table is a sequence of pieces. A piece is a row group of a Parquet file, a record batch of an
Arrow file, or a whole CSV or JSON file, and is read in batches independently of the others. The
number of rows of each piece is known. So rows have numbers, and only pieces with wanted rows are
read. A scanner of pyarrow.dataset neither numbers rows nor reads less than a row group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import arrow, taken
from protobandit.rows.columns import require_distinct
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.opened import ReadRequest

Batches: TypeAlias = Iterator[Any]  # of pyarrow.RecordBatch


@dataclass(frozen=True)
class Piece:
    """A part of a file; ``read(columns, batch_rows)`` yields its rows in batches.

    ``path`` is a `Path`, or a remote file that is read in place.
    """

    path: Any
    n_rows: int
    read: Callable[[list[str], int], Batches]


@dataclass(frozen=True, kw_only=True, eq=False)
class TableFile:
    """One file: its pyarrow schema and its pieces.

    ``has_groups`` is whether pieces are groups of rows within the file. A few groups are then a
    fair sample of a shuffled file.
    """

    schema: Any
    pieces: Sequence[Piece]
    has_groups: bool


OpenTableFile: TypeAlias = Callable[[Any, ReadRequest], TableFile]


@dataclass(frozen=True, kw_only=True, eq=False)
class FileTable:
    """One or several files of one format, or a frame, as a table.

    ``has_groups`` is as in `TableFile`. ``is_held`` is whether the rows are in memory already.
    ``array`` holds the columns, if all of them are numbers in one array.
    """

    form: str
    schema: Any
    pieces: tuple[Piece, ...]
    has_groups: bool
    is_held: bool = False
    array: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def n_rows(self) -> int:
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def paths(self) -> list[Any]:
        return list(dict.fromkeys(piece.path for piece in self.pieces))

    def batches(
        self, columns: Sequence[str], ids: Ids | None, *, name: str, batch_rows: int = 1 << 14
    ) -> Iterator[tuple[slice, Any]]:
        """Yield the rows ``ids`` (ascending; None for all) in batches, in bounded memory.

        Each batch comes with the positions of its rows in ``ids``.
        """
        first = 0
        for piece in self.pieces:
            last = first + piece.n_rows
            low, high = (first, last) if ids is None else np.searchsorted(ids, (first, last))
            if low < high:
                wanted = None if ids is None else ids[low:high] - first
                with reading(piece.path, name=name, as_what=self.form):
                    read = map(_validated, piece.read(list(columns), batch_rows))
                    n_wanted, n_found = int(high - low), 0
                    for cut, batch in _rows_of(read, wanted):
                        n_found = cut.stop
                        if n_found <= n_wanted:
                            yield slice(int(low) + cut.start, int(low) + cut.stop), batch
                    _require_rows(n_found, n_wanted)
            first = last


def _validated(batch: Any) -> Any:
    """Return a batch whose offsets and texts are valid; pyarrow reads files without this check."""
    batch.validate(full=True)
    return batch


def _require_rows(n_found: int, n_wanted: int) -> None:
    if n_found != n_wanted:
        raise ValueError(f"it declares {n_wanted:,} rows of which {n_found:,} were found")


def _rows_of(batches: Batches, wanted: Ids | None) -> Iterator[tuple[slice, Any]]:
    """Yield the wanted rows of a piece; stop reading after the last of them."""
    start = 0
    for batch in batches:
        stop = start + batch.num_rows
        if wanted is None:
            yield slice(start, stop), batch
        else:
            low, high = (int(at) for at in np.searchsorted(wanted, (start, stop)))
            if low < high:
                is_all = high - low == batch.num_rows
                rows = wanted[low:high] - start
                yield slice(low, high), batch if is_all else taken(batch, rows)
            if high == len(wanted):
                return
        start = stop


def open_table(
    paths: Sequence[Any], asked: ReadRequest, *, form: str, open_file: OpenTableFile
) -> FileTable:
    """Open files of one format as one table."""
    arrow()
    name = asked.name
    files: list[TableFile] = []
    schema = None
    for at, path in enumerate(paths):
        with reading(path, name=name, as_what=form):
            if path.stat().st_size == 0:
                raise InvalidInput(f"{name}: {path} is empty. Pass a file with rows.")
            values = {column: some[at] for column, some in asked.partitions.items()}
            file = _with_constants(open_file(path, asked), values)
            require_distinct(file.schema.names, f"{name}: {path}")
        files.append(file)
        schema = file.schema if schema is None else _joined(schema, file, paths[0], path, name)
    table = FileTable(
        form=form,
        schema=schema,
        pieces=tuple(piece for file in files for piece in file.pieces),
        has_groups=files[0].has_groups,
    )
    if table.n_rows == 0:
        shown = ", ".join(map(str, paths[:3]))
        raise InvalidInput(
            f"{name}: {shown} has {len(table.names)} columns and 0 rows. Pass a file with rows."
        )
    return table


def _with_constants(file: TableFile, values: Mapping[str, Any]) -> TableFile:
    """Return a file with further columns that have one value each, as Arrow scalars."""
    values = {name: value for name, value in values.items() if name not in file.schema.names}
    if not values:
        return file
    pa = arrow()

    def with_values(piece: Piece) -> Piece:
        def read(columns: list[str], batch_rows: int) -> Batches:
            own = [name for name in columns if name not in values]
            for batch in piece.read(own or file.schema.names[:1], batch_rows):
                n = batch.num_rows
                arrays = [
                    pa.repeat(values[name], n) if name in values else batch.column(name)
                    for name in columns
                ]
                yield pa.RecordBatch.from_arrays(arrays, columns)

        return replace(piece, read=read)

    fields = [pa.field(name, value.type) for name, value in values.items()]
    return replace(
        file,
        schema=pa.schema([*file.schema, *fields]),
        pieces=[with_values(piece) for piece in file.pieces],
    )


def _joined(schema: Any, file: TableFile, first: Any, path: Any, name: str) -> Any:
    own = file.schema
    if set(schema.names) != set(own.names):
        column = sorted(set(schema.names) ^ set(own.names))[0]
        without, other = (path, first) if column in schema.names else (first, path)
        raise InvalidInput(
            f"{name}: {without} has no column {column!r}, but {other} has one. Pass files with the "
            f"same columns."
        )
    with reading(path, name=name, as_what="a part of the same table as the other files"):
        return arrow().unify_schemas([schema, own], promote_options="permissive")


def held_table(table: Any) -> Callable[[list[str], int], Batches]:
    """Return the function that reads a piece from a table in memory."""

    def read(columns: list[str], batch_rows: int) -> Batches:
        yield from table.select(columns).to_batches(batch_rows)

    return read


def open_parquet(path: Any, asked: ReadRequest) -> TableFile:
    """Open one Parquet file; its pieces are row groups."""
    from pyarrow import parquet

    with _opened_file(path) as opened, parquet.ParquetFile(opened) as file:
        metadata, schema = file.metadata, file.schema_arrow

    def piece(group: int) -> Piece:
        def read(columns: list[str], batch_rows: int) -> Batches:
            # By default pyarrow reads whole columns of a group, which may be the whole file.
            by_pages = {"buffer_size": 1 << 20, "pre_buffer": False}
            with (
                _opened_file(path) as opened,
                parquet.ParquetFile(opened, metadata=metadata, **by_pages) as file,
            ):
                yield from file.iter_batches(batch_rows, row_groups=[group], columns=columns)

        return Piece(path, metadata.row_group(group).num_rows, read)

    pieces = [piece(group) for group in range(metadata.num_row_groups)]
    return TableFile(schema=schema, pieces=pieces, has_groups=True)


def _opened_file(path: Any) -> Any:
    """Return a local path, which pyarrow opens itself, or an opened remote file."""
    return nullcontext(path) if isinstance(path, Path) else path.open()


def open_arrow(path: Path, asked: ReadRequest) -> TableFile:
    """Open one Arrow file; its pieces are record batches, or the whole file if it is a stream."""
    pa = arrow()
    try:
        with pa.memory_map(str(path)) as file:
            reader = pa.ipc.open_file(file)
            schema, n = reader.schema, reader.num_record_batches
            counts = [reader.get_batch(at).num_rows for at in range(n)]
    except pa.ArrowInvalid:
        return _open_arrow_stream(path)

    def piece(at: int) -> Piece:
        def read(columns: list[str], batch_rows: int) -> Batches:
            with pa.memory_map(str(path)) as file:
                batch = pa.ipc.open_file(file).get_batch(at).select(columns)
                yield from _cut(batch, batch_rows)

        return Piece(path, counts[at], read)

    return TableFile(schema=schema, pieces=[piece(at) for at in range(n)], has_groups=True)


def _open_arrow_stream(path: Path) -> TableFile:
    pa = arrow()

    def read(columns: list[str], batch_rows: int) -> Batches:
        with pa.memory_map(str(path)) as file:
            for batch in pa.ipc.open_stream(file):
                yield from _cut(batch.select(columns), batch_rows)

    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_stream(file)
        schema, n_rows = reader.schema, sum(batch.num_rows for batch in reader)
    return TableFile(schema=schema, pieces=[Piece(path, n_rows, read)], has_groups=True)


def _cut(batch: Any, batch_rows: int) -> Batches:
    return (batch.slice(at, batch_rows) for at in range(0, batch.num_rows, batch_rows))
