"""Convert arrays, sparse matrices, lists and opened files or frames to `Rows`.

Files, frames and containers of other libraries are opened earlier, by
`protobandit.rows.files.opening.as_opened`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Number
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.rows.column_names import names_of
from protobandit.rows.columns import Columns, require_no_missing
from protobandit.rows.files.opened import Opened
from protobandit.rows.magnitudes import is_ordinary, largest_of
from protobandit.rows.memory_maps import Joined, gather, is_mapped
from protobandit.rows.object_arrays import as_numbers
from protobandit.rows.rows import (
    DenseRows,
    ObjectRows,
    Rows,
    is_finite,
    is_sparse,
    require_finite,
    sparse_rows,
)

SomeRows = TypeVar("SomeRows", bound=Rows)

_MOST_CELLS_SCANNED = 10**8
_SCAN_CELLS = 1 << 22
_HELP = (
    "Pass a 2-D array, a DataFrame, a SciPy sparse matrix, a list of rows or of dicts, or the path "
    "of a file of rows."
)


def as_rows(data: Any, *, name: str, takes_objects: bool = False) -> Rows:
    """Return ``data`` as `Rows`; paths and frames are already opened, and ``name`` is for errors.

    ``takes_objects`` is whether the metric is a function of the user, so that rows need not be
    numbers.
    """
    if isinstance(data, Rows):
        return _not_empty(data, name)
    columns = names_of(data)
    if isinstance(data, Opened):
        columns, data = data.features if data.has_names else None, data.rows
    if data is None or isinstance(data, (str, bytes, dict, Number, Path)):
        instead = f"Pass pandas.DataFrame({name})." if isinstance(data, dict) and data else _HELP
        raise InvalidInput(f"{name}={_shorten(data)} is not a set of rows. {instead}")
    if is_sparse(data):
        return _not_empty(sparse_rows(data, name=name), name)
    array = _as_array(data, name)
    if array.ndim == 2 and not takes_objects:
        array = as_numbers(array)
    if array.ndim == 2 and array.dtype.kind in "fiub":
        return _dense(array, columns, name=name)
    if array.ndim and (takes_objects or len(array) == 0):
        # The rows are the values of a 1-D array, else arrays of one dimension less.
        items = array.tolist() if array.ndim == 1 else array
        if isinstance(data, Sequence):
            items = data
        return _not_empty(ObjectRows(list(items), name=name), name)
    raise InvalidInput(_not_numbers(array, name))


def unmasked(data: Any) -> Any:
    """Return an array, with NaN where a masked array has no value."""
    if not isinstance(data, np.ma.MaskedArray) or not data.mask.any():
        return np.asarray(data)
    masked: Any = data.astype(np.float64)
    return np.asarray(masked.filled(np.nan))


def _as_array(data: Any, name: str) -> Any:
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "fiub":
        return unmasked(data)
    if isinstance(data, (np.ndarray, Joined)):
        return data
    if isinstance(data, Columns):
        return data.to_numpy()
    if isinstance(data, memoryview):
        return np.asarray(data)
    if isinstance(data, Sequence):
        return _from_list(list(data))
    if hasattr(data, "__array__"):
        return np.asarray(data)
    instead = _HELP
    if isinstance(data, Iterator):
        reads_all = f"{name}.read_all()" if hasattr(data, "read_all") else f"list({name})"
        instead = f"Pass {reads_all}, or Stream({name}) as the target."
    raise InvalidInput(f"{name} is a {type(data).__name__}, which is not a set of rows. {instead}")


def _from_list(rows: list[Any]) -> np.ndarray[Any, Any]:
    first = rows[0] if rows and isinstance(rows[0], (list, tuple)) else []
    # NumPy would pad every text to the length of the longest.
    if not any(isinstance(value, (str, bytes)) for value in chain(rows, first)):
        with suppress(ValueError):  # rows of different lengths
            return np.asarray(rows)
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _dense(array: np.ndarray[Any, Any], columns: tuple[str, ...] | None, *, name: str) -> DenseRows:
    if array.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {array.shape}: no columns. Pass at least one.")
    is_scanned = array.size <= _MOST_CELLS_SCANNED and not (name == "target" and is_mapped(array))
    is_float = array.dtype.kind == "f"
    rows = DenseRows(array, name=name, is_checked=is_scanned or not is_float)
    _not_empty(rows, name)
    if is_scanned and is_float:
        sizes = set()
        for cut in cuts(len(rows), max(1, _SCAN_CELLS // array.shape[1])):
            block = gather(array, cut)
            if is_ordinary(block):
                sizes.add(1.0)
                continue
            if columns is not None and not is_finite(block):
                require_no_missing(Columns(numbers=array, names=columns), name=name)
            require_finite(block, name=name, where=cut)
            sizes.add(largest_of(block) or 0.0)
        rows.largest = None if max(sizes) == 1.0 else max(sizes)
    return rows


def _not_empty(rows: SomeRows, name: str) -> SomeRows:
    if len(rows) == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    return rows


def _not_numbers(array: np.ndarray[Any, Any], name: str) -> str:
    shape = f"{name} has {array.ndim} dimension(s) and shape {array.shape}. Pass 2-D rows"
    if array.dtype.kind in "fiub" and array.ndim == 1:
        return f"{shape}: reshape(-1, 1) for one column, reshape(1, -1) for one row."
    if array.dtype.kind in "fiub":
        return f"{shape}: reshape(len(X), -1)."
    if array.dtype.kind == "c":
        return f"{name} holds complex numbers. Pass real numbers."
    own = "your own metric: a callable f(row, row) -> number, or block_metric(f)"
    lengths = {len(row) for row in array.flat if isinstance(row, (list, tuple, np.ndarray))}
    if len(lengths) > 1:
        return (
            f"{name} holds rows of different lengths ({min(lengths)} to {max(lengths)}). Pass rows "
            f"of one length, or {own}."
        )
    first = _shorten(array.flat[0]) if array.size else "nothing"
    return (
        f"{name} does not hold numbers (dtype {array.dtype}, first value {first}). "
        f"Encode it as numbers, or pass {own}."
    )


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
