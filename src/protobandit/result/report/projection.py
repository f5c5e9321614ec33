"""The map of a report: rows and prototypes as points of a plane.

Theory of operation
-------------------
Numeric rows are projected on their first two principal components. Other rows have no coordinates.
They are described by their distances to the prototypes, centred per row, and projected on the
principal components of these. If the square roots of the distances are Euclidean, which holds for
Hamming, Jaccard and Manhattan distances, the centred distances are a linear map of the rows in that
space, (x - mean) . (prototype - mean of prototypes). Their principal components are then those of
landmark multidimensional scaling with the prototypes as landmarks, up to a scaling of the axes. A
prototype's distance to itself is 0, unlike that of any other row, which would move it away from its
members. It is therefore placed at their mean. If UMAP is installed, it replaces the last step.

Reference: De Silva, Tenenbaum (2004), Sparse multidimensional scaling using landmark points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import require_choice
from protobandit.foundation.errors import NotAvailable
from protobandit.result.queries import Queries

LAYOUTS = ("auto", "pca", "umap")
_EXTRA_COLUMNS, _N_ITERATIONS = 8, 12  # enough for the leading components to converge
_N_FOR_UMAP = 50  # principal components that UMAP receives
_CHUNK = 512  # rows centred at a time
_USUAL = (0.005, 0.995)  # quantiles of the coordinates between which nearly all rows lie
_ROOM = 0.25  # how far the map extends beyond them, in units of their difference
_ROUNDING_UNITS = 64  # rows that differ by less are equal


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """Points of rows and of prototypes, shape (n, 2) each, and how they were computed."""

    rows: Doubles
    prototypes: Doubles
    name: str
    note: str


@dataclass(frozen=True, kw_only=True, eq=False)
class _Features:
    rows: Any
    prototypes: Any | None  # None: place each at the mean of its members
    name: str


class _Members(NamedTuple):
    labels: Ids
    k: int

    def centres(self, points: Doubles) -> Doubles:
        """Return the mean point of each prototype's members, or of all rows if it has none."""
        counts = np.bincount(self.labels, minlength=self.k)
        sums = [np.bincount(self.labels, axis, minlength=self.k) for axis in points.T]
        means = np.column_stack(sums) / np.maximum(counts, 1)[:, None]
        return np.where(counts[:, None] > 0, means, points.mean(axis=0))


def project(
    selection: Queries,
    rows: Any,
    *,
    labels: Ids,
    layout: str,
    random: np.random.Generator,
) -> Projection:
    """Project rows and prototypes on a plane; ``labels`` are the nearest prototypes of the rows.

    Cost: none for numeric rows, else k evaluations per row.
    """
    require_choice(layout, "layout", LAYOUTS)
    if layout == "umap" and find_spec("umap") is None:
        raise NotAvailable("layout='umap' needs umap-learn. Install it, or use layout='pca'.")
    members = _Members(labels=labels, k=len(selection.indices))
    features = _numeric_features(selection, rows) or _distance_features(selection, rows)
    wants_umap = layout == "umap" or (layout == "auto" and find_spec("umap") is not None)
    if wants_umap and features.rows.shape[0] > 3 and features.rows.shape[1] > 2:
        return _clipped(_by_umap(features, members, random))
    return _clipped(_by_components(features, members, random))


def _clipped(found: Projection) -> Projection:
    """Return the projection with points far outside moved to the edge, so that others are seen."""
    low, high = np.quantile(found.rows, _USUAL, axis=0)
    room = _ROOM * (high - low)
    room[high <= low] = np.inf  # most rows are equal: others must stay visible
    rows, prototypes = (
        np.clip(points, low - room, high + room) for points in (found.rows, found.prototypes)
    )
    n_moved = int((rows != found.rows).any(axis=1).sum())
    n_moved += int((prototypes != found.prototypes).any(axis=1).sum())
    if n_moved == 0:
        return found
    are = "point lies far outside and is" if n_moved == 1 else "points lie far outside and are"
    note = f"{found.note} {n_moved:,} {are} drawn at the edge."
    return replace(found, rows=rows, prototypes=prototypes, note=note)


