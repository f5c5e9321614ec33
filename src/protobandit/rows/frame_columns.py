"""The compared columns of a DataFrame, as those of a file: vectors alone, and not row numbers.

The libraries are never imported here: a frame of a library exists only if the library is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.checks import is_missing
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import (
    as_matrix,
    as_objects,
    as_text,
    kind_of,
    lengths_of,
    number_type,
    wrong_vector,
)
from protobandit.rows.column_choice import (
    FRAME,
    ColumnChoice,
    ColumnDescription,
    ColumnRequest,
    choose_columns,
    owners_of,
)
from protobandit.rows.columns import Columns, are_names, require_known
from protobandit.rows.files.opened import Opened
from protobandit.rows.frames import as_columns, as_numbers, is_from
from protobandit.rows.rows import working_dtype

_LOOKED_AT = 4096  # rows whose values say whether texts are categories


@dataclass(frozen=True)
class _Library:
    """How the frames of a library are read.

    ``kinds(frame)`` returns kind and type of each column; ``select(frame, positions)`` returns some
    columns; ``vectors(column)`` returns vectors as a pyarrow array, or else as a list;
    ``values(column, most)`` returns the first values, or all.
    """

    names: Callable[[Any], list[str]]
    column: Callable[[Any, int], Any]
    kinds: Callable[[Any], list[tuple[str, str]]]
    select: Callable[[Any, Sequence[int]], Any]
    vectors: Callable[[Any], Any]
    values: Callable[[Any, int | None], list[Any]]


def compared(
    data: Any,
    *,
    name: str,
    has_categories: bool = False,
    only: Collection[str] | None = None,
    others: str = "",
    without: Mapping[str, str] | None = None,
) -> tuple[Any, ColumnChoice | None]:
    """Return rows with their compared columns, and which these are, if they have names.

    A frame with columns of vectors becomes `Columns`. ``only`` are the features of other rows, and
    ``others`` says why the rest is left out; ``without`` are columns with another use. What is not
    a frame is returned unchanged.
    """
    if isinstance(data, Opened):
        is_named = are_names(data.columns)
        return data, ColumnChoice(data.columns, data.left_out) if is_named else None
    if isinstance(data, Columns):
        return data, ColumnChoice(data.features, {}) if data.is_named else None
    library = _library_of(data)
    if library is None:
        return data, None
    names = library.names(data)
    if len(set(names)) < len(names):  # only positions tell such columns apart
        return data, None
    place = {each: at for at, each in enumerate(names)}
    kinds = library.kinds(data)
    choice = choose_columns(
        [ColumnDescription(each, *kind) for each, kind in zip(names, kinds, strict=True)],
        ColumnRequest(
            owner=name,
            columns=None if only is None else owners_of(only, names),
            roles=without or {},
            others=others,
            has_categories=has_categories,
            options=FRAME,
        ),
        lambda column: library.values(library.column(data, place[column]), _LOOKED_AT),
    )
    found = data
    if choice.left_out or (only is not None and tuple(names) != choice.compared):
        found = library.select(data, [place[each] for each in choice.compared])
    vectors = [each for each in choice.compared if kinds[place[each]][0] == "vector"]
    if vectors:
        matrices = {
            each: _matrix(library.vectors(library.column(data, place[each])), each, name)
            for each in vectors
        }
        found = _expanded(library, data, place, choice, matrices, name)
    return found, choice if are_names(names) or choice.left_out else None


def column_values(data: Any, column: str, *, name: str) -> list[Any]:
    """Return the labels in a column of a frame or of a file, one per row."""
    if isinstance(data, Opened):
        found: list[Any] = data.column(column).tolist()
        return found
    library = _library_of(data)
    if library is None:
        raise InvalidInput(
            f"by={column!r} names a column, but {name} has no named columns. Pass one label per "
            f"row, or a frame."
        )
    names = library.names(data)
    require_known(names, (column,), name)
    values = library.values(library.column(data, names.index(column)), None)
    is_plain = (str, int, float, np.generic)
    return [each if isinstance(each, is_plain) else as_text(each) for each in values]


def with_vectors_as_array(data: Any, *, name: str) -> Any:
    """Return the vectors of a frame as an array; anything else is returned unchanged."""
    library = _library_of(data)
    if library is None:
        return data
    if not any(kind == "vector" for kind, _ in library.kinds(data)):
        return data
    return compared(data, name=name)[0].to_numpy()


def _expanded(
    library: _Library,
    frame: Any,
    place: Mapping[str, int],
    choice: ColumnChoice,
    matrices: dict[str, np.ndarray[Any, Any]],
    name: str,
) -> Columns:
    """Return the compared columns with one column per number of a vector."""
    others = [each for each in choice.compared if each not in matrices]
    rest = library.select(frame, [place[each] for each in others])
    table = as_columns(rest, name=name) if others else None
    parts, features = [], []
    for each in choice.compared:
        if each in matrices:
            parts.append(matrices[each])
            features += [f"{each}[{at}]" for at in range(matrices[each].shape[1])]
        elif table is not None and each in table.names:
            parts.append(table.numbers[:, [table.names.index(each)]])
            features.append(each)
    return Columns(
        numbers=np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0],
        names=tuple(features),
        categories={} if table is None else table.categories,
    )


# -- vectors --------------------------------------------------------------------------------------


def _matrix(vectors: Any, column: str, name: str) -> np.ndarray[Any, Any]:
    """Return vectors as rows; raise if they have different lengths."""
    if isinstance(vectors, list):
        return _stacked(vectors, column, name)
    width = int(lengths_of(vectors[:1])[0]) if len(vectors) else 0
    if width < 1:
        raise InvalidInput(wrong_vector(width, 0, column, name, 0))
    dtype = working_dtype(number_type(vectors.type))
    return as_matrix(vectors, width, dtype, column=column, shown=name)


def _stacked(vectors: list[Any], column: str, name: str) -> np.ndarray[Any, Any]:
    lengths = [-1 if is_missing(each) else np.size(each) for each in vectors]
    width = max(lengths[0], 0)
    for row, length in enumerate(lengths):
        if length != width or not width:
            raise InvalidInput(wrong_vector(length, width, column, name, row))
    array = as_numbers(np.array([np.ravel(each) for each in vectors]))
    if array.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{name} has vectors in column {column!r} that are not numbers. Convert them first."
        )
    return array.astype(working_dtype(array.dtype), copy=False)


# -- libraries ------------------------------------------------------------------------------------


def _library_of(data: Any) -> _Library | None:
    for (library, type_name), found in _LIBRARIES.items():
        if is_from(library, data, type_name):
            return found
    return None


def _describe_pandas(frame: Any, at: int, dtype: Any) -> tuple[str, str]:
    kind = getattr(dtype, "kind", "O")
    if kind in "fiub":
        return "number", str(dtype)
    if hasattr(dtype, "pyarrow_dtype"):
        return kind_of(dtype.pyarrow_dtype), str(dtype)
    if type(dtype).__name__ in ("CategoricalDtype", "StringDtype"):
        return "text", str(dtype)
    if kind != "O":
        return "other", str(dtype)
    return _describe_objects(frame.iloc[:, at].to_numpy(dtype=object))


def _describe_objects(values: Any) -> tuple[str, str]:
    """Return the kind of Python objects, by the first ones that are not missing."""
    known = [value for value in values[:_LOOKED_AT] if not is_missing(value)]
    if not known:
        return "number", "object"
    first = known[0]
    if isinstance(first, str):
        return "text", "str"
    is_list = isinstance(first, (list, tuple, np.ndarray)) and np.ndim(_array(first)) == 1
    if is_list and as_numbers(_array(first)).dtype.kind in "fiub":
        return "vector", type(first).__name__
    is_number = as_numbers(np.fromiter(known, object, len(known))).dtype != object
    return "number" if is_number else "other", type(first).__name__


def _array(value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value)
    except ValueError:  # lists of different lengths
        return np.empty((), dtype=object)


def _pandas_vectors(column: Any) -> Any:
    is_arrow = hasattr(column.dtype, "pyarrow_dtype")
    return column.array.__arrow_array__().combine_chunks() if is_arrow else column.tolist()


def _describe_polars(column: Any) -> tuple[str, str]:
    dtype = column.dtype
    kind, shown = str(dtype.base_type()), str(dtype)
    if dtype.is_numeric() or kind in ("Boolean", "Null"):
        return "number", shown
    if kind in ("List", "Array"):
        inner = dtype.inner
        is_plain = inner.is_numeric() or str(inner.base_type()) == "Boolean"
        return "vector" if is_plain else "other", shown
    if kind == "Object":
        return _describe_objects(column.to_list())
    return "text" if kind in ("String", "Categorical", "Enum") else "other", shown


def _polars_vectors(column: Any) -> Any:
    return column.to_list() if str(column.dtype) == "Object" else column.to_arrow()


_ARROW = _Library(
    names=lambda table: list(table.schema.names),
    column=lambda table, at: table.column(at),
    kinds=lambda table: [(kind_of(each.type), str(each.type)) for each in table.schema],
    select=lambda table, at: table.select(list(at)),
    vectors=lambda column: column.combine_chunks() if hasattr(column, "chunks") else column,
    values=lambda column, most: as_objects(column.slice(0, most)),
)
_LIBRARIES: dict[tuple[str, str], _Library] = {
    ("pandas", "DataFrame"): _Library(
        names=lambda frame: list(map(str, frame.columns)),
        column=lambda frame, at: frame.iloc[:, at],
        kinds=lambda frame: [
            _describe_pandas(frame, at, dtype) for at, dtype in enumerate(frame.dtypes)
        ],
        select=lambda frame, at: frame.iloc[:, list(at)],
        vectors=_pandas_vectors,
        values=lambda column, most: column.iloc[:most].tolist(),
    ),
    ("polars", "DataFrame"): _Library(
        names=lambda frame: list(frame.columns),
        column=lambda frame, at: frame.to_series(at),
        kinds=lambda frame: [_describe_polars(column) for column in frame.iter_columns()],
        select=lambda frame, at: frame.select([frame.columns[i] for i in at]),
        vectors=_polars_vectors,
        values=lambda column, most: column[:most].to_list(),
    ),
    ("pyarrow", "Table"): _ARROW,
    ("pyarrow", "RecordBatch"): _ARROW,
}
