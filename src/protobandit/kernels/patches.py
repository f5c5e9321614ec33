"""Distances by products for many small blocks at once.

Patch p compares the rows ``row_ids[first[p] : last[p]]`` with the candidates
``candidate_ids[begin[p] : end[p]]``. Its distances are written to ``out[at[p] :]``, one line per
row. Rows and candidates are C-contiguous arrays of the same float type, with their squared norms.

A block of a patch stays in cache. A product that is not precise enough (see `distances`) is
replaced by the sum of squared differences. Where rows have few columns, or patches few candidates,
sums of squared differences are faster than products. They are computed in the precision of the
rows, which suffices: no large numbers are subtracted from each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel

Positions = NDArray[np.int32]

_ROWS, _FEWEST_ROWS = 128, 8  # of one product; 128 rows of 64 columns stay in the first cache
# OpenBLAS computes products of fewer multiply-adds without packing their operands first: 170
# instead of 120 GFlop/s for 32 and 48 rows, 36 candidates, 784 columns.
_SMALL_PRODUCT = 1_000_000


def squares_of_patches_reference(
    rows: Floats,
    row_norms: Doubles,
    row_ids: Positions,
    first: Ids,
    last: Ids,
    candidates: Floats,
    candidate_norms: Doubles,
    candidate_ids: Positions,
    begin: Ids,
    end: Ids,
    at: Ids,
    tolerance: float,
    floor: float,
    is_root: bool,
    most: float,
    out: Floats,
) -> None:
    """Fill ``out`` with squared distances, or their roots, of at most ``most``."""
    for p in range(len(at)):
        some, others = row_ids[first[p] : last[p]], candidate_ids[begin[p] : end[p]]
        left, right = rows[some], candidates[others]
        total = row_norms[some][:, None] + candidate_norms[others]
        with np.errstate(over="ignore", invalid="ignore"):
            values = total - 2.0 * (left @ right.T)
        is_safe = (values >= tolerance * total + floor) & (values <= 3 * total)
        i, h = np.nonzero(~is_safe)
        differences = left[i].astype(np.float64) - right[h]
        values[i, h] = np.einsum("ij,ij->i", differences, differences)
        values = np.minimum(np.sqrt(values) if is_root else values, most)
        out[at[p] : at[p] + values.size] = values.ravel()


def _scratch(
    rows: Floats,
    row_norms: Doubles,
    row_ids: Positions,
    first: Ids,
    last: Ids,
    candidates: Floats,
    candidate_norms: Doubles,
    candidate_ids: Positions,
    begin: Ids,
    end: Ids,
    *others: object,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return room for the rows of a product and for candidates, both with their norms."""
    n_columns, n_candidates = rows.shape[1], int((end - begin).max(initial=0))
    return (
        np.empty((_ROWS, n_columns), rows.dtype),
        np.empty(_ROWS, rows.dtype),
        np.empty(n_candidates * n_columns, rows.dtype),
        np.empty(n_candidates, rows.dtype),
    )


@kernel(squares_of_patches_reference, _scratch)
def squares_of_patches(  # type: ignore[no-untyped-def]
    rows,
    row_norms,
    row_ids,
    first,
    last,
    candidates,
    candidate_norms,
    candidate_ids,
    begin,
    end,
    at,
    tolerance,
    floor,
    is_root,
    most,
    out,
    left,
    left_norms,
    room,
    norms,
):
    n_columns = rows.shape[1]
    share, small = rows.dtype.type(tolerance), rows.dtype.type(floor)
    two, three, limit = rows.dtype.type(2), rows.dtype.type(3), rows.dtype.type(most)
    for p in range(len(at)):
        k = end[p] - begin[p]
        if k == 0:
            continue
        right = room[: n_columns * k].reshape(n_columns, k)  # as products need it
        for h in range(k):
            c = candidate_ids[begin[p] + h]
            norms[h] = candidate_norms[c]
            for q in range(n_columns):
                right[q, h] = candidates[c, q]
        step_rows = _SMALL_PRODUCT // (k * n_columns)
        step_rows = _FEWEST_ROWS if step_rows < _FEWEST_ROWS else step_rows
        step_rows = _ROWS if step_rows > _ROWS else step_rows
        for start in range(first[p], last[p], step_rows):
            n = last[p] - start
            n = step_rows if step_rows < n else n
            for i in range(n):
                j = row_ids[start + i]
                left_norms[i] = row_norms[j]
                for q in range(n_columns):
                    left[i, q] = rows[j, q]
            there = at[p] + (start - first[p]) * k
            block = out[there : there + n * k].reshape(n, k)
            np.dot(left[:n], right, block)
            for i in range(n):
                # In the precision of the rows, which the guard allows for.
                norm, line, n_safe = left_norms[i], block[i], 0
                for h in range(k):
                    total = norm + norms[h]
                    value = total - two * line[h]
                    n_safe += (value >= share * total + small) & (value <= three * total)
                    line[h] = value
                if n_safe < k:
                    for h in range(k):
                        total = norm + norms[h]
                        value = line[h]
                        if not (value >= share * total + small and value <= three * total):
                            square = 0.0
                            for q in range(n_columns):
                                step = np.float64(left[i, q]) - np.float64(right[q, h])
                                square += step * step
                            line[h] = square
                if is_root:
                    for h in range(k):
                        line[h] = np.sqrt(line[h])
                if limit < np.inf:
                    for h in range(k):
                        line[h] = line[h] if line[h] < limit else limit


@kernel(squares_of_patches_reference)
def squares_by_differences(  # type: ignore[no-untyped-def]
    rows,
    row_norms,
    row_ids,
    first,
    last,
    candidates,
    candidate_norms,
    candidate_ids,
    begin,
    end,
    at,
    tolerance,
    floor,
    is_root,
    most,
    out,
):
    zero, limit = rows.dtype.type(0), rows.dtype.type(most)
    for p in range(len(at)):
        n_candidates = end[p] - begin[p]
        for h in range(n_candidates):
            candidate = candidates[candidate_ids[begin[p] + h]]
            there = at[p] + h
            for i in range(first[p], last[p]):
                row = rows[row_ids[i]]
                square = zero
                for q in range(len(row)):
                    step = row[q] - candidate[q]
                    square += step * step
                value = np.sqrt(square) if is_root else square
                out[there] = value if value < limit else limit
                there += n_candidates
