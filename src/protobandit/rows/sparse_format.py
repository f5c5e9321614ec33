"""Check sparse matrices in full before any compiled loop reads them.

SciPy checks only the lengths of the arrays of a matrix, and not at all if they are assigned later.
Its conversions and our kernels trust the numbers in them: a column number that is too large by one
is a write beyond the end of an array. So every matrix passes through `checked_csr`, which reads its
index arrays once, before it is converted. Formats that SciPy converts in Python need no check
before, but the CSR matrix that comes out is always checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.foundation.memory import available_memory, shown_apart
from protobandit.rows.messages import reason_of

MOST_COLUMNS = 1 << 26  # loops over sparse rows keep some numbers per column
_REBUILD = "Build it again, for example as scipy.sparse.csr_array((values, (rows, columns)))."


def checked_csr(matrix: Any, *, name: str) -> Any:
    """Return a SciPy matrix of any format as a canonical CSR matrix; raise if it is not valid.

    The matrix itself is not modified. The result shares its arrays if it is canonical CSR already.
    """
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {matrix.shape}. Pass a 2-D matrix with columns.")
    if matrix.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} is a sparse matrix of {matrix.dtype}. Pass real numbers.")
    if matrix.shape[1] > MOST_COLUMNS:
        raise InvalidInput(
            f"{name} is a sparse matrix of {matrix.shape[1]:,} columns; at most {MOST_COLUMNS:,} "
            f"are supported. Drop the columns without entries."
        )
    if matrix.format != "csr":
        _require_room(matrix, name)
        _CHECKS.get(matrix.format, _no_check)(matrix, name)
        try:
            matrix = matrix.tocsr()
        except (ValueError, TypeError, OverflowError) as error:  # what Python lists may hold
            raise _invalid(name, f"it cannot be converted ({reason_of(error)})") from None
    return _canonical(matrix, name)


def _canonical(matrix: Any, name: str) -> Any:
    """Return a CSR matrix with native arrays, and columns that are ascending and unique."""
    _require_compressed(matrix, name)
    n = int(matrix.indptr[-1])
    dtype = matrix.dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):  # SciPy does not support float16
        dtype = np.dtype(np.float32 if dtype.itemsize == 2 else np.float64)
    data = np.ascontiguousarray(matrix.data[:n], dtype=dtype)
    indices, indptr = (
        np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("="))
        for part in (matrix.indices[:n], matrix.indptr)
    )
    # A new matrix, since one that was modified may remember that it was canonical before.
    rows = type(matrix)((data, indices, indptr), shape=matrix.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _require_compressed(matrix: Any, name: str) -> None:
    """Raise unless the arrays of a CSR, CSC or BSR matrix describe a matrix of its shape."""
    is_by_column = matrix.format == "csc"
    n_lines, n_places = reversed(matrix.shape) if is_by_column else matrix.shape
    kind = "column" if is_by_column else "row"
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    _require_integers(name, indptr=indptr, indices=indices)
    if matrix.format == "bsr":
        n_lines, n_places = _blocks(matrix, name)
    elif data.ndim != 1:
        raise _invalid(name, f"data has {data.ndim} dimensions instead of 1")
    if len(indptr) != n_lines + 1:
        raise _invalid(
            name, f"indptr has {len(indptr):,} numbers for {n_lines:,} {kind}s instead of one more"
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise _invalid(name, "indptr does not ascend from 0")
    n = int(indptr[-1])
    if n > min(len(indices), len(data)):
        raise _invalid(
            name,
            f"indptr ends at {n:,}, but there are {len(indices):,} indices and {len(data):,} "
            f"values",
        )
    _require_within(name, "row" if is_by_column else "column", indices[:n], n_places)


def _blocks(matrix: Any, name: str) -> tuple[int, int]:
    """Return how many rows and columns of blocks a BSR matrix has."""
    (n_rows, n_columns), sizes = matrix.shape, matrix.data.shape[1:]
    if len(sizes) != 2 or 0 in sizes or n_rows % sizes[0] or n_columns % sizes[1]:
        raise _invalid(name, f"blocks of shape {sizes} do not divide its shape {matrix.shape}")
    return n_rows // sizes[0], n_columns // sizes[1]


def _require_coordinates(matrix: Any, name: str) -> None:
    _require_integers(name, row=matrix.row, col=matrix.col)
    n = len(matrix.row)
    if matrix.data.shape != (n,) or len(matrix.col) != n:
        raise _invalid(
            name,
            f"it has {n:,} row numbers, {len(matrix.col):,} column numbers and values of shape "
            f"{matrix.data.shape}",
        )
    _require_within(name, "row", matrix.row, matrix.shape[0])
    _require_within(name, "column", matrix.col, matrix.shape[1])


def _require_diagonals(matrix: Any, name: str) -> None:
    offsets, (n_rows, n_columns) = matrix.offsets, matrix.shape
    _require_integers(name, offsets=offsets)
    if matrix.data.ndim != 2 or len(matrix.data) != len(offsets):
        raise _invalid(name, f"{len(offsets)} offsets for values of shape {matrix.data.shape}")
    is_outside = (offsets <= -n_rows) | (offsets >= n_columns)
    if is_outside.any() or len(np.unique(offsets)) < len(offsets):
        raise _invalid(name, "offsets repeat a diagonal or lie outside of the matrix")


def _require_lists(matrix: Any, name: str) -> None:
    rows, values = matrix.rows, matrix.data
    if rows.shape != values.shape or rows.shape != (matrix.shape[0],):
        raise _invalid(name, f"{len(rows)} lists of columns for {matrix.shape[0]} rows")
    if any(len(own) != len(held) for own, held in zip(rows, values, strict=True)):
        raise _invalid(name, "a row has not as many column numbers as values")


def _no_check(matrix: Any, name: str) -> None:
    """Accept a format that SciPy converts in Python."""


_CHECKS = {
    "csc": _require_compressed,
    "bsr": _require_compressed,
    "coo": _require_coordinates,
    "dia": _require_diagonals,
    "lil": _require_lists,
}


def _require_room(matrix: Any, name: str) -> None:
    """Raise if the row pointers alone do not fit into memory: a file of bytes may declare them."""
    n_bytes, free = 8 * (matrix.shape[0] + 1), available_memory()
    if n_bytes > free:
        needed, available = shown_apart(n_bytes, free)
        raise NotAvailable(
            f"{name} is a sparse matrix of {matrix.shape[0]:,} rows, whose row pointers need "
            f"{needed}, but {available} are available. Pass fewer rows."
        )


def _require_integers(name: str, **arrays: Any) -> None:
    for part, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
            held = np.asarray(array)
            raise _invalid(
                name, f"{part} is {held.dtype} of shape {held.shape} instead of 1-D integers"
            )


def _require_within(name: str, kind: str, numbers: Any, n: int) -> None:
    """Raise unless all numbers are from 0 to n - 1."""
    if len(numbers) == 0:
        return
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high >= n:
        hint = " Are they counted from 1? Subtract 1." if (low, high) == (1, n) else ""
        raise _invalid(
            name, f"its {kind} numbers run from {low} to {high} instead of 0 to {n - 1}", hint
        )


def _invalid(name: str, problem: str, hint: str = "") -> InvalidInput:
    return InvalidInput(f"{name} is not a valid sparse matrix: {problem}.{hint} {_REBUILD}")
