"""Tables as CSV or Parquet; values are data, whatever a spreadsheet would make of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy as np

from protobandit.foundation.errors import NotAvailable

Table = Mapping[str, Any]  # columns by name: lists or arrays of one length


def csv_text(table: Table, *, has_header: bool = True) -> str:
    """Return a table as CSV, with or without its first line."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if has_header:
        writer.writerow(table)
    writer.writerows(zip(*(_cells(values) for values in table.values()), strict=True))
    return text.getvalue()


def _csv_bytes(blocks: Iterable[Table], file: IO[bytes]) -> None:
    for at, block in enumerate(blocks):
        # A lone surrogate, as of a file name that is not UTF-8, has no bytes of its own.
        file.write(csv_text(block, has_header=at == 0).encode("utf-8", "backslashreplace"))


def _parquet_bytes(blocks: Iterable[Table], file: IO[bytes]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise NotAvailable(
            "--format parquet needs pyarrow. Install it by pip install 'protobandit[files]', or "
            "use --format csv."
        ) from None

    with ExitStack() as stack:
        writer = None
        for block in blocks:
            columns = {name: _arrow(pyarrow, values) for name, values in block.items()}
            schema = None if writer is None else writer.schema
            table = pyarrow.table(columns, schema)
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(file, table.schema))
            writer.write_table(table)


WRITERS: dict[str, Callable[[Iterable[Table], IO[bytes]], None]] = {
    "csv": _csv_bytes,
    "parquet": _parquet_bytes,
}


def table_bytes(table: Table, form: str) -> bytes:
    """Return a table as the content of a file."""
    file = io.BytesIO()
    WRITERS[form]([table], file)
    return file.getvalue()


def _arrow(pyarrow: Any, values: Any) -> Any:
    try:
        array = pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # a column of several types
        return pyarrow.array([None if value is None else str(value) for value in values])
    # Of nothing but gaps; in a later block there may be more.
    return array.cast(pyarrow.string()) if pyarrow.types.is_null(array.type) else array


def _cells(values: Any) -> Sequence[Any]:
    if isinstance(values, np.ndarray):
        # Text keeps the few digits that a float32 has.
        is_narrow = values.dtype == np.float32
        values = values.astype(str).tolist() if is_narrow else values.tolist()
    return ["" if value is None or value != value else value for value in values]
