"""Files of one tabular format become one table; Parquet and Arrow are read here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import arrow
from protobandit.rows.files.delimited import open_delimited, open_json_lines
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.tables import Batches, FileTable, Piece, Pieces


def open_table(paths: Sequence[Path], form: str, asked: ReadRequest) -> FileTable:
    """Open files of one format as one table."""
    arrow()
    name = asked.name
    read, has_groups = _READERS[form]
    schema, pieces = None, []
    for path in paths:
        with reading(path, name=name, as_what=form):
            if path.stat().st_size == 0:
                raise InvalidInput(f"{name}: {path} is empty. Pass a file with rows.")
            own, some = read(path, form, asked)
            _require_distinct(own.names, path, name)
        schema = own if schema is None else _joined(schema, own, paths[0], path, name)
        pieces += some
    table = FileTable(form=form, schema=schema, pieces=tuple(pieces), has_groups=has_groups)
    if table.n_rows == 0:
        shown = ", ".join(map(str, paths[:3]))
        raise InvalidInput(
            f"{name}: {shown} has {len(table.names)} columns and 0 rows. Pass a file with rows."
        )
    return table


def _require_distinct(names: list[str], path: Path, name: str) -> None:
    twice = [column for column, n in Counter(names).items() if n > 1]
    if twice:
        raise InvalidInput(
            f"{name}: {path} has the column {twice[0]!r} more than once. Rename one."
        )


def _joined(schema: Any, own: Any, first: Path, path: Path, name: str) -> Any:
    if set(schema.names) != set(own.names):
        odd = sorted(set(schema.names) ^ set(own.names))[0]
        lacking, other = (path, first) if odd in schema.names else (first, path)
        raise InvalidInput(
            f"{name}: {lacking} lacks the column {odd!r} that {other} has. Pass files of the same "
            f"columns."
        )
    with reading(path, name=name, as_what="the table that the other files are"):
        return arrow().unify_schemas([schema, own], promote_options="permissive")


def _open_parquet(path: Path, form: str, asked: ReadRequest) -> Pieces:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow

    def piece(group: int) -> Piece:
        def read(columns: list[str], batch_rows: int) -> Batches:
            # Else each column of the group, which may be the whole file, is fetched at once.
            by_pages = {"buffer_size": 1 << 20, "pre_buffer": False}
            with parquet.ParquetFile(path, metadata=metadata, **by_pages) as file:
                yield from file.iter_batches(batch_rows, row_groups=[group], columns=columns)

        return Piece(path, metadata.row_group(group).num_rows, read)

    return schema, [piece(group) for group in range(metadata.num_row_groups)]


def _open_arrow(path: Path, form: str, asked: ReadRequest) -> Pieces:
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

    return schema, [piece(at) for at in range(n)]


def _open_arrow_stream(path: Path) -> Pieces:
    pa = arrow()

    def read(columns: list[str], batch_rows: int) -> Batches:
        with pa.memory_map(str(path)) as file:
            for batch in pa.ipc.open_stream(file):
                yield from _cut(batch.select(columns), batch_rows)

    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_stream(file)
        schema, n_rows = reader.schema, sum(batch.num_rows for batch in reader)
    return schema, [Piece(path, n_rows, read)]


def _cut(batch: Any, batch_rows: int) -> Batches:
    return (batch.slice(at, batch_rows) for at in range(0, batch.num_rows, batch_rows))


# By format, how a file is opened, and whether its pieces are groups of rows.
_READERS: dict[str, tuple[Callable[..., Pieces], bool]] = {
    "csv": (open_delimited, False),
    "tsv": (open_delimited, False),
    "jsonl": (open_json_lines, False),
    "parquet": (_open_parquet, True),
    "arrow": (_open_arrow, True),
}
TABULAR = tuple(_READERS)
