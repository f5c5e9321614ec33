"""The friendly door: arrays, frames, sparse matrices and lists become `Rows`, once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from protobandit._errors import InvalidInput
from protobandit.data._rows import DenseRows, ObjectRows, Rows, SparseRows, require_finite

_MOST_CELLS_SCANNED = 10**8
_SCAN_CELLS = 1 << 22
_HELP = "Pass a 2-D array, a pandas or polars DataFrame, a SciPy sparse matrix, or a list of rows."


def as_rows(data: Any, *, name: str, takes_objects: bool = False) -> Rows:
    """Return ``data`` as `Rows`.

    Parameters
    ----------
    data
        What the user passed as ``name``.
    name
        The parameter's name, for errors.
    takes_objects
        Whether the metric is the user's own, so that rows need not be numbers.
    """
    if isinstance(data, Rows):
        return _not_empty(data, name)
    if data is None or isinstance(data, (str, bytes, dict, int, float)):
        raise InvalidInput(f"{name}={_shorten(data)} is not a set of rows. {_HELP}")
    if _is_from("scipy.sparse", data, "issparse"):
        return _not_empty(_sparse(data, name), name)
    array = _as_array(data, name)
    if array.ndim == 2 and array.dtype.kind in "fiub":
        return _dense(array, name=name)
    if takes_objects and not (array.ndim == 2 and array.dtype.kind != "O"):
        items = array.tolist() if isinstance(data, np.ndarray) or hasattr(data, "to_numpy") else data
        return _not_empty(ObjectRows(items, name=name), name)
    raise InvalidInput(_not_numbers(array, name))


def _as_array(data: Any, name: str) -> np.ndarray[Any, Any]:
    if isinstance(data, np.ndarray):
        return data
    if _is_from("pandas", data, "DataFrame"):
        return _from_pandas(data, name)
    if _is_from("polars", data, "DataFrame"):
        return _from_polars(data, name)
    if hasattr(data, "to_numpy"):
        return np.asarray(data.to_numpy())
    if not isinstance(data, Sequence) and not hasattr(data, "__array__"):
        raise InvalidInput(f"{name} is a {type(data).__name__}, which is not a set of rows. {_HELP}")
    try:
        return np.asarray(data)
    except ValueError:  # rows of different lengths
        array = np.empty(len(data), dtype=object)
        array[:] = list(data)
        return array


def _from_pandas(frame: Any, name: str) -> np.ndarray[Any, Any]:
    types = frame.dtypes
    numeric = [getattr(t, "kind", "O") in "fiub" for t in types]
    if not all(numeric):
        wrong = [str(c) for c, good in zip(frame.columns, numeric, strict=True) if not good]
        raise InvalidInput(_wrong_columns(name, wrong))
    if all(isinstance(t, np.dtype) for t in types):
        return np.asarray(frame.to_numpy())
    return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def _from_polars(frame: Any, name: str) -> np.ndarray[Any, Any]:
    wrong = [c for c, t in frame.schema.items() if not (t.is_numeric() or str(t) == "Boolean")]
    if wrong:
        raise InvalidInput(_wrong_columns(name, wrong))
    return np.asarray(frame.to_numpy())


def _wrong_columns(name: str, wrong: list[str]) -> str:
    shown = ", ".join(repr(c) for c in wrong[:5]) + (", …" if len(wrong) > 5 else "")
    return (
        f"{name} has column(s) that are not numbers: {shown}. "
        f"Select the numeric columns or encode the others first."
    )


def _dense(array: np.ndarray[Any, Any], *, name: str) -> DenseRows:
    if array.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {array.shape}: no columns. Pass at least one.")
    is_mapped = isinstance(array, np.memmap) or isinstance(array.base, np.memmap)
    is_scanned = array.size <= _MOST_CELLS_SCANNED and not (name == "target" and is_mapped)
    has_bad = array.dtype.kind == "f"
    rows = DenseRows(array, name=name, is_checked=is_scanned or not has_bad)
    _not_empty(rows, name)
    if is_scanned and has_bad:
        step = max(1, _SCAN_CELLS // array.shape[1])
        for start in range(0, len(rows), step):
            chunk = slice(start, min(start + step, len(rows)))
            require_finite(array[chunk], name=name, where=chunk)
    return rows


def _sparse(matrix: Any, name: str) -> SparseRows:
    if matrix.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} is a sparse matrix of {matrix.dtype}. Pass real numbers.")
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {matrix.shape}. Pass a 2-D matrix with columns.")
    rows = SparseRows(matrix.tocsr(), name=name)
    data = rows.matrix.data
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        at = int(np.flatnonzero(~np.isfinite(data))[0])
        row = int(np.searchsorted(rows.matrix.indptr, at, side="right")) - 1
        column = int(rows.matrix.indices[at])
        raise InvalidInput(
            f"{name} contains {data[at]} at row {row}, column {column}. Dissimilarities need "
            f"finite numbers: drop or impute those rows."
        )
    return rows


def _not_empty(rows: Any, name: str) -> Any:
    if len(rows) == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    return rows


def _not_numbers(array: np.ndarray[Any, Any], name: str) -> str:
    if array.dtype.kind in "fiub" and array.ndim == 1:
        return (
            f"{name} has 1 dimension and shape {array.shape}. Pass 2-D rows: "
            f"reshape(-1, 1) for one column, reshape(1, -1) for one row."
        )
    if array.dtype.kind in "fiub":
        return f"{name} has {array.ndim} dimensions and shape {array.shape}. Pass 2-D rows: reshape(len(X), -1)."
    if array.dtype.kind == "c":
        return f"{name} holds complex numbers. Pass real numbers."
    first = _shorten(array.flat[0]) if array.size else "nothing"
    return (
        f"{name} does not hold numbers (dtype {array.dtype}, first value {first}). Encode it as "
        f"numbers, or pass a metric of your own: a callable f(row, row) -> number, or block_metric(f)."
    )


def _is_from(module: str, value: Any, attribute: str) -> bool:
    """Tell whether ``value`` is of a library's type, without importing the library."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, attribute, None)
    if kind is None:
        return False
    return isinstance(value, kind) if isinstance(kind, type) else bool(kind(value))


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
