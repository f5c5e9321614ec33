"""Parquet and Arrow files as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from protobandit.rows.arrow import arrow
from protobandit.rows.files.read_request import ReadRequest
from protobandit.rows.files.tables import Batches, Piece, TableFile


def open_parquet(path: Path, asked: ReadRequest) -> TableFile:
    """Open one Parquet file; its pieces are row groups."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow

    def piece(group: int) -> Piece:
        def read(columns: list[str], batch_rows: int) -> Batches:
            # By default pyarrow reads whole columns of a group, which may be the whole file.
            by_pages = {"buffer_size": 1 << 20, "pre_buffer": False}
            with parquet.ParquetFile(path, metadata=metadata, **by_pages) as file:
                yield from file.iter_batches(batch_rows, row_groups=[group], columns=columns)

        return Piece(path, metadata.row_group(group).num_rows, read)

    pieces = [piece(group) for group in range(metadata.num_row_groups)]
    return TableFile(schema=schema, pieces=pieces, has_groups=True)


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
