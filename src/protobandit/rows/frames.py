"""DataFrames, Series, Arrow tables and lists of dicts as rows.

narwhals reads columns of any library as Arrow columns. From there on they are read by the code that
reads files, so that a frame gives the rows that its Parquet file gives. Frames of integers and
floats give their array, which is not copied if they have one type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.rows.arrow import arrow, kind_of
from protobandit.rows.columns import require_distinct
from protobandit.rows.files.tables import Batches, FileTable, Piece, held_table
from protobandit.rows.messages import reason_of
from protobandit.rows.object_arrays import numbers_or_texts


def is_frame(data: Any) -> bool:
    """Return whether ``data`` is a frame, a Series, an Arrow table or a list of dicts."""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(row, Mapping) for row in data)
    import narwhals as nw

    found = nw.from_native(_renamed(data)[0], pass_through=True, allow_series=True)
    return isinstance(found, (nw.DataFrame, nw.LazyFrame, nw.Series))


def is_pandas_series(data: Any) -> bool:
    """Return whether ``data`` is a Series of pandas, whose index may name the columns of a row."""
    import narwhals as nw

    return nw.dependencies.is_pandas_series(data)


def frame_table(data: Any, *, shown: str, name: str, takes_objects: bool) -> FileTable | list[Any]:
    """Return a frame as a table; ``shown`` and ``name`` are as in `ReadRequest`.

    If ``takes_objects``, rows of other things than numbers are returned as a list of tuples, and a
    Series or a list of dicts as a list.
    """
    import narwhals as nw

    if isinstance(data, (list, tuple)):
        if takes_objects:
            return list(data)
        return column_table(_of_dicts(data, name), shown=shown, name=name)
    frame, names = _read(data, name)
    if isinstance(frame, nw.Series):
        return frame.to_list() if takes_objects else _series_table(frame, shown, name)
    if 0 in frame.shape:
        what = "rows" if frame.shape[0] == 0 else "columns"
        raise InvalidInput(f"{name} has 0 {what}. Pass at least one.")
    array = _one_array(frame)
    columns = [] if array is not None else [_arrow_column(each) for each in frame.iter_columns()]
    has_others = any(kind_of(column.type) != "number" for column in columns)
    if takes_objects and has_others:
        return list(frame.iter_rows())
    if has_others:
        require_distinct(names, name)
    elif len(set(names)) < len(names):  # numbers can be matched by position
        names = [str(at) for at in range(len(names))]
    if array is not None:
        return _array_table(array, frame, names, shown)
    return column_table(dict(zip(names, columns, strict=True)), shown=shown, name=name)


def _read(data: Any, name: str) -> tuple[Any, list[str]]:
    """Return a frame or Series of narwhals, in memory, and the names of the columns."""
    import narwhals as nw

    renamed, names = _renamed(data)
    frame = nw.from_native(renamed, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        frame = _collected(frame, name)
    if isinstance(frame, nw.Series):
        return frame, []
    return frame, list(map(str, frame.columns if names is None else names))


def _renamed(data: Any) -> tuple[Any, Any]:
    """Return a frame as narwhals accepts it, and the names that were replaced by positions."""
    import narwhals as nw

    data = nw.to_native(data, pass_through=True)
    if type(data).__module__ == "pyarrow.lib":  # narwhals knows tables and chunked arrays only
        pa = arrow()
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if isinstance(data, pa.Array):
            data = pa.chunked_array([data])
        names = data.column_names if isinstance(data, pa.Table) else []
        if len(set(names)) < len(names):
            return data.rename_columns([str(at) for at in range(len(names))]), names
    elif nw.dependencies.is_pandas_like_dataframe(data) and not data.columns.is_unique:
        return data.set_axis(range(data.shape[1]), axis="columns"), data.columns
    return data, None


def _collected(frame: Any, name: str) -> Any:
    """Return a lazy frame in memory, if its library works in this process."""
    if not (frame.implementation.is_polars() or frame.implementation.is_duckdb()):
        raise InvalidInput(
            f"{name} is a lazy frame of {frame.implementation.value}, which is not read into "
            f"memory here. Pass it, or a sample of it, as a pandas or polars DataFrame."
        )
    try:
        return frame.collect()
    except Exception as error:  # whatever the user's query raises
        raise InvalidInput(
            f"{name} is a lazy frame that cannot be collected: {reason_of(error)}. Correct the "
            f"query."
        ) from None


# -- for scikit-learn -----------------------------------------------------------------------------


def native_frame(data: Any, *, name: str) -> Any:
    """Return a frame as one of pandas or polars, which scikit-learn reads; a Series as a list."""
    import narwhals as nw

    if isinstance(data, (list, tuple)):
        return frame_of(_of_dicts(data, name))
    frame, names = _read(data, name)
    if isinstance(frame, nw.Series):
        return frame.to_list()
    if frame.implementation.is_pyarrow():
        require_distinct(names, name)
        return frame_of({each: frame.get_column(each).to_arrow() for each in frame.columns})
    return frame.to_native()


def frame_of(columns: Mapping[str, Any]) -> Any:
    """Return columns as a frame of pandas, or of polars if that is not installed."""
    import narwhals as nw

    backend: Any = "pandas" if find_spec("pandas") is not None else "polars"
    try:
        return nw.from_dict(dict(columns), backend=backend).to_native()
    except ImportError:
        raise NotAvailable(
            "A transformer needs pandas or polars to read named columns. Run pip install "
            "'protobandit[pandas]', or pass an array."
        ) from None


# -- frames of numbers ----------------------------------------------------------------------------


def _one_array(frame: Any) -> np.ndarray[Any, Any] | None:
    """Return a frame of integers and floats as an array, else None."""
    import narwhals as nw

    types = frame.schema.values()
    is_numeric = all(dtype.is_integer() or dtype.is_float() for dtype in types)
    # polars 2.0 panics if it converts integers of 128 bits, which no `except Exception` catches.
    is_wide = any(dtype in (nw.Int128, nw.UInt128) for dtype in types)
    if not is_numeric or is_wide:
        return None
    if frame.implementation.is_pyarrow():  # whose conversion imports pandas
        return None
    try:
        array = np.asarray(frame.to_numpy())
    except Exception:  # of the library: a type that NumPy does not have
        return None
    return array if array.dtype.kind in "fiu" else None


def _array_table(array: Any, frame: Any, names: Sequence[str], shown: str) -> FileTable:
    """Return a frame whose numbers are in one array; its columns are read when they are needed."""
    pa = arrow()
    keys = dict(zip(names, frame.columns, strict=True))

    def read(columns: list[str], batch_rows: int) -> Batches:
        cells = [_arrow_column(frame.get_column(keys[name])) for name in columns]
        yield from pa.table(cells, columns).to_batches(batch_rows)

    types = [getattr(pa, str(dtype).lower())() for dtype in frame.schema.values()]
    schema = pa.schema(list(zip(names, types, strict=True)))
    return _held_table(schema, len(array), read, shown, array=array)


# -- other frames ---------------------------------------------------------------------------------


def _series_table(series: Any, shown: str, name: str) -> FileTable:
    if len(series) == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    column = _arrow_column(series)
    if kind_of(column.type) == "number":
        raise InvalidInput(
            f"{name} is a {shown} of numbers, with 1 dimension and shape ({len(series)},). Pass "
            f"2-D rows: a frame with this column, for example {name}.to_frame()."
        )
    own = "values" if series.name in (None, "") else str(series.name)
    return column_table({own: column}, shown=shown, name=name, form="series")


def _of_dicts(rows: Sequence[Mapping[Any, Any]], name: str) -> dict[str, Any]:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    require_distinct([str(key) for key in keys], name)
    if not keys:
        raise InvalidInput(f"{name} is a list of empty dicts: no columns. Pass at least one.")
    return {str(key): _arrow_items([row.get(key) for row in rows]) for key in keys}


def column_table(
    columns: Mapping[str, Any], *, shown: str, name: str, form: str = "frame"
) -> FileTable:
    """Return a table of columns: Arrow arrays, or NumPy arrays of one or two dimensions."""
    cells = [_vectors(each) if isinstance(each, np.ndarray) else each for each in columns.values()]
    table = arrow().table(cells, list(columns))
    if table.num_rows == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    return _held_table(table.schema, table.num_rows, held_table(table), shown, form=form)


def _held_table(
    schema: Any,
    n: int,
    read: Callable[[list[str], int], Batches],
    shown: str,
    *,
    form: str = "frame",
    array: Any = None,
) -> FileTable:
    return FileTable(
        form=form,
        schema=schema,
        pieces=(Piece(Path(shown), n, read),),
        has_groups=False,
        is_held=True,
        array=array,
    )


# -- columns --------------------------------------------------------------------------------------


def _arrow_column(series: Any) -> Any:
    """Return a column of any library as an Arrow array."""
    import narwhals as nw

    if series.dtype == nw.Object:
        return _arrow_items(series.to_list())
    try:
        return series.to_arrow()
    except Exception:  # of the library: a type that Arrow does not have
        return _arrow_items(series.to_list())


def _vectors(array: np.ndarray[Any, Any]) -> Any:
    """Return an array as an Arrow array; the rows of a 2-D array become vectors."""
    pa = arrow()
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim == 2 and array.shape[1] and array.dtype.kind in "fiub":
        return pa.FixedSizeListArray.from_arrays(pa.array(native.ravel()), array.shape[1])
    if array.ndim == 1 and array.dtype.kind in "fiubM":
        return pa.array(native)
    return _arrow_items(array.tolist())


def _arrow_items(values: list[Any]) -> Any:
    """Return values of any type as an Arrow array: as they are, or else as numbers or texts."""
    pa = arrow()
    found: Any = "set"
    if not any(isinstance(value, (set, frozenset)) for value in values):  # Arrow would order them
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            found = numbers_or_texts(np.fromiter(values, object, len(values)))
    if isinstance(found, str):  # a type that no Arrow type stands for: only its name is kept
        return pa.nulls(len(values), pa.struct([(found, pa.null())]))
    return pa.array(found, from_pandas=True)