def components(rows: Any, n: int, random: np.random.Generator) -> tuple[Doubles, Doubles, Doubles]:
    """Return the mean row, the ``n`` leading principal axes (columns), and shares of variance.

    Uses simultaneous iteration. Rows may be sparse and are not copied. The sign of each axis is
    such that its largest entry is positive.
    """
    n_columns = rows.shape[1]
    mean = _mean(rows)
    width = min(n + _EXTRA_COLUMNS, n_columns)
    axes = np.linalg.qr(random.standard_normal((n_columns, width)))[0]
    for _ in range(_N_ITERATIONS):
        axes = np.linalg.qr(_centred_back(rows, mean, _centred(rows, mean, axes)))[0]
    scores = _centred(rows, mean, axes)
    values, turn = np.linalg.eigh(scores.T @ scores)
    order = np.argsort(-values, kind="stable")[: min(n, width)]
    axes = axes @ turn[:, order]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return mean, axes * np.where(signs == 0, 1, signs), _shares(values[order], rows, mean)


def _mean(rows: Any) -> Doubles:
    """Return the mean row, corrected by the mean of the residuals: exact if all rows are equal."""
    mean: Doubles = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    if hasattr(rows, "tocsr"):
        stored = np.bincount(rows.indices, rows.data - mean[rows.indices], minlength=len(mean))
        residual = stored - _n_zeros(rows) * mean
    else:
        residual = np.sum([part.sum(axis=0) for part in _residuals(rows, mean)], axis=0)
    mean += residual / rows.shape[0]
    return mean


def _n_zeros(rows: Any) -> Ids:
    """Return the number of entries that each column of a sparse matrix does not store."""
    n_zeros: Ids = rows.shape[0] - np.bincount(rows.indices, minlength=rows.shape[1])
    return n_zeros


def _shares(values: Doubles, rows: Any, mean: Doubles) -> Doubles:
    """Return shares of the variance; 0 if rows differ only by rounding."""
    variance = _variance(rows, mean)
    if variance <= rows.shape[0] * _noise(mean) ** 2:
        return np.zeros_like(values)
    shares: Doubles = np.clip(values / variance, 0, 1)
    return shares / max(float(shares.sum()), 1.0)


def _variance(rows: Any, mean: Doubles) -> float:
    """Return the sum of squared distances from the mean, without cancellation far from 0."""
    if not hasattr(rows, "tocsr"):
        return sum(float(np.vdot(part, part)) for part in _residuals(rows, mean))
    stored = rows.data - mean[rows.indices]
    return float(stored @ stored + _n_zeros(rows) @ (mean * mean))


def _noise(mean: Doubles) -> float:
    """Return how far from the mean a row may be by rounding alone."""
    return _ROUNDING_UNITS * float(np.finfo(np.float64).eps * np.linalg.norm(mean))


def _residuals(rows: Any, mean: Doubles) -> Iterator[Doubles]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK] - mean


def _centred(rows: Any, mean: Doubles, axes: Doubles) -> Doubles:
    if hasattr(rows, "tocsr"):
        return np.asarray(rows @ axes) - mean @ axes
    return np.concatenate([part @ axes for part in _residuals(rows, mean)])


def _centred_back(rows: Any, mean: Doubles, scores: Doubles) -> Doubles:
    return np.asarray(rows.T @ scores) - np.outer(mean, scores.sum(axis=0))


