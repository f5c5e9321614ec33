"""Dense rows in the forms that the distances read: C-contiguous rows, and norms.

A form is a new array, or the block itself, which is never written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels.jit import kernel

# Rows, and their norms if the distance needs them.
Form: TypeAlias = "tuple[Any, Doubles | None]"

_CENTRE_ROWS = 4096
_SMALLEST_NORM = 1e-200  # a squared norm below it, or above 1 / this, is computed again


def strided_centre(*blocks: Floats) -> Doubles | None:
    """Return a point near the mean of evenly spaced rows, or None where centring has no use.

    Products lose digits in proportion to the lengths of the rows. If the mean is no longer than the
    standard deviation of the rows, centring would cost a copy and gain less than a factor of two.
    The point lies on a grid whose step is a power of two, finer than the standard deviation, so
    integers remain integers and equal distances remain equal.
    """
    samples = [block[:: -(-len(block) // _CENTRE_ROWS)] for block in blocks if len(block)]
    if not samples:
        return None
    n = sum(map(len, samples))
    mean: Doubles = np.sum([s.sum(axis=0, dtype=np.float64) for s in samples], axis=0) / n
    spread = sum(np.square(s - mean).sum() for s in samples) / n
    if not mean @ mean > spread:
        return None
    step = 2.0 ** np.floor(np.log2(spread / len(mean)) / 2) if spread > 0 else 0.0
    centre: Doubles = np.rint(mean / step) * step if step > 0 else mean
    return centre


def shifted(block: Floats, centre: Doubles) -> Floats:
    """Return the rows minus ``centre``, rounded to their type first: any point is allowed."""
    rows: Floats = np.subtract(np.asarray(block), centre.astype(block.dtype), order="C")
    return rows


def mapped(block: Floats, by: Doubles) -> Floats:
    """Return the rows times one factor per column, or times a matrix."""
    rows = np.multiply(block, by, dtype=np.float64) if by.ndim == 1 else block @ by
    return rows.astype(block.dtype)


def square_root(matrix: Doubles) -> Doubles | None:
    """Return R such that ``R @ R.T`` is this symmetric matrix, or None if it does not exist."""
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not is_square or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        return None
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-10 * abs(values[-1]):
        return None
    root: Doubles = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def squared_norms(rows: Floats) -> Doubles:
    """Return the squared length of each row, summed in float64."""
    norms = np.empty(len(rows))
    _norms(rows, norms)
    return norms


def _norms_reference(rows: Floats, norms: Doubles) -> None:
    np.einsum("ij,ij->i", rows, rows, dtype=np.float64, out=norms)


@kernel(_norms_reference)
def _norms(rows: Floats, norms: Doubles) -> None:
    for i in range(rows.shape[0]):
        square = 0.0
        for k in range(rows.shape[1]):
            square += np.float64(rows[i, k]) * np.float64(rows[i, k])
        norms[i] = square


def _scale_reference(rows: Floats, factors: Doubles, out: Floats) -> None:
    np.multiply(rows, factors[:, None], out=out, dtype=np.float64, casting="same_kind")


@kernel(_scale_reference)
def _scale(rows: Floats, factors: Doubles, out: Floats) -> None:
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] = rows[i, k] * factors[i]


def length_factors(norms: Doubles) -> Doubles:
    """Return the factors that scale rows of these squared norms to the length sqrt(1/2)."""
    return np.sqrt(np.divide(0.5, norms, out=np.zeros_like(norms), where=norms > 0))


def half_if_zero(norms: Doubles) -> Doubles:
    """Return ``norms`` with 0 replaced by 1/2."""
    return np.where(norms > 0, norms, 0.5)


def _plain(block: Floats) -> Form:
    # Every kernel would be compiled again for read-only and for strided arrays.
    return np.require(block, requirements=["C", "A", "W", "E"]), None


def _with_norms(block: Floats) -> Form:
    rows, _ = _plain(block)
    return rows, squared_norms(rows)


def _directions(block: Floats) -> Form:
    """Scale rows to the length sqrt(1/2), at which a squared distance is 1 - cosine.

    A zero row also gets the norm 1/2: its products are 0, so its distance from every row is 1.
    """
    return _scaled_to_one_length(_plain(block)[0], block.dtype)


def _profiles(block: Floats) -> Form:
    """Subtract the mean of each row, then scale rows as `_directions` does."""
    constant = np.flatnonzero(block.max(axis=1) == block.min(axis=1))
    if len(constant):
        raise InvalidInput(
            f"metric='correlation' is undefined for a constant row, such as row {constant[0]} of a "
            f"block ({len(constant)} such row(s)). Drop those rows or use another metric."
        )
    rows, _ = _plain(block)  # the last digit of a mean depends on the layout
    if not 1e-200 < float(np.abs(rows).max(initial=0)) < 1e200:  # a mean may overflow
        rows = with_largest_one(rows)
    return _scaled_to_one_length(rows - rows.mean(axis=1, dtype=np.float64)[:, None], block.dtype)


def _scaled_to_one_length(rows: Floats, dtype: np.dtype[Any]) -> Form:
    scaled, norms = np.empty(rows.shape, dtype=dtype), squared_norms(rows)
    extreme = np.flatnonzero(~((norms > _SMALLEST_NORM) & (norms < 1 / _SMALLEST_NORM)))
    if len(extreme):  # squares of these rows may have over- or underflowed
        rows = rows.copy()
        rows[extreme] = with_largest_one(rows[extreme])
        norms[extreme] = squared_norms(rows[extreme])
    _scale(rows, length_factors(norms), scaled)
    return scaled, half_if_zero(squared_norms(scaled))


def with_largest_one(rows: Floats) -> Floats:
    """Return each row times a power of two, so that its largest number is about 1; 0 stays 0."""
    _, exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))
    scaled: Floats = np.ldexp(rows, -exponents[:, None])
    return scaled


def _sets(block: Floats) -> Form:
    """Convert rows to zeros and ones, and count the ones."""
    rows: Floats = np.ascontiguousarray(block != 0, dtype=block.dtype)
    return rows, rows.sum(axis=1, dtype=np.float64)


def _flags(block: Floats) -> Form:
    return np.ascontiguousarray(block != 0), None


def _points(block: Floats) -> Form:
    if block.shape[1] != 2:
        raise InvalidInput(
            f"metric='haversine' got rows of {block.shape[1]} column(s). Pass exactly 2: "
            f"latitude and longitude in radians (numpy.radians converts degrees)."
        )
    return _plain(block)


FORMS: dict[str, Callable[[Floats], Form]] = {
    "plain": _plain,
    "with_norms": _with_norms,
    "directions": _directions,
    "profiles": _profiles,
    "sets": _sets,
    "flags": _flags,
    "points": _points,
}
