"""Distinct source rows near given centres: k-means finds centres, prototypes are rows."""

import numpy as np

_CENTRES, _ROWS = 1024, 512  # of one product: it stays in the cache


def nearest_distinct_rows(centres, rows):
    """Return one row number per centre, all different, in the order of the centres.

    A centre gets the row nearest to it. If several centres share that row, the first of them keeps
    it and the others get the nearest row that is still free.
    """
    if len(centres) > len(rows):
        raise ValueError(f"{len(centres)} centres need as many rows, got {len(rows)}.")
    shift = centres.mean(axis=0, dtype=np.float64).astype(np.float32)  # far from 0 loses digits
    centres = np.ascontiguousarray(centres, dtype=np.float32) - shift
    found = np.full(len(centres), -1)
    is_free = np.ones(len(rows), dtype=bool)
    while len(open_ := np.flatnonzero(found < 0)):
        nearest = _nearest(centres[open_], rows, shift, is_free)
        taken, first = np.unique(nearest, return_index=True)
        found[open_[first]] = taken
        is_free[taken] = False
    return found


def _nearest(centres, rows, shift, is_free):
    """Return the nearest free row of each centre: the largest c·r - r·r/2."""
    n, d = centres.shape
    ends = np.ones((n, d + 1), dtype=np.float32)
    ends[:, :d] = centres
    best, where = np.full(n, -np.inf, dtype=np.float32), np.zeros(n, dtype=np.int64)
    for start in range(0, len(rows), _ROWS):
        block = np.empty((min(_ROWS, len(rows) - start), d + 1), dtype=np.float32)
        np.subtract(rows[start : start + _ROWS], shift, out=block[:, :d])
        block[:, d] = -0.5 * np.einsum("ij,ij->i", block[:, :d], block[:, :d])
        block[~is_free[start : start + _ROWS], :d] = 0
        block[~is_free[start : start + _ROWS], d] = -np.inf
        for first in range(0, n, _CENTRES):
            values = ends[first : first + _CENTRES] @ block.T
            column = values.argmax(axis=1)
            value = values[np.arange(len(values)), column]
            part = slice(first, first + len(values))
            is_better = value > best[part]
            best[part][is_better] = value[is_better]
            where[part][is_better] = start + column[is_better]
    return where
