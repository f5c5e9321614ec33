"""The friendly door: arrays, frames, sparse matrices, lists and files become `Rows`, once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from numbers import Number
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.column_names import is_from, names_of
from protobandit.rows.columns import Columns
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import open_rows
from protobandit.rows.frames import FRAMES, as_numbers
from protobandit.rows.memory_maps import Joined, gather, is_mapped
from protobandit.rows.missing_values import require_whole
from protobandit.rows.rows import DenseRows, ObjectRows, Rows, SparseRows, is_finite, require_finite

SomeRows = TypeVar("SomeRows", bound=Rows)

_MOST_CELLS_SCANNED = 10**8
_SCAN_CELLS = 1 << 22
_HELP = (
    "Pass a 2-D array, a pandas or polars DataFrame, a SciPy sparse matrix, a list of rows, or the "
    "path of a file of rows."
)


def as_rows(data: Any, *, name: str, takes_objects: bool = False) -> Rows:
    """Return ``data`` as `Rows`.

    Parameters
    ----------
    data
        What the user passed as ``name``; a path is opened.
    name
        The parameter's name, for errors.
    takes_objects
        Whether the metric is the user's own, so that rows need not be numbers.
    """
    if isinstance(data, Rows):
        return _not_empty(data, name)
    data = opened(data, name=name)
    columns = names_of(data)
    if isinstance(data, Opened):
        data = data.rows
    if data is None or isinstance(data, (bytes, dict, Number)):
        raise InvalidInput(f"{name}={_shorten(data)} is not a set of rows. {_HELP}")
    if is_from("scipy.sparse", data, "issparse"):
        return _not_empty(_sparse(data, name), name)
    array = _as_array(data, name, takes_objects)
    if array.ndim == 2 and not takes_objects:
        array = as_numbers(array)
    if array.ndim == 2 and array.dtype.kind in "fiub":
        return _dense(array, columns, name=name)
    if array.ndim and (takes_objects or len(array) == 0):
        items = data if isinstance(data, Sequence) else _items(array)
        return _not_empty(ObjectRows(list(items), name=name), name)
    raise InvalidInput(_not_numbers(array, name))


def opened(data: Any, *, name: str, has_categories: bool = False) -> Any:
    """Return a path as the rows it leads to, anything else as it is.

    ``has_categories`` tells whether columns of texts are welcome.
    """
    if not isinstance(data, (str, Path)):
        return data
    return open_rows(data, name=name, categories=has_categories)


def _as_array(data: Any, name: str, takes_objects: bool) -> Any:
    if is_from("numpy.ma", data, "MaskedArray") and data.dtype.kind in "fiub":
        return np.asarray(data.astype(np.float64).filled(np.nan) if data.mask.any() else data)
    if isinstance(data, (np.ndarray, Joined)):
        return data
    for library, read in FRAMES.items():
        if is_from(library, data, "DataFrame"):
            return read(data, name, takes_objects)
    if hasattr(data, "to_numpy"):
        return np.asarray(data.to_numpy())
    if isinstance(data, memoryview):
        return np.asarray(data)
    if isinstance(data, Sequence):
        return _from_list(list(data))
    if hasattr(data, "__array__"):
        return np.asarray(data)
    raise InvalidInput(f"{name} is a {type(data).__name__}, which is not a set of rows. {_HELP}")


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


def _items(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return the rows: what a 1-D array holds, else arrays of one dimension less."""
    return array.tolist() if array.ndim == 1 else list(array)


def _dense(array: np.ndarray[Any, Any], columns: tuple[str, ...] | None, *, name: str) -> DenseRows:
    if array.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {array.shape}: no columns. Pass at least one.")
    is_scanned = array.size <= _MOST_CELLS_SCANNED and not (name == "target" and is_mapped(array))
    has_bad = array.dtype.kind == "f"
    rows = DenseRows(array, name=name, is_checked=is_scanned or not has_bad)
    _not_empty(rows, name)
    if is_scanned and has_bad:
        step = max(1, _SCAN_CELLS // array.shape[1])
        for start in range(0, len(rows), step):
            chunk = slice(start, min(start + step, len(rows)))
            block = gather(array, chunk)
            if columns is not None and not is_finite(block):
                require_whole(Columns(numbers=array, names=columns), name=name)
            require_finite(block, name=name, where=chunk)
    return rows


def _sparse(matrix: Any, name: str) -> SparseRows:
    if matrix.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} is a sparse matrix of {matrix.dtype}. Pass real numbers.")
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {matrix.shape}. Pass a 2-D matrix with columns.")
    rows = SparseRows(_canonical(matrix.tocsr()), name=name)
    data = rows.matrix.data
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        at = int(np.flatnonzero(~np.isfinite(data))[0])
        row = int(np.searchsorted(rows.matrix.indptr, at, side="right")) - 1
        column = int(rows.matrix.indices[at])
        raise InvalidInput(
            f"{name} contains {data[at]} at row {row}, column {column}. Dissimilarities need "
            f"finite numbers: drop such rows, or replace it by a number."
        )
    return rows


def _canonical(matrix: Any) -> Any:
    """Return the matrix with columns ascending and none twice; the user's own is left alone."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


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
    own = "a metric of your own: a callable f(row, row) -> number, or block_metric(f)"
    lengths = {len(row) for row in array.flat if isinstance(row, (list, tuple, np.ndarray))}
    if len(lengths) > 1:
        some = f"{min(lengths)} to {max(lengths)}"
        return (
            f"{name} holds rows of different lengths ({some}). Pass rows of one length, or {own}."
        )
    first = _shorten(array.flat[0]) if array.size else "nothing"
    return (
        f"{name} does not hold numbers (dtype {array.dtype}, first value {first}). "
        f"Encode it as numbers, or pass {own}."
    )


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
