"""Distances of dense rows: ``out[i, j]`` is the distance of target row j and source row i.

Rules
-----
1. Rows are C-contiguous. Both sides and ``out`` have the same float type. ``out`` may be a part of
   the columns of a larger array.
2. Sums are computed in the precision of the rows over direct differences, so the distance of
   identical rows is exactly 0.

Squared distances by products
-----------------------------
|x - y|^2 = |x|^2 + |y|^2 - 2 x.y is as fast as BLAS but loses digits when the norms are much larger
than the distance. A value is kept if it is at least `TOLERANCE` times |x|^2 + |y|^2 and no product
can have over- or underflowed. Every other pair is computed again from its differences, in float64.
Products and norms may be those of centred (and rounded) rows; differences are always those of the
rows before centring.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels.jit import Kernel, kernel

# Measured on MNIST: below 0.03 a float32 product gives fewer than five digits of the distance, and
# three pairs in a million are below it.
TOLERANCE: dict[np.dtype[Any], float] = {
    np.dtype(np.float32): 0.03,
    np.dtype(np.float64): 1e-6,
}
GUARD = {t: (share, float(np.finfo(t).tiny / np.finfo(t).eps)) for t, share in TOLERANCE.items()}

# Up to this number differences are as fast as products (measured), and they lose no digits.
FEW_COLUMNS = 12
_NARROW = 8  # target rows below which loops over source rows are faster (measured)

_TINY_AT_ONCE = 1 << 14  # distances that the reference compares with the guard at the same time


def _squares(
    sources: Floats,
    targets: Floats,
    source_norms: Doubles,
    target_norms: Doubles,
    out: Floats,
    *,
    is_root: bool,
    near: tuple[Floats, Floats] | None = None,
    at: tuple[Ids | None, Ids | None] = (None, None),
) -> None:
    """Fill ``out`` with squared distances, or their roots.

    With ``near`` the products are those of centred rows, and ``sources`` and ``targets`` are used
    only for the pairs whose products are not precise enough. Row i of the block is then row
    ``at[0][i]`` of ``sources``.
    """
    if sources.shape[1] <= FEW_COLUMNS:
        if len(targets) < min(_NARROW, len(sources)):
            block = np.empty((len(targets), len(sources)), dtype=out.dtype)
            _squares_by_column(targets, np.ascontiguousarray(sources.T), is_root, block)
            out[:] = block.T  # the same bits: a difference and its negative have the same square
        else:
            _squares_by_column(sources, np.ascontiguousarray(targets.T), is_root, out)
        _recompute_tiny(sources, targets, is_root, out)
        return
    left, right = (sources, targets) if near is None else near
    with np.errstate(over="ignore", invalid="ignore"):
        np.matmul(left, right.T, out=out)
    places = [np.arange(n) if ids is None else ids for ids, n in zip(at, out.shape, strict=True)]
    norms = source_norms, target_norms
    _distances_from_products(sources, targets, *places, *norms, *GUARD[sources.dtype], is_root, out)


def _recompute_tiny(sources: Floats, targets: Floats, is_root: bool, out: Floats) -> None:
    """Compute again, in float64, values so small that their squares may have underflowed."""
    floor = GUARD[sources.dtype][1]
    limit = out.dtype.type(np.sqrt(floor) if is_root else floor)
    if out.min(initial=limit) < limit:
        _recompute_below(sources, targets, limit, is_root, out)


def _recompute_below_reference(
    sources: Floats, targets: Floats, limit: Any, is_root: bool, out: Floats
) -> None:
    # Some rows at a time: if most rows are equal, the differences would need more than the out.
    for cut in cuts(len(out), max(1, _TINY_AT_ONCE // max(1, len(targets)))):
        i, j = np.nonzero(out[cut] < limit)
        gaps = sources[cut][i].astype(np.float64) - targets[j]
        squares = (gaps**2).sum(axis=1)
        out[cut][i, j] = np.sqrt(squares) if is_root else squares


@kernel(_recompute_below_reference)
def _recompute_below(sources, targets, limit, is_root, out):  # type: ignore[no-untyped-def]
    for i in range(len(sources)):
        for j in range(len(targets)):
            if out[i, j] < limit:
                square = 0.0
                for k in range(sources.shape[1]):
                    gap = np.float64(sources[i, k]) - np.float64(targets[j, k])
                    square += gap * gap
                out[i, j] = np.sqrt(square) if is_root else square


def _angles(
    sources: Floats, targets: Floats, source_norms: Doubles, target_norms: Doubles, out: Floats
) -> None:
    np.matmul(sources, targets.T, out=out)
    places = np.arange(len(sources)), np.arange(len(targets))
    norms = source_norms, target_norms
    _distances_from_products(sources, targets, *places, *norms, *GUARD[sources.dtype], False, out)
    np.minimum(out, 2.0, out=out)


def _distances_from_products_reference(
    sources: Floats,
    targets: Floats,
    source_at: Ids,
    target_at: Ids,
    source_norms: Doubles,
    target_norms: Doubles,
    tolerance: float,
    floor: float,
    is_root: bool,
    out: Floats,
) -> None:
    for i, row in enumerate(out):
        total = source_norms[i] + target_norms
        value = total - 2.0 * row
        is_safe = (value >= tolerance * total) & (value >= floor) & (value <= 3 * total)
        again = np.flatnonzero(~is_safe)
        gaps = targets[target_at[again]].astype(np.float64) - sources[source_at[i]]
        value[again] = np.einsum("ij,ij->i", gaps, gaps)
        row[:] = np.sqrt(value) if is_root else value


@kernel(_distances_from_products_reference)
def _distances_from_products(  # type: ignore[no-untyped-def]
    sources,
    targets,
    source_at,
    target_at,
    source_norms,
    target_norms,
    tolerance,
    floor,
    is_root,
    out,
):
    # `out` holds products on entry and distances on return. The first two loops over a row have no
    # branches, which SIMD lanes require.
    n = len(target_at)
    for i in range(len(source_at)):
        row = out[i]
        n_safe = 0
        for j in range(n):
            total = source_norms[i] + target_norms[j]
            value = total - 2.0 * row[j]
            n_safe += (value >= tolerance * total) & (value >= floor) & (value <= 3.0 * total)
            row[j] = value
        if is_root:
            for j in range(n):
                row[j] = np.sqrt(row[j])
        if n_safe < n:
            for j in range(n):
                total = source_norms[i] + target_norms[j]
                value = np.float64(row[j]) ** 2 if is_root else np.float64(row[j])
                if not (value >= tolerance * total and value >= floor and value <= 3.0 * total):
                    source, target = sources[source_at[i]], targets[target_at[j]]
                    square = 0.0
                    for k in range(len(source)):
                        gap = np.float64(source[k]) - np.float64(target[k])
                        square += gap * gap
                    row[j] = np.sqrt(square) if is_root else square


def _squares_by_column_reference(
    sources: Floats, columns: Floats, is_root: bool, out: Floats
) -> None:
    for i, row in enumerate(out[:, : columns.shape[1]]):
        square = ((columns - sources[i][:, None]) ** 2).sum(axis=0)
        row[:] = np.sqrt(square) if is_root else square


@kernel(_squares_by_column_reference)
def _squares_by_column(sources: Floats, columns: Floats, is_root: bool, out: Floats) -> None:
    n = columns.shape[1]
    for i in range(sources.shape[0]):
        row = out[i]
        for j in range(n):
            row[j] = 0
        for k in range(sources.shape[1]):
            column = columns[k]
            for j in range(n):
                gap = column[j] - sources[i, k]
                row[j] += gap * gap
        if is_root:
            for j in range(n):
                row[j] = np.sqrt(row[j])


def _pairs_reference(
    sources: Floats, targets: Floats, source_at: Ids, target_at: Ids, is_root: bool, out: Floats
) -> None:
    """Fill ``out[n]`` with the distance of source ``source_at[n]`` and target ``target_at[n]``."""
    gaps = sources[source_at].astype(np.float64) - targets[target_at]
    squares = (gaps**2).sum(axis=1)
    out[:] = np.sqrt(squares) if is_root else squares


@kernel(_pairs_reference)
def squares_of_pairs(sources, targets, source_at, target_at, is_root, out):  # type: ignore[no-untyped-def]
    for n in range(len(out)):
        source, target = sources[source_at[n]], targets[target_at[n]]
        total = 0.0
        for k in range(len(source)):
            gap = np.float64(source[k]) - np.float64(target[k])
            total += gap * gap
        out[n] = np.sqrt(total) if is_root else total


def _by_source(formula: Callable[..., Any]) -> Callable[..., None]:
    """Return the NumPy reference that applies ``formula(targets, source)`` to each source."""

    def reference(sources: Floats, targets: Floats, *rest: Any) -> None:
        *parameters, out = rest
        for i, source in enumerate(sources):
            out[i] = formula(targets, source, *parameters)

    return reference


def _share(part: Floats, whole: Floats) -> Floats:
    """Return ``part / whole``, and 0 where ``part`` is 0."""
    with np.errstate(divide="ignore"):
        return np.divide(part, whole, out=np.zeros_like(part), where=part > 0)


@kernel(_by_source(lambda targets, source: np.abs(targets - source).sum(axis=1)))
def manhattan(sources: Floats, targets: Floats, out: Floats) -> None:
    """Sum the absolute differences."""
    zero = sources.dtype.type(0)
    for i in range(sources.shape[0]):
        for j in range(targets.shape[0]):
            total = zero
            for k in range(sources.shape[1]):
                total += abs(sources[i, k] - targets[j, k])
            out[i, j] = total


@kernel(_by_source(lambda targets, source: (targets != source).mean(axis=1)))
def hamming(sources: Floats, targets: Floats, out: Floats) -> None:
    """Compute the share of columns that differ."""
    zero, one = sources.dtype.type(0), sources.dtype.type(1)
    for i in range(sources.shape[0]):
        for j in range(targets.shape[0]):
            total = zero
            for k in range(sources.shape[1]):
                total += one if sources[i, k] != targets[j, k] else zero
            out[i, j] = total / sources.shape[1]


def _canberra(targets: Floats, source: Floats) -> Floats:
    share = _share(np.abs(targets - source), np.abs(targets) + np.abs(source))
    total: Floats = share.sum(axis=1)
    return total


@kernel(_by_source(_canberra))
def canberra(sources: Floats, targets: Floats, out: Floats) -> None:
    """Sum |x - y| / (|x| + |y|) over columns; 0/0 counts as 0."""
    zero = sources.dtype.type(0)
    for i in range(sources.shape[0]):
        for j in range(targets.shape[0]):
            total = zero
            for k in range(sources.shape[1]):
                gap = abs(sources[i, k] - targets[j, k])
                size = abs(sources[i, k]) + abs(targets[j, k])
                total += gap / size if size > zero else zero
            out[i, j] = total


def _braycurtis(targets: Floats, source: Floats) -> Floats:
    return _share(np.abs(targets - source).sum(axis=1), np.abs(targets + source).sum(axis=1))


@kernel(_by_source(_braycurtis))
def braycurtis(sources: Floats, targets: Floats, out: Floats) -> None:
    """Divide the sum of |x - y| by the sum of |x + y|; 0/0 is 0, and x and -x give infinity."""
    zero = sources.dtype.type(0)
    for i in range(sources.shape[0]):
        for j in range(targets.shape[0]):
            gap, size = zero, zero
            for k in range(sources.shape[1]):
                gap += abs(sources[i, k] - targets[j, k])
                size += abs(sources[i, k] + targets[j, k])
            out[i, j] = gap / size if gap > zero else zero


def _minkowski_formula(targets: Floats, source: Floats, p: float) -> Floats:
    gaps = np.abs(targets.astype(np.float64) - source)
    largest = gaps.max(axis=1)
    shares = _share(gaps, np.broadcast_to(largest[:, None], gaps.shape))
    root: Floats = largest * (shares**p).sum(axis=1) ** (1 / p)
    return root


@kernel(_by_source(_minkowski_formula))
def _minkowski_loops(sources: Floats, targets: Floats, p: float, out: Floats) -> None:
    # Differences are divided by the largest first, so that no power overflows.
    for i in range(sources.shape[0]):
        for j in range(targets.shape[0]):
            largest = 0.0
            for k in range(sources.shape[1]):
                largest = max(largest, abs(np.float64(sources[i, k]) - np.float64(targets[j, k])))
            total = 0.0
            if largest > 0.0:
                for k in range(sources.shape[1]):
                    gap = abs(np.float64(sources[i, k]) - np.float64(targets[j, k]))
                    total += (gap / largest) ** p
            out[i, j] = largest * total ** (1.0 / p)


def minkowski(sources: Floats, targets: Floats, out: Floats, *, p: float) -> None:
    """Compute the p-norm of the differences."""
    _minkowski_loops(sources, targets, p, out)


def chebyshev(sources: Floats, targets: Floats, out: Floats) -> None:
    """Compute the largest absolute difference."""
    integers = np.dtype(f"i{out.itemsize}")
    gaps = np.zeros(sources.shape[1], dtype=sources.dtype)
    _largest(sources, targets, gaps, gaps.view(integers), out.view(integers))


def _largest_reference(
    sources: Floats, targets: Floats, gaps: Floats, bits: Any, out_bits: Any
) -> None:
    out = out_bits.view(gaps.dtype)
    for i, source in enumerate(sources):
        out[i] = np.abs(targets - source).max(axis=1)


@kernel(_largest_reference, shared=("gaps", "bits"))
def _largest(sources: Floats, targets: Floats, gaps: Floats, bits: Any, out_bits: Any) -> None:
    # `bits` is the memory of `gaps`, read as integers. Non-negative floats have the order of their
    # bits, and a maximum of integers runs in SIMD lanes while one of floats does not.
    for i in range(sources.shape[0]):
        for j in range(targets.shape[0]):
            for k in range(sources.shape[1]):
                gaps[k] = abs(sources[i, k] - targets[j, k])
            largest = bits[0]
            for k in range(sources.shape[1]):
                largest = max(largest, bits[k])
            out_bits[i, j] = largest


def jaccard(
    sources: Floats, targets: Floats, source_counts: Doubles, target_counts: Doubles, out: Floats
) -> None:
    """Write, for rows of zeros and ones, the share of columns set in only one of two rows."""
    np.matmul(sources, targets.T, out=out)
    either = source_counts[:, None] + target_counts - out
    np.divide(either - out, either, out=either, where=either > 0)
    out[...] = either


def haversine(sources: Floats, targets: Floats, out: Floats) -> None:
    """Write the angle between points on the sphere, given as latitude and longitude."""
    latitude, longitude = np.asarray(sources, dtype=np.float64).T[:, :, None]
    other_latitude, other_longitude = np.asarray(targets, dtype=np.float64).T
    square = np.sin((latitude - other_latitude) / 2) ** 2
    square += (
        np.cos(latitude) * np.cos(other_latitude) * np.sin((longitude - other_longitude) / 2) ** 2
    )
    out[...] = 2 * np.arcsin(np.sqrt(np.minimum(square, 1.0)))


def _pairwise(loops: Kernel, sources: Floats, targets: Floats, out: Floats) -> None:
    loops(sources, targets, out)


def _by_scipy(name: str, sources: Any, targets: Any, out: Floats) -> None:
    from scipy.spatial import distance

    with np.errstate(all="ignore"):
        out[...] = distance.cdist(sources, targets, cast("Any", name))


BY_SCIPY = "dice", "jensenshannon", "rogerstanimoto", "russellrao", "sokalsneath", "yule"

# fill(sources, targets, [source_norms, target_norms,] out)
FILLS: dict[str, Callable[..., None]] = {
    "euclidean": partial(_squares, is_root=True),
    "sqeuclidean": partial(_squares, is_root=False),
    "cosine": _angles,
    "correlation": _angles,
    "manhattan": partial(_pairwise, manhattan),
    "chebyshev": chebyshev,
    "minkowski": minkowski,
    "hamming": partial(_pairwise, hamming),
    "jaccard": jaccard,
    "canberra": partial(_pairwise, canberra),
    "braycurtis": partial(_pairwise, braycurtis),
    "haversine": haversine,
    **{name: partial(_by_scipy, name) for name in BY_SCIPY},
}
