"""Rows and prototypes as points of a plane.

Theory of operation
-------------------
Rows of numbers are placed by their principal components. Other rows have none: they are placed by
their distances to the prototypes, less the mean of each row. Where the square roots of distances
are Euclidean, as those of Hamming, Jaccard and Manhattan distances are, this is a linear map of the
rows in that space, (x - mean) . (prototype - mean of prototypes), so that its principal components
are those of landmark multidimensional scaling with the prototypes as landmarks, up to a stretching
of the axes. A prototype's distance to itself is unlike any other, which would set it apart, so that
it is placed amid its members. Where UMAP is installed it replaces the last step.

Reference: De Silva, Tenenbaum (2004), Sparse multidimensional scaling using landmark points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable

LAYOUTS = ("auto", "pca", "umap")
_SPARE, _ROUNDS = 8, 12  # columns beyond those asked for, and passes, until components settle
_FOR_UMAP = 50  # components that UMAP is given
_CHUNK = 512  # rows centred at a time
_SLACK = 64  # units of rounding within which rows are alike


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """Points of rows and of prototypes, shape (n, 2) each, and how they were found."""

    rows: Doubles
    prototypes: Doubles
    name: str
    note: str


@dataclass(frozen=True, kw_only=True, eq=False)
class _Features:
    rows: Any
    prototypes: Any | None  # None: place each amid its members
    name: str


class _Members(NamedTuple):
    labels: Ids
    k: int

    def centres(self, points: Doubles) -> Doubles:
        """Return the mean point of each prototype's rows; of all rows where it has none."""
        counts = np.bincount(self.labels, minlength=self.k)
        sums = [np.bincount(self.labels, axis, minlength=self.k) for axis in points.T]
        means = np.column_stack(sums) / np.maximum(counts, 1)[:, None]
        return np.where(counts[:, None] > 0, means, points.mean(axis=0))


def plane(
    selection: Any, rows: Any, *, labels: Ids, layout: str, random: np.random.Generator
) -> Projection:
    """Place rows, given with the prototype nearest to each, and the prototypes in a plane.

    Cost: none for rows of numbers, else k evaluations a row.
    """
    if layout not in LAYOUTS:
        raise InvalidInput(f"layout={layout!r} is not known. Use one of {LAYOUTS}.")
    if layout == "umap" and find_spec("umap") is None:
        raise NotAvailable("layout='umap' needs umap-learn. Install it, or use layout='pca'.")
    members = _Members(labels=labels, k=len(selection.indices))
    features = _numbers(selection, rows) or _profiles(selection, rows)
    wants_umap = layout == "umap" or (layout == "auto" and find_spec("umap") is not None)
    if wants_umap and features.rows.shape[0] > 3 and features.rows.shape[1] > 2:
        return _by_umap(features, members, random)
    return _by_components(features, members, random)


def components(rows: Any, n: int, random: np.random.Generator) -> tuple[Doubles, Doubles, Doubles]:
    """Return the mean row, the ``n`` leading principal axes (columns), and shares of variance.

    Simultaneous iteration; rows may be sparse and are not copied. Each axis points to where its
    largest entry is positive.
    """
    n_columns = rows.shape[1]
    mean = _mean(rows)
    width = min(n + _SPARE, n_columns)
    axes = np.linalg.qr(random.standard_normal((n_columns, width)))[0]
    for _ in range(_ROUNDS):
        axes = np.linalg.qr(_centred_back(rows, mean, _centred(rows, mean, axes)))[0]
    scores = _centred(rows, mean, axes)
    values, turn = np.linalg.eigh(scores.T @ scores)
    order = np.argsort(-values, kind="stable")[: min(n, width)]
    axes = axes @ turn[:, order]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return mean, axes * np.where(signs == 0, 1, signs), _shares(values[order], rows, mean)


def _mean(rows: Any) -> Doubles:
    """Return the mean row, corrected by that of what it leaves: of equal rows it is that row."""
    mean: Doubles = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    if hasattr(rows, "tocsr"):
        held = np.bincount(rows.indices, rows.data - mean[rows.indices], minlength=len(mean))
        left = held - _n_zeros(rows) * mean
    else:
        left = np.sum([part.sum(axis=0) for part in _less(rows, mean)], axis=0)
    mean += left / rows.shape[0]
    return mean


