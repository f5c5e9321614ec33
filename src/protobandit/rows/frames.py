"""DataFrames of pandas and polars and tables of pyarrow, as arrays or as `Columns`.

The libraries are never imported here: a frame of a library exists only if the library is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from protobandit.foundation.checks import is_missing
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import as_floats, kind_of, number_type
from protobandit.rows.columns import Columns, require_distinct, text_of
from protobandit.rows.messages import shortened
from protobandit.rows.rows import working_dtype

_HELP = "Pass a 2-D array, a pandas or polars DataFrame, a pyarrow Table, or Columns."

Values = np.ndarray[Any, Any]
# read(is_category) returns floats, or texts as objects, or the name of a type that is neither.
ReadColumn = Callable[[bool], "Values | str"]


def is_from(library: str, value: Any, type_name: str) -> bool:
    """Return whether ``value`` is of a type of a library, without importing the library."""
    kind = getattr(sys.modules.get(library), type_name, None)
    return kind is not None and isinstance(value, kind)


def as_numbers(array: Values) -> Values:
    """Return objects that are all numbers as floats (None as NaN); else return the array as is."""
    if array.dtype.kind != "O" or any(isinstance(value, (str, bytes)) for value in array.flat):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array


# -- frames as arrays -----------------------------------------------------------------------------


def frame_array(data: Any, *, name: str, takes_objects: bool) -> Values | None:
    """Return a DataFrame as an array of numbers, or None if ``data`` is not a DataFrame.

    A frame with other columns than numbers becomes an array of tuples if ``takes_objects``.
    """
    if is_from("pandas", data, "DataFrame"):
        return _pandas_array(data, name, takes_objects)
    if is_from("polars", data, "DataFrame"):
        return _polars_array(data, name, takes_objects)
    return None


def _pandas_array(frame: Any, name: str, takes_objects: bool) -> Values:
    types = list(frame.dtypes)
    columns = zip(frame.columns, types, strict=True)
    wrong = [str(column) for column, t in columns if getattr(t, "kind", "O") not in "fiub"]
    if wrong and takes_objects:
        return np.fromiter(frame.itertuples(index=False, name=None), object, len(frame))
    if wrong:
        raise InvalidInput(_not_numbers(name, wrong))
    if all(isinstance(t, np.dtype) for t in types):
        return np.asarray(frame.to_numpy(dtype=np.result_type(np.bool_, *types)))
    wide = np.result_type(*(working_dtype(_numpy_dtype(t)) for t in types))
    return np.asarray(frame.to_numpy(dtype=wide, na_value=np.nan))


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    is_plain = isinstance(dtype, np.dtype)
    return np.dtype(dtype if is_plain else getattr(dtype, "numpy_dtype", np.float64))


def _polars_array(frame: Any, name: str, takes_objects: bool) -> Values:
    wrong = [c for c, t in frame.schema.items() if not (t.is_numeric() or str(t) == "Boolean")]
    if wrong and takes_objects:
        return np.fromiter(frame.iter_rows(), object, len(frame))
    if wrong:
        raise InvalidInput(_not_numbers(name, wrong))
    return as_numbers(np.asarray(frame.to_numpy()))


def _not_numbers(name: str, wrong: list[str]) -> str:
    return (
        f"{name} has column(s) that are not numbers: {shortened(map(repr, wrong))}. "
        f"Select the numeric columns or encode the others first."
    )


# -- frames as columns ----------------------------------------------------------------------------


def as_columns(
    data: Any,
    *,
    name: str = "rows",
    categories: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Columns:
    """Return any table as `Columns`: a 2-D array, a pandas or polars DataFrame, a pyarrow Table.

    `Columns` are returned unchanged. ``name`` is for errors. The columns ``categories`` are read as
    categories whatever they hold; columns of texts always are. ``only`` names the columns to read;
    by default, and if one of them is missing, all columns are read.
    """
    if isinstance(data, Columns):
        return data
    for (library, type_name), columns_of in _TABLES.items():
        if is_from(library, data, type_name):
            found = list(columns_of(data))
            if only is not None and set(only) <= {column for column, _ in found}:
                found = [(column, read) for column, read in found if column in only]
            return _gathered(found, data.shape[0], name, categories)
    array = _as_array(data, name)
    if array.dtype.kind != "O" and not categories:
        names = tuple(map(str, range(array.shape[1])))
        return Columns(numbers=array, names=names, is_named=False)
    objects = array.astype(object, copy=False).T
    found = [(str(at), partial(_numbers_or_texts, column)) for at, column in enumerate(objects)]
    return replace(_gathered(found, len(array), name, categories), is_named=False)


def _pandas_columns(frame: Any) -> Iterator[tuple[str, ReadColumn]]:
    for at, column in enumerate(frame.columns):
        yield str(column), partial(_pandas_column, frame.iloc[:, at])


def _pandas_column(values: Any, is_category: bool) -> Values | str:
    dtype, kind = values.dtype, getattr(values.dtype, "kind", "O")
    if kind in "fiub" and not is_category:
        wide = working_dtype(_numpy_dtype(dtype))
        return np.asarray(values.to_numpy(dtype=wide, na_value=np.nan))
    if kind in "Mmc":
        return str(dtype)
    is_category |= type(dtype).__name__ == "CategoricalDtype"
    items = np.array(values.astype(object), dtype=object)
    items[np.asarray(values.isna(), dtype=bool)] = None
    return _numbers_or_texts(items, is_category)


def _polars_columns(frame: Any) -> Iterator[tuple[str, ReadColumn]]:
    for column in frame.columns:
        yield column, partial(_polars_column, frame.get_column(column))


def _polars_column(values: Any, is_category: bool) -> Values | str:
    kind = str(values.dtype.base_type())
    is_numeric = values.dtype.is_numeric() or kind in ("Boolean", "Null")
    if is_numeric and not is_category:
        floats = as_numbers(np.asarray(values.to_numpy()))
        return floats.astype(working_dtype(floats.dtype), copy=False)
    if is_numeric or kind in ("String", "Categorical", "Enum", "Object"):
        items = np.fromiter(values.to_list(), object, len(values))
        return _numbers_or_texts(items, is_category or kind != "Object")
    return str(values.dtype)


def _arrow_columns(table: Any) -> Iterator[tuple[str, ReadColumn]]:
    for at, column in enumerate(table.column_names):
        yield column, partial(_arrow_column, table.column(at))


def _arrow_column(values: Any, is_category: bool) -> Values | str:
    kind = kind_of(values.type)
    if kind == "number" and not is_category:
        return as_floats(values, working_dtype(number_type(values.type)))
    if kind in ("number", "text"):
        return _numbers_or_texts(np.fromiter(values.to_pylist(), object, len(values)), True)
    return str(values.type)


# By library and type: a function that yields the name of each column and how to read it.
_TABLES: dict[tuple[str, str], Callable[[Any], Iterator[tuple[str, ReadColumn]]]] = {
    ("pandas", "DataFrame"): _pandas_columns,
    ("polars", "DataFrame"): _polars_columns,
    ("pyarrow", "Table"): _arrow_columns,
    ("pyarrow", "RecordBatch"): _arrow_columns,
}


def _as_array(data: Any, name: str) -> Values:
    if not (isinstance(data, (list, tuple)) or hasattr(data, "__array__")):
        raise InvalidInput(f"{name} is a {type(data).__name__}, not a table of columns. {_HELP}")
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "fiub":
        masked: Any = data.astype(working_dtype(data.dtype))
        data = masked.filled(np.nan)
    try:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.dtype.kind in "US":  # NumPy turns a list of numbers and texts into texts
            array = np.array(data, dtype=object)
    except ValueError:
        raise InvalidInput(f"{name} holds rows of different lengths. {_HELP}") from None
    if array.ndim != 2 or array.dtype.kind not in "fiubO":
        raise InvalidInput(
            f"{name} has shape {array.shape} and type {array.dtype}. Pass 2-D rows of numbers, or "
            f"of numbers and texts."
        )
    return array


def _gathered(
    found: list[tuple[str, ReadColumn]], n: int, name: str, categories: Collection[str]
) -> Columns:
    require_distinct([column for column, _ in found], name)
    columns = {column: read(column in categories) for column, read in found}
    wrong = [f"{column!r} ({kind})" for column, kind in columns.items() if isinstance(kind, str)]
    if wrong:
        raise InvalidInput(
            f"{name} has column(s) that are neither numbers nor texts: {shortened(wrong)}. Omit "
            f"them, or convert them first."
        )
    arrays = {c: values for c, values in columns.items() if not isinstance(values, str)}
    numbers = {c: values for c, values in arrays.items() if values.dtype != object}
    wide = np.result_type(*(v.dtype for v in numbers.values())) if numbers else np.dtype(np.float64)
    table = np.empty((n, len(numbers)), dtype=wide)
    for at, values in enumerate(numbers.values()):
        table[:, at] = values
    return Columns(
        numbers=table,
        names=tuple(numbers),
        categories={c: values for c, values in arrays.items() if values.dtype == object},
    )


def _numbers_or_texts(items: Values, is_category: bool) -> Values | str:
    """Return objects as floats if all are numbers, else as texts.

    Returns the name of a type if an object is neither a number nor a text.
    """
    if not is_category:
        numbers = as_numbers(items)
        if numbers.dtype != object:
            return numbers
    texts = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        if not (is_missing(item) or isinstance(item, (str, bool, int, float, np.generic))):
            return type(item).__name__
        texts[i] = text_of(item)
    return texts