def _numeric_features(selection: Queries, rows: Any) -> _Features | None:
    """Return the rows themselves, or None if they are not numeric or the metric is precomputed."""
    prototypes = selection.prototypes
    if selection.metric_name == "precomputed" or isinstance(prototypes, list):
        return None
    preparation = selection.preparation
    block = _as_matrix(rows if preparation is None else preparation.transform(rows))
    own = _as_matrix(prototypes)
    if block is None or own is None or block.shape[1] != own.shape[1]:
        return None
    if selection.metric_name == "cosine":
        return _Features(rows=_unit(block), prototypes=_unit(own), name="rows scaled to length 1")
    return _Features(rows=block, prototypes=own, name="rows")


def _distance_features(selection: Queries, rows: Any) -> _Features:
    """Return each row's distances to the prototypes minus their mean."""
    block = np.asarray(selection.distances(rows), dtype=np.float64)
    if block.shape[1] > 2:  # fewer columns, when centred, do not span a plane
        block = block - block.mean(axis=1, keepdims=True)
    return _Features(rows=block, prototypes=None, name="distances to the prototypes")


def _as_matrix(rows: Any) -> Any | None:
    if hasattr(rows, "tocsr"):
        matrix = rows.tocsr().astype(np.float64)
        matrix.sum_duplicates()
        return matrix
    block = np.asarray(rows)
    is_numeric = block.ndim == 2 and block.dtype.kind in "biuf"
    return block.astype(np.float64) if is_numeric else None


def _unit(rows: Any) -> Any:
    squares = rows.multiply(rows) if hasattr(rows, "multiply") else rows * rows
    norms = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).reshape(-1, 1))
    inverse = 1 / np.where(norms > 0, norms, 1)
    return rows.multiply(inverse).tocsr() if hasattr(rows, "multiply") else rows * inverse


def _by_components(
    features: _Features, members: _Members, random: np.random.Generator
) -> Projection:
    mean, axes, shares = components(features.rows, 2, random)
    points = _projected(features.rows, mean, axes)
    own = None if features.prototypes is None else _projected(features.prototypes, mean, axes)
    share = f"{100 * shares.sum():.0f}\u00a0% of their variance"
    note = f"Principal components of the {features.name}: {share}."
    if not shares.any():
        note = f"The {features.name} are all equal."
    if points.shape[1] == 1:
        points = _with_random_height(points, random)
        own = None if own is None else _with_random_height(own, random)
        note += " There is only one column: the vertical position has no meaning."
    return _projection(points, own, members, name="PCA", note=note)


def _projected(rows: Any, mean: Doubles, axes: Doubles) -> Doubles:
    """Return coordinates on the axes; 0 where they differ from the mean only by rounding."""
    points = _centred(rows, mean, axes)
    points[np.abs(points) <= _noise(mean)] = 0.0
    return points


def _by_umap(features: _Features, members: _Members, random: np.random.Generator) -> Projection:
    from umap import UMAP

    mean, axes, _ = components(features.rows, _N_FOR_UMAP, random)
    blocks = [_centred(features.rows, mean, axes)]
    if features.prototypes is not None:
        blocks.append(_centred(features.prototypes, mean, axes))
    n = len(blocks[0])
    fit = UMAP(
        n_components=2,
        n_neighbors=int(min(15, n - 1)),
        random_state=int(random.integers(2**31)),
        n_jobs=1,
    )
    points = np.asarray(fit.fit_transform(np.concatenate(blocks)), dtype=np.float64)
    own = points[n:] if features.prototypes is not None else None
    note = (
        f"UMAP of the {features.name}: neighbours stay close, long distances have little meaning."
    )
    return _projection(points[:n], own, members, name="UMAP", note=note)


def _projection(
    points: Doubles, own: Doubles | None, members: _Members, *, name: str, note: str
) -> Projection:
    if own is None:
        own = members.centres(points)
        note += " Prototypes are at the mean of their members."
    return Projection(rows=points, prototypes=own, name=name, note=note)


def _with_random_height(points: Doubles, random: np.random.Generator) -> Doubles:
    height = max(float(np.ptp(points)), 1e-12) * 0.2
    return np.column_stack([points[:, 0], random.uniform(-height, height, len(points))])
