"""Tables as CSV or Parquet.

Values are written unchanged, also those that a spreadsheet would take for a formula; see
`spreadsheets`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy as np

from protobandit.rows.arrow import arrow, as_text

Table = Mapping[str, Any]  # columns by name: lists or arrays of one length


def csv_text(table: Table, *, has_header: bool = True) -> str:
    """Return a table as CSV, with or without the header line."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if has_header:
        writer.writerow(table)
    writer.writerows(zip(*(_cells(values) for values in table.values()), strict=True))
    return text.getvalue()


def _csv_bytes(blocks: Iterable[Table], file: IO[bytes]) -> None:
    for at, block in enumerate(blocks):
        # A lone surrogate, as in a file name that is not UTF-8, has no UTF-8 encoding.
        file.write(csv_text(block, has_header=at == 0).encode("utf-8", "backslashreplace"))


def _parquet_bytes(blocks: Iterable[Table], file: IO[bytes]) -> None:
    pyarrow = arrow()
    from pyarrow import parquet

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
    """Return the content of a file with this table."""
    file = io.BytesIO()
    WRITERS[form]([table], file)
    return file.getvalue()


def _arrow(pyarrow: Any, values: Any) -> Any:
    try:
        array = pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # a column of several types
        return pyarrow.array([None if value is None else str(value) for value in values])
    # A block with missing values only has type null; later blocks may hold text.
    return array.cast(pyarrow.string()) if pyarrow.types.is_null(array.type) else array


def _cells(values: Any) -> Sequence[Any]:
    if isinstance(values, np.ndarray):
        # str() of a float32 has as many digits as the number; a float64 of it would have more.
        is_narrow = values.dtype == np.float32
        values = values.astype(str).tolist() if is_narrow else values.tolist()
    return [_cell(value) for value in values]


def _cell(value: Any) -> Any:
    if isinstance(value, (bytes, list, dict)):
        return as_text(value)
    return "" if value is None or value != value else value
