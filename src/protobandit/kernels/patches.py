"""Distances by products for many small blocks at once.

Patch p compares the rows ``row_ids[first[p] : last[p]]`` with the candidates
``candidate_ids[begin[p] : end[p]]``. Its distances are written to ``out[at[p] :]``, one line per
row. Rows and candidates are C-contiguous arrays of the same float type, with their squared norms.

A block of a patch stays in cache. A product that is not precise enough (see `distances`) is
replaced by the sum of squared differences; with few columns all are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.distances import FEW_COLUMNS
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
    guard: tuple[float, float],
    is_root: bool,
    most: float,
    out: Floats,
) -> None:
    """Fill ``out`` with squared distances, or their roots, of at most ``most``."""
    tolerance, floor = guard
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


@kernel(squares_of_patches_reference)
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
    guard,
    is_root,
    most,
    out,
):
    tolerance, floor = guard
    n_columns = rows.shape[1]
    n_rows, n_candidates = 0, 0
    for p in range(len(at)):
        n_rows = max(n_rows, min(last[p] - first[p], _ROWS))
        n_candidates = max(n_candidates, end[p] - begin[p])
    left = np.empty((n_rows, n_columns), rows.dtype)
    room = np.empty(n_candidates * n_columns, rows.dtype)
    norms = np.empty(n_candidates, rows.dtype)
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
        step_rows = min(_ROWS, max(_FEWEST_ROWS, _SMALL_PRODUCT // max(1, k * n_columns)))
        for start in range(first[p], last[p], step_rows):
            n = min(step_rows, last[p] - start)
            for i in range(n):
                j = row_ids[start + i]
                for q in range(n_columns):
                    left[i, q] = rows[j, q]
            there = at[p] + (start - first[p]) * k
            block = out[there : there + n * k].reshape(n, k)
            if n_columns <= FEW_COLUMNS:
                for i in range(n):
                    for h in range(k):
                        square = 0.0
                        for q in range(n_columns):
                            step = np.float64(left[i, q]) - np.float64(right[q, h])
                            square += step * step
                        block[i, h] = min(np.sqrt(square) if is_root else square, most)
                continue
            np.dot(left[:n], right, block)
            for i in range(n):
                # In the precision of the rows, which the guard allows for.
                norm = rows.dtype.type(row_norms[row_ids[start + i]])
                line = block[i]
                n_safe = 0
                for h in range(k):
                    total = norm + norms[h]
                    value = total - two * line[h]
                    is_safe = (value >= share * total + small) & (value <= three * total)
                    n_safe += is_safe
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
