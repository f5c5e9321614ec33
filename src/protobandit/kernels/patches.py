"""Distances of many small blocks at once, kept or judged where they are made.

Patch p compares the rows ``row_ids[first[p] : last[p]]`` with the candidates
``candidate_ids[begin[p] : end[p]]``. Its distances are written to ``out[at[p] :]``, one line per
row. Rows and candidates are C-contiguous arrays of the same float type, with their squared norms.

Candidates are judged by what they would change if they became prototypes: see `cells.judge`. Most
rows are nearer to the prototypes that they have than to all candidates of their patch. This is seen
from the squares of the distances, without a root. So if distances are not kept, those of a block
never leave the first cache, and only lines with a candidate that is near enough are read again.

A product adds the squared norms too, as two more columns of its operands. If a square is too small
for the precision of the product (see `distances`), it is replaced by the sum of squared
differences. Where rows have few columns, or patches few candidates, sums of squared differences are
faster than products. They are computed in the precision of the rows, which suffices: no large
numbers are subtracted from each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel

Positions = NDArray[np.int32]

_ROWS, _FEWEST_ROWS = 128, 8  # of one product; 128 rows of 64 columns stay in the first cache
# OpenBLAS computes products of fewer multiply-adds without packing their operands first: 170
# instead of 120 GFlop/s for 32 and 48 rows, 36 candidates, 784 columns.
_SMALL_PRODUCT = 1_000_000
_LINE = 64  # bytes


def compare_patches_reference(
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
    n_for_products: int,
    tolerance: float,
    floor: float,
    is_root: bool,
    most: float,
    are_kept: bool,
    out: Floats,
    cells: Ids,
    weights: Floats,
    served: Positions,
    D: Floats,
    E: Floats,
    changes: Doubles,
    gains: Doubles,
) -> None:
    """Compute squared distances, or their roots, of at most ``most``; keep or judge them.

    They come from products in patches of at least ``n_for_products`` candidates.

    They are written to ``out`` if ``are_kept``, and the candidates of patch p are judged for the
    cell ``cells[p]`` unless there are no cells. Row i of ``row_ids`` has the weight ``weights[i]``.
    ``D`` and ``E`` are at most ``most``, or infinite.
    """
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
        if are_kept:
            out[at[p] : at[p] + values.size] = values.ravel()
        if len(cells):
            w = weights[first[p] : last[p]].astype(np.float64)
            near = D[some].astype(np.float64)
            limit = np.where(served[some] == cells[p], E[some].astype(np.float64), near)
            n = len(others)
            changes[p, :n] = w @ (np.minimum(values, limit[:, None]) - near[:, None])
            gains[p, :n] = w @ np.maximum(near[:, None] - values, 0)


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
) -> tuple[Floats | Positions, ...]:
    """Return room for a block, its operands, the norms and sums of candidates, and some lines."""
    dtype, width = rows.dtype, int((end - begin).max(initial=0))
    n_columns = rows.shape[1] + 2
    return (
        _aligned(_ROWS * width, dtype),
        _aligned(_ROWS * n_columns, dtype).reshape(_ROWS, n_columns),
        _aligned(n_columns * width, dtype),
        *(np.empty(width, dtype) for _ in range(3)),
        np.empty(_ROWS, np.int32),
    )


def _aligned(n: int, dtype: np.dtype[Any]) -> Floats:
    """Return n numbers that begin with a cache line: products of them are faster."""
    room = np.empty(n + _LINE // dtype.itemsize, dtype)
    first = -room.ctypes.data % _LINE // dtype.itemsize
    aligned: Floats = room[first : first + n]
    return aligned


@kernel(compare_patches_reference, _scratch)
def compare_patches(  # type: ignore[no-untyped-def]
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
    n_for_products,
    tolerance,
    floor,
    is_root,
    most,
    are_kept,
    out,
    cells,
    weights,
    served,
    D,
    E,
    changes,
    gains,
    room,
    left,
    operand,
    norms,
    change,
    gain,
    lines,
):
    n_columns, is_judged = rows.shape[1], len(cells) > 0
    to_type = rows.dtype.type
    share, small, limit = to_type(tolerance), to_type(floor), to_type(most)
    zero, one, two, three = to_type(0), to_type(1), to_type(2), to_type(3)
    values = out if are_kept else room
    for p in range(len(at)):
        k, unchanged, largest = end[p] - begin[p], 0.0, zero
        if k == 0:
            continue
        are_products = k >= n_for_products
        right = operand[: (n_columns + 2) * k].reshape(n_columns + 2, k)
        for h in range(k):
            if is_judged:
                changes[p, h] = 0.0
                gains[p, h] = 0.0
            if are_products:
                c = candidate_ids[begin[p] + h]
                norms[h] = candidate_norms[c]
                largest = norms[h] if norms[h] > largest else largest
                for q in range(n_columns):
                    right[q, h] = -two * candidates[c, q]
                right[n_columns, h] = one
                right[n_columns + 1, h] = norms[h]
        step_rows = _SMALL_PRODUCT // (k * n_columns)
        step_rows = _FEWEST_ROWS if step_rows < _FEWEST_ROWS else step_rows
        step_rows = _ROWS if step_rows > _ROWS else step_rows
        for start in range(first[p], last[p], step_rows):
            n = last[p] - start
            n = step_rows if step_rows < n else n
            there = at[p] + (start - first[p]) * k if are_kept else 0
            block = values[there : there + n * k].reshape(n, k)
            if are_products:
                for i in range(n):
                    j = row_ids[start + i]
                    for q in range(n_columns):
                        left[i, q] = rows[j, q]
                    left[i, n_columns] = row_norms[j]
                    left[i, n_columns + 1] = one
                np.dot(left[:n], right, block)
            else:
                for h in range(k):
                    candidate = candidates[candidate_ids[begin[p] + h]]
                    for i in range(n):
                        row, square = rows[row_ids[start + i]], zero
                        for q in range(n_columns):
                            step = row[q] - candidate[q]
                            square += step * step
                        block[i, h] = square
            # The lines that are read again: those with a square that is too small for the product,
            # or near enough. There are no branches, which would be mispredicted.
            n_lines = 0
            for i in range(n):
                lines[n_lines] = i
                line, n_near = block[i], zero
                bound = share * (left[i, n_columns] + largest) + small if are_products else zero
                if is_judged:
                    j = row_ids[start + i]
                    near = D[j]
                    rest = E[j] if served[j] == cells[p] else near
                    enough = rest * rest if is_root else rest
                    bound = enough if enough > bound else bound
                for h in range(k):
                    n_near += zero if line[h] >= bound else one
                if is_judged:
                    unchanged += weights[start + i] * (zero if n_near > zero else rest - near)
                n_lines += n_near > zero
            for a in range(n_lines if are_products else 0):
                i = lines[a]
                norm, line, n_safe = left[i, n_columns], block[i], zero
                for h in range(k):
                    total = norm + norms[h]
                    is_safe = (line[h] >= share * total + small) & (line[h] <= three * total)
                    n_safe += one if is_safe else zero
                if n_safe < k:
                    for h in range(k):
                        total = norm + norms[h]
                        if not (line[h] >= share * total + small and line[h] <= three * total):
                            exact = 0.0
                            for q in range(n_columns):
                                half = 0.5 * np.float64(right[q, h])
                                gap = np.float64(left[i, q]) + half
                                exact += gap * gap
                            line[h] = exact
            if is_judged:
                for h in range(k):
                    change[h] = zero
                    gain[h] = zero
                for a in range(n_lines):
                    i = lines[a]
                    j, weight, line = row_ids[start + i], weights[start + i], block[i]
                    near = D[j]
                    lost = near - E[j] if served[j] == cells[p] else zero
                    for h in range(k):
                        value = np.sqrt(line[h]) if is_root else line[h]
                        saved = near - (value if value < limit else limit)
                        change[h] -= weight * (saved if saved > lost else lost)
                        gain[h] += weight * (saved if saved > zero else zero)
            if are_kept:
                for x in range(there, there + n * k):
                    value = np.sqrt(values[x]) if is_root else values[x]
                    values[x] = value if value < limit else limit
            if is_judged:
                for h in range(k):
                    changes[p, h] += change[h]
                    gains[p, h] += gain[h]
        if is_judged:
            for h in range(k):
                changes[p, h] += unchanged
