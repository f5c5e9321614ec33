"""Dense rows in the forms the distances read: a block in, C-contiguous rows and norms out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from protobandit._typing import Doubles, Floats

# Rows, and their norms if the distance asks for them.
Form: TypeAlias = "tuple[Any, Doubles | None]"

_CENTRE_ROWS = 4096


def strided_centre(*blocks: Floats) -> Doubles | None:
    """Return a point near which to put the origin, or None where that would gain nothing.

    It is the mean of evenly spaced rows, in the columns whose mean exceeds their spread: there the
    subtraction is exact or nearly so. Elsewhere it would only round.
    """
    samples = [block[:: -(-len(block) // _CENTRE_ROWS)] for block in blocks if len(block)]
    if not samples:
        return None
    n = sum(map(len, samples))
    mean: Doubles = np.sum([s.sum(axis=0, dtype=np.float64) for s in samples], axis=0) / n
    spread: Doubles = np.sum([np.square(s - mean).sum(axis=0) for s in samples], axis=0) / n
    centre: Doubles = np.where(mean**2 > spread, mean, 0.0)
    return centre if centre @ centre > spread.sum() else None


def shifted(block: Floats, centre: Doubles) -> Floats:
    """Return the rows less ``centre`` rounded to their type, which makes most differences exact."""
    rows: Floats = np.subtract(np.asarray(block), centre.astype(block.dtype), order="C")
    return rows


def mapped(block: Floats, by: Doubles) -> Floats:
    """Return the rows times one factor a column, or times a matrix."""
    rows = np.multiply(block, by, dtype=np.float64) if by.ndim == 1 else block @ by
    return rows.astype(block.dtype)


def square_root(matrix: Doubles) -> Doubles | None:
    """Return R such that ``R @ R.T`` is this symmetric matrix, or None if there is none."""
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not is_square or not np.allclose(matrix, matrix.T):
        return None
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-10 * abs(values[-1]):
        return None
    root: Doubles = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def squared_norms(rows: Floats) -> Doubles:
    """Return the squared length of each row, summed in float64."""
    norms: Doubles = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return norms


def length_factors(norms: Doubles) -> Doubles:
    """Return what to multiply rows of these squared norms by to bring them to length sqrt(1/2)."""
    return np.sqrt(np.divide(0.5, norms, out=np.zeros_like(norms), where=norms > 0))


def half_if_zero(norms: Doubles) -> Doubles:
    """Return ``norms`` with 1/2 in place of 0."""
    return np.where(norms > 0, norms, 0.5)


def _plain(block: Floats) -> Form:
    # Read-only and strided arrays would each have every kernel compiled once more.
    return np.require(block, requirements=["C", "A", "W", "E"]), None


def _with_norms(block: Floats) -> Form:
    rows, _ = _plain(block)
    return rows, squared_norms(rows)


def _directions(block: Floats) -> Form:
    """Scale rows to the length sqrt(1/2), at which a squared distance is 1 - cosine.

    A zero row gets the norm 1/2 too: with products of 0 it is at distance 1 from every row.
    """
    return _at_one_length(block, block.dtype)


def _profiles(block: Floats) -> Form:
    return _at_one_length(block - block.mean(axis=1, dtype=np.float64)[:, None], block.dtype)


def _at_one_length(block: Floats, dtype: np.dtype[Any]) -> Form:
    factors = length_factors(squared_norms(block))[:, None]
    rows = np.multiply(block, factors, dtype=np.float64).astype(dtype, order="C", subok=False)
    return rows, half_if_zero(squared_norms(rows))


def _sets(block: Floats) -> Form:
    """Turn rows into zeros and ones, and count the ones."""
    rows: Floats = np.ascontiguousarray(block != 0, dtype=block.dtype)
    return rows, rows.sum(axis=1, dtype=np.float64)


def _flags(block: Floats) -> Form:
    return np.ascontiguousarray(block != 0), None


FORMS: dict[str, Callable[[Floats], Form]] = {
    "plain": _plain,
    "with_norms": _with_norms,
    "directions": _directions,
    "profiles": _profiles,
    "sets": _sets,
    "flags": _flags,
}