def _n_zeros(rows: Any) -> Ids:
    """Return of how many rows each column of a sparse matrix holds nothing."""
    held: Ids = rows.shape[0] - np.bincount(rows.indices, minlength=rows.shape[1])
    return held


def _shares(values: Doubles, rows: Any, mean: Doubles) -> Doubles:
    """Return shares of the variance; 0 where rows differ by rounding only."""
    variance = _variance(rows, mean)
    if variance <= rows.shape[0] * _noise(mean) ** 2:
        return np.zeros_like(values)
    shares: Doubles = np.clip(values / variance, 0, 1)
    return shares / max(float(shares.sum()), 1.0)


def _variance(rows: Any, mean: Doubles) -> float:
    """Return the sum of squared distances from the mean: of rows far from 0, too, a plain sum."""
    if not hasattr(rows, "tocsr"):
        return sum(float(np.vdot(part, part)) for part in _less(rows, mean))
    held = rows.data - mean[rows.indices]
    return float(held @ held + _n_zeros(rows) @ (mean * mean))


def _noise(mean: Doubles) -> float:
    """Return how far from the mean rounding alone may put a row."""
    return _SLACK * float(np.finfo(np.float64).eps * np.linalg.norm(mean))


def _less(rows: Any, mean: Doubles) -> Iterator[Doubles]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK] - mean


def _centred(rows: Any, mean: Doubles, axes: Doubles) -> Doubles:
    if hasattr(rows, "tocsr"):
        return np.asarray(rows @ axes) - mean @ axes
    return np.concatenate([part @ axes for part in _less(rows, mean)])


def _centred_back(rows: Any, mean: Doubles, scores: Doubles) -> Doubles:
    return np.asarray(rows.T @ scores) - np.outer(mean, scores.sum(axis=0))


def _numbers(selection: Any, rows: Any) -> _Features | None:
    """Return the rows themselves, where they are numbers and the metric reads them as such."""
    prototypes = selection.prototypes
    if _metric_name(selection) == "precomputed" or isinstance(prototypes, list):
        return None
    preparation = getattr(selection, "preparation", None)
    block = _as_matrix(rows if preparation is None else preparation.transform(rows))
    own = _as_matrix(prototypes)
    if block is None or own is None or block.shape[1] != own.shape[1]:
        return None
    if _metric_name(selection) == "cosine":
        return _Features(rows=_unit(block), prototypes=_unit(own), name="rows of length 1")
    return _Features(rows=block, prototypes=own, name="rows")


def _profiles(selection: Any, rows: Any) -> _Features:
    """Return each row's distances to the prototypes, less their mean."""
    block = np.asarray(selection.distances(rows), dtype=np.float64)
    if block.shape[1] > 2:  # fewer numbers less their mean are no plane
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
    points = _placeable(features.rows, mean, axes)
    own = None if features.prototypes is None else _placeable(features.prototypes, mean, axes)
    share = f"{100 * shares.sum():.0f}\u00a0% of their variance"
    note = f"Principal components of the {features.name}: {share}."
    if not shares.any():
        note = f"The {features.name} are all alike."
    if points.shape[1] == 1:
        points = _scattered(points, random)
        own = None if own is None else _scattered(own, random)
        note += " One column only: height has no meaning."
    return _placed(points, own, members, name="PCA", note=note)


def _placeable(rows: Any, mean: Doubles, axes: Doubles) -> Doubles:
    """Return points, those that rounding alone sets apart from the mean at it."""
    points = _centred(rows, mean, axes)
    points[np.abs(points) <= _noise(mean)] = 0.0
    return points


def _by_umap(features: _Features, members: _Members, random: np.random.Generator) -> Projection:
    from umap import UMAP

    mean, axes, _ = components(features.rows, _FOR_UMAP, random)
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
    note = f"UMAP of the {features.name}: neighbours stay close, long distances mean little."
    return _placed(points[:n], own, members, name="UMAP", note=note)


def _placed(
    points: Doubles, own: Doubles | None, members: _Members, *, name: str, note: str
) -> Projection:
    if own is None:
        own = members.centres(points)
        note += " Prototypes stand amid their members."
    return Projection(rows=points, prototypes=own, name=name, note=note)


def _scattered(points: Doubles, random: np.random.Generator) -> Doubles:
    height = max(float(np.ptp(points)), 1e-12) * 0.2
    return np.column_stack([points[:, 0], random.uniform(-height, height, len(points))])


def _metric_name(selection: Any) -> str:
    return str(getattr(selection.metric, "name", selection.metric))
