"""Types and arrays of Arrow as types and arrays of NumPy.

pyarrow's own conversions, in either direction, import pandas where it is installed, which takes
most of a second. Numbers are therefore read from the buffers.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable

_NUMBERS = ("integer", "floating", "boolean", "decimal", "null")
_TEXTS = ("string", "large_string", "string_view", "dictionary")


def arrow() -> Any:
    """Return pyarrow, or raise an error that says what to install."""
    try:
        import pyarrow
    except ImportError:
        raise NotAvailable(
            "Tables need pyarrow, which cannot be imported. Install protobandit again with its "
            "dependencies, or pass a .npy file."
        ) from None
    return pyarrow


# -- types ----------------------------------------------------------------------------------------


@cache
def kind_of(dtype: Any) -> str:
    """Return the kind of a column: "number", "vector" (of numbers), "text" or "other"."""
    if _is_any(dtype, _NUMBERS):
        return "number"
    if is_vector(dtype) and _is_any(dtype.value_type, _NUMBERS):
        return "vector"
    return "text" if _is_any(dtype, _TEXTS) else "other"


def is_vector(dtype: Any) -> bool:
    """Return whether a column holds several values per row."""
    return _is_any(dtype, ("fixed_size_list", "list", "large_list"))


@cache
def number_type(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy type of a column of numbers or of vectors."""
    types = arrow().types
    dtype = dtype.value_type if is_vector(dtype) else dtype
    if types.is_null(dtype):
        return np.dtype(np.float32)
    return np.dtype(np.float64 if types.is_decimal(dtype) else dtype.to_pandas_dtype())


def _is_any(dtype: Any, kinds: tuple[str, ...]) -> bool:
    types = arrow().types
    return any(getattr(types, f"is_{kind}")(dtype) for kind in kinds)


# -- values ---------------------------------------------------------------------------------------


def as_floats(column: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return numbers of any type as floats, with NaN for missing ones."""
    pa = arrow()
    column = _one_chunk(column)
    if column.null_count == len(column):
        return np.full(len(column), np.nan, dtype)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    floats = _buffered(column.cast(pa.from_numpy_dtype(dtype), safe=False), dtype)
    return np.where(_is_valid(column), floats, np.nan) if column.null_count else floats


def as_values(column: Any, *, as_written: bool = False) -> np.ndarray[Any, Any]:
    """Return a column as a NumPy array; texts are objects, with None for missing ones.

    Integers become floats where some are missing, and so do decimals. With ``as_written`` they
    become objects instead, which keeps every digit. Dates, bytes, lists and records become texts.
    """
    types = arrow().types
    column = _one_chunk(column)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_integer = types.is_integer(column.type)
    if column.null_count and (types.is_boolean(column.type) or (is_integer and as_written)):
        return _objects(column)
    if types.is_boolean(column.type):
        return as_floats(column, np.dtype(np.float32)).astype(np.bool_)
    if (is_integer or types.is_floating(column.type)) and not column.null_count:
        return _buffered(column, number_type(column.type))
    if kind_of(column.type) == "number" and not (types.is_decimal(column.type) and as_written):
        return as_floats(column, np.dtype(np.float64))
    if kind_of(column.type) == "text":
        return _objects(column)
    return np.fromiter(map(as_text, as_objects(column)), dtype=object, count=len(column))


def as_objects(column: Any) -> list[Any]:
    """Return a column as Python objects; as texts where Python has no such dates or times."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        values = column.cast(arrow().string()).to_pylist()
    return values


def as_text(value: Any) -> str | None:
    """Return dates, decimals, bytes, lists and records as a text for people; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return text if text.isprintable() and "\ufffd" not in text else value.hex()
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=as_text)
    return str(value)


def lengths_of(vectors: Any) -> Ids:
    """Return the length of each vector, -1 for missing ones."""
    from pyarrow import compute

    lengths = compute.list_value_length(vectors)
    found = _buffered(lengths, number_type(lengths.type)).astype(np.int64)
    return np.where(_is_valid(vectors), found, -1) if vectors.null_count else found


def as_matrix(
    vectors: Any, width: int, dtype: np.dtype[Any], *, column: str, shown: str, first: int = 0
) -> np.ndarray[Any, Any]:
    """Return vectors of one length as rows; raise if one is missing or has another length.

    ``shown`` names the table and ``first`` is the number of the first row, for errors.
    """
    vectors = _one_chunk(vectors)
    lengths = lengths_of(vectors)
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        raise InvalidInput(
            wrong_vector(int(lengths[wrong[0]]), width, column, shown, first + int(wrong[0]))
        )
    return as_floats(vectors.flatten(), dtype).reshape(-1, width)


def wrong_vector(length: int, width: int, column: str, shown: str, row: int) -> str:
    """Return the message for a vector of another length than others; -1 means that it is missing.

    A ``width`` of 0 means that the first vector is empty or missing.
    """
    held = "no vector" if length < 0 else f"a vector of {length} number(s)"
    if not width:
        return (
            f"{shown} has no vector, or an empty one, in column {column!r} at row {row}. Drop such "
            f"rows, or exclude the column."
        )
    return (
        f"{shown} has {held} in column {column!r} at row {row}, where others have {width}. Make "
        f"all vectors of a column the same length."
    )


def as_indices(ids: Ids) -> Any:
    """Return row numbers as an Arrow array."""
    pa = arrow()
    plain = np.ascontiguousarray(ids, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(plain), [None, pa.py_buffer(plain)])


def plain_schema(schema: Any) -> Any:
    """Return a schema without the types with which pyarrow cannot compute: views and halves."""
    pa = arrow()
    plain = {
        pa.string_view(): pa.string(),
        pa.binary_view(): pa.binary(),
        pa.float16(): pa.float32(),
    }
    return pa.schema([(each.name, plain.get(each.type, each.type)) for each in schema])


def taken(batch: Any, ids: Ids) -> Any:
    """Return some rows of a record batch."""
    schema = plain_schema(batch.schema)
    columns = [column.cast(to) for column, to in zip(batch.columns, schema.types, strict=True)]
    return arrow().RecordBatch.from_arrays(columns, schema=schema).take(as_indices(ids))


def _one_chunk(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _objects(column: Any) -> np.ndarray[Any, Any]:
    return np.fromiter(column.to_pylist(), dtype=object, count=len(column))


def _is_valid(column: Any) -> np.ndarray[Any, Any]:
    """Return for each value whether it is present."""
    flags = column.is_valid().cast(arrow().int8())
    return _buffered(flags, np.dtype(np.int8)).astype(np.bool_)


def _buffered(column: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the numbers in the buffer of an array; missing ones are arbitrary."""
    values = column.buffers()[1]
    if values is None:  # an empty array has no buffer
        return np.empty(0, dtype)
    return np.frombuffer(values, dtype, len(column), column.offset * dtype.itemsize)
