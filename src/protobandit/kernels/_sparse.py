"""Distances of sparse rows: as `kernels._distances`, for CSR, without making the data dense.

Rules
-----
1. Rows are canonical CSR: columns ascending, none twice. They cannot be centred, so every sum runs
   in float64.
2. One source row at a time lies spread out in ``line``, a zeroed float64 array of one number per
   column; whoever writes to it leaves it zeroed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from protobandit._typing import Doubles, Floats
from protobandit.kernels._compile import kernel
from protobandit.kernels._distances import TOLERANCE, Form, half_if_zero, length_factors

# indptr, indices, data
Parts: TypeAlias = tuple[Any, Any, Any]

_TOLERANCE = TOLERANCE[np.dtype(np.float64)]


def plain(matrix: Any) -> Form:
    """Return the rows in canonical form: themselves if they are, a copy otherwise."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix, None


def with_norms(matrix: Any) -> Form:
    """Return the rows and their squared norms."""
    rows, _ = plain(matrix)
    return rows, _squared_norms(rows)


def directions(matrix: Any) -> Form:
    """Return the rows in float64 at length sqrt(1/2), as their dense namesake does."""
    rows = plain(matrix)[0].astype(np.float64, copy=True)
    rows.data *= length_factors(_squared_norms(rows))[_owners(rows.indptr)]
    return rows, half_if_zero(_squared_norms(rows))


def _squared_norms(matrix: Any) -> Doubles:
    squares = matrix.data.astype(np.float64) ** 2
    norms: Doubles = np.bincount(_owners(matrix.indptr), squares, matrix.shape[0])
    return norms


def _squares(
    sources: Any,
    targets: Any,
    source_norms: Doubles,
    target_norms: Doubles,
    out: Floats,
    *,
    is_root: bool,
) -> None:
    line = np.zeros(sources.shape[1])
    _multiply(_parts(sources), _parts(targets), source_norms, target_norms, is_root, line, out)


def _angles(
    sources: Any, targets: Any, source_norms: Doubles, target_norms: Doubles, out: Floats
) -> None:
    _squares(sources, targets, source_norms, target_norms, out, is_root=False)
    np.minimum(out, 2.0, out=out)


def manhattan(sources: Any, targets: Any, out: Floats) -> None:
    """Sum the absolute differences."""
    _add_up(_parts(sources), _parts(targets), np.zeros(sources.shape[1]), out)


def _parts(matrix: Any) -> Parts:
    return matrix.indptr, matrix.indices, matrix.data


def _owners(indptr: Any) -> Any:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _differences(line: Doubles, columns: Any, row: tuple[Any, Any]) -> Doubles:
    """Return a row's differences from the one in ``line``, whose ``columns`` are given."""
    own, values = row
    gaps = values - line[own]
    held = line[columns]
    line[own] = 0.0
    rest = line[columns]
    line[columns] = held
    return np.concatenate([gaps, rest])


def _multiply_reference(
    source: Parts,
    target: Parts,
    source_norms: Doubles,
    target_norms: Doubles,
    is_root: bool,
    line: Doubles,
    out: Floats,
) -> None:
    starts, columns, values = target
    owners = _owners(starts)
    for i, row in enumerate(out):
        mine = source[1][source[0][i] : source[0][i + 1]]
        line[mine] = source[2][source[0][i] : source[0][i + 1]]
        total = source_norms[i] + target_norms
        square = total - 2.0 * np.bincount(owners, line[columns] * values, len(target_norms))
        for j in np.flatnonzero(~(square >= _TOLERANCE * total)):
            theirs = slice(starts[j], starts[j + 1])
            gaps = _differences(line, mine, (columns[theirs], values[theirs]))
            square[j] = gaps @ gaps
        row[:] = np.sqrt(square) if is_root else square
        line[mine] = 0.0


@kernel(_multiply_reference)
def _multiply(
    source: Parts,
    target: Parts,
    source_norms: Doubles,
    target_norms: Doubles,
    is_root: bool,
    line: Doubles,
    out: Floats,
) -> None:
    starts, columns, values = source
    target_starts, target_columns, target_values = target
    for i in range(out.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            line[columns[k]] = values[k]
        for j in range(out.shape[1]):
            product = 0.0
            for k in range(target_starts[j], target_starts[j + 1]):
                product += line[target_columns[k]] * target_values[k]
            total = source_norms[i] + target_norms[j]
            square = total - 2.0 * product
            if not square >= _TOLERANCE * total:
                square = 0.0
                for k in range(target_starts[j], target_starts[j + 1]):
                    gap = target_values[k] - line[target_columns[k]]
                    square += gap * gap
                    line[target_columns[k]] = 0.0
                for k in range(starts[i], starts[i + 1]):
                    square += line[columns[k]] * line[columns[k]]
                    line[columns[k]] = values[k]
            out[i, j] = np.sqrt(square) if is_root else square
        for k in range(starts[i], starts[i + 1]):
            line[columns[k]] = 0.0


def _add_up_reference(source: Parts, target: Parts, line: Doubles, out: Floats) -> None:
    starts, columns, values = target
    for i, row in enumerate(out):
        mine = source[1][source[0][i] : source[0][i + 1]]
        line[mine] = source[2][source[0][i] : source[0][i + 1]]
        for j in range(len(row)):
            theirs = slice(starts[j], starts[j + 1])
            row[j] = np.abs(_differences(line, mine, (columns[theirs], values[theirs]))).sum()
        line[mine] = 0.0


@kernel(_add_up_reference)
def _add_up(source: Parts, target: Parts, line: Doubles, out: Floats) -> None:
    starts, columns, values = source
    target_starts, target_columns, target_values = target
    for i in range(out.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            line[columns[k]] = values[k]
        for j in range(out.shape[1]):
            total = 0.0
            for k in range(target_starts[j], target_starts[j + 1]):
                total += abs(target_values[k] - line[target_columns[k]])
                line[target_columns[k]] = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += abs(line[columns[k]])
                line[columns[k]] = values[k]
            out[i, j] = total
        for k in range(starts[i], starts[i + 1]):
            line[columns[k]] = 0.0


FORMS: dict[str, Callable[..., Form]] = {
    "plain": plain,
    "with_norms": with_norms,
    "directions": directions,
}

FILLS: dict[str, Callable[..., None]] = {
    "euclidean": partial(_squares, is_root=True),
    "sqeuclidean": partial(_squares, is_root=False),
    "cosine": _angles,
    "manhattan": manhattan,
}
