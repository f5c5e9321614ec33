"""Distances of sparse rows: as `kernels.distances`, for CSR matrices.

Rules
-----
1. Rows are canonical CSR: columns are ascending and unique. They cannot be centred, so every sum is
   computed in float64.
2. Only columns that two rows share take time. If size(x) is the sum of |x| or of x^2 over a row, a
   distance is size(x) + size(y) + the sum over shared columns of

       |x - y| - |x| - |y|        or        (x - y)^2 - x^2 - y^2 = -2 x y.

   If that is less than `TOLERANCE` times the sizes, the pair is computed again from its
   differences, so the distance of identical rows is exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.kernels.dense_rows import Form, half_if_zero, length_factors
from protobandit.kernels.distances import TOLERANCE
from protobandit.kernels.jit import kernel

# indptr, indices, data
Parts: TypeAlias = tuple[Any, Any, Any]

_TOLERANCE = TOLERANCE[np.dtype(np.float64)]


def _plain(matrix: Any) -> Form:
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix, None


def _with_norms(matrix: Any) -> Form:
    rows, _ = _plain(matrix)
    return rows, _sizes(rows, 2)


def _directions(matrix: Any) -> Form:
    """Scale a float64 copy of the rows, as `dense_rows` does."""
    rows = _plain(matrix)[0].astype(np.float64, copy=True)
    if rows.nnz and not 1e-100 < np.abs(rows.data).min() <= np.abs(rows.data).max() < 1e100:
        rows.data = _with_largest_one(rows)
    rows.data *= length_factors(_sizes(rows, 2))[_row_of_each_entry(rows.indptr)]
    return rows, half_if_zero(_sizes(rows, 2))


def _with_largest_one(matrix: Any) -> Doubles:
    """Return the numbers, each row times a power of two, so that no square overflows."""
    owners = _row_of_each_entry(matrix.indptr)
    largest = np.zeros(matrix.shape[0])
    np.maximum.at(largest, owners, np.abs(matrix.data))
    scaled: Doubles = np.ldexp(matrix.data, -np.frexp(largest)[1][owners])
    return scaled


def _sizes(matrix: Any, power: int) -> Doubles:
    """Return the sum over each row of absolute values to this power."""
    terms = np.abs(matrix.data.astype(np.float64)) ** power
    sums: Doubles = np.zeros(matrix.shape[0])
    sums += np.bincount(_row_of_each_entry(matrix.indptr), terms, matrix.shape[0])
    return sums


def _row_of_each_entry(indptr: Any) -> Any:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _manhattan(sources: Any, targets: Any, out: Floats) -> None:
    sizes = _sizes(sources, 1), _sizes(targets, 1)
    _fill_distances(sources, targets, *sizes, out, power=1, is_root=False)


def _angles(
    sources: Any, targets: Any, source_norms: Doubles, target_norms: Doubles, out: Floats
) -> None:
    _fill_distances(sources, targets, source_norms, target_norms, out, power=2, is_root=False)
    np.minimum(out, 2.0, out=out)


def _fill_distances(
    sources: Any,
    targets: Any,
    source_sizes: Doubles,
    target_sizes: Doubles,
    out: Floats,
    *,
    power: int,
    is_root: bool,
) -> None:
    if sources.shape[1] > sources.nnz + targets.nnz:
        sources, targets = _without_empty_columns(sources, targets)
    sides = _parts(sources), _parts(targets), _parts(targets.tocsc())
    scratch = np.zeros(sources.shape[1]), np.zeros(targets.shape[0])
    _loops(sides, (source_sizes, target_sizes), power, is_root, scratch, out)


def _without_empty_columns(sources: Any, targets: Any) -> tuple[Any, Any]:
    """Return the matrices without columns that are empty in both, in the same order.

    The loops keep numbers per column, and a matrix may have millions of columns.
    """
    columns = np.concatenate([sources.indices, targets.indices])
    kept, places = np.unique(columns, return_inverse=True)
    places = places.astype(columns.dtype)
    own, theirs = np.split(places, [len(sources.indices)])
    return _with_columns(sources, own, len(kept)), _with_columns(targets, theirs, len(kept))


def _with_columns(matrix: Any, columns: Any, n_columns: int) -> Any:
    shape = matrix.shape[0], max(n_columns, 1)
    return type(matrix)((matrix.data, columns, matrix.indptr), shape=shape)


def _parts(matrix: Any) -> Parts:
    return matrix.indptr, matrix.indices, matrix.data


def _reference(
    sides: tuple[Parts, Parts, Parts],
    sizes: tuple[Doubles, Doubles],
    power: int,
    is_root: bool,
    scratch: tuple[Doubles, Doubles],
    out: Floats,
) -> None:
    (source_starts, source_columns, source_values), (starts, columns, values), _ = sides
    owners = _row_of_each_entry(starts)
    line, _ = scratch
    for i, row in enumerate(out):
        own = slice(source_starts[i], source_starts[i + 1])
        mine = source_columns[own]
        line[mine] = source_values[own]
        gaps, held = np.abs(values - line[columns]), np.abs(line[columns])
        shared = gaps**power - held**power - np.abs(values.astype(np.float64)) ** power
        total = sizes[0][i] + sizes[1]
        value = total + np.bincount(owners, shared, len(total))
        for j in np.flatnonzero(~(value >= _TOLERANCE * total)):
            theirs = slice(starts[j], starts[j + 1])
            rest = np.setdiff1d(mine, columns[theirs])
            value[j] = (gaps[theirs] ** power).sum() + (np.abs(line[rest]) ** power).sum()
        row[:] = np.sqrt(value) if is_root else value
        line[mine] = 0.0


@kernel(_reference)
def _loops(sides, sizes, power, is_root, scratch, out):  # type: ignore[no-untyped-def]
    # `line` holds a source row as a dense row while it is needed, and zeros otherwise. `shared`
    # holds its sums over shared columns, one per target row.
    (starts, columns, values), (row_starts, row_columns, row_values), target_columns = sides
    column_starts, column_rows, column_values = target_columns
    line, shared = scratch
    for i in range(out.shape[0]):
        own = range(starts[i], starts[i + 1])
        shared[:] = 0.0
        for k in own:
            x = np.float64(values[k])
            for at in range(column_starts[columns[k]], column_starts[columns[k] + 1]):
                y = np.float64(column_values[at])
                term = -2.0 * x * y if power == 2 else abs(x - y) - abs(x) - abs(y)
                shared[column_rows[at]] += term
        for k in own:
            line[columns[k]] = values[k]
        for j in range(out.shape[1]):
            total = sizes[0][i] + sizes[1][j]
            value = total + shared[j]
            if not value >= _TOLERANCE * total:
                value = 0.0
                for k in range(row_starts[j], row_starts[j + 1]):
                    gap = abs(row_values[k] - line[row_columns[k]])
                    value += gap * gap if power == 2 else gap
                    line[row_columns[k]] = 0.0
                for k in own:
                    gap = abs(line[columns[k]])
                    value += gap * gap if power == 2 else gap
                    line[columns[k]] = values[k]
            out[i, j] = np.sqrt(value) if is_root else value
        for k in own:
            line[columns[k]] = 0.0


FORMS: dict[str, Callable[[Any], Form]] = {
    "plain": _plain,
    "with_norms": _with_norms,
    "directions": _directions,
}

FILLS: dict[str, Callable[..., None]] = {
    "euclidean": partial(_fill_distances, power=2, is_root=True),
    "sqeuclidean": partial(_fill_distances, power=2, is_root=False),
    "cosine": _angles,
    "manhattan": _manhattan,
}
