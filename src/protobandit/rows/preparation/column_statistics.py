"""Means, variances, ranges and principal components of columns, computed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput

Blocks = Callable[[], Iterator[Doubles]]  # yields all rows in blocks, at each call


class ColumnMoments(NamedTuple):
    """The number of rows, and the mean and variance of each column."""

    n: int
    mean: Doubles
    variance: Doubles


def moments(blocks: Blocks) -> ColumnMoments:
    """Return mean and variance in two passes, which avoids cancellation."""
    with np.errstate(over="ignore", invalid="ignore"):
        n = sum(len(block) for block in blocks())
        mean = sum(block.sum(axis=0) for block in blocks()) / n
        variance = sum(((block - mean) ** 2).sum(axis=0) for block in blocks()) / n
    return ColumnMoments(n, mean, variance)


def sparse_moments(matrix: Any) -> ColumnMoments:
    """Return mean and variance of each column; zeros count."""
    n, width = matrix.shape
    values, columns = matrix.data.astype(np.float64), matrix.indices
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.bincount(columns, values, minlength=width) / n
        squares = np.bincount(columns, (values - mean[columns]) ** 2, minlength=width)
        n_zeros = n - np.bincount(columns, minlength=width)
        return ColumnMoments(n, mean, (squares + n_zeros * mean**2) / n)


def standard_deviations(found: ColumnMoments, label: Callable[[int], str], *, name: str) -> Doubles:
    """Return standard deviations, 0 for columns that are constant up to rounding.

    ``label(at)`` is the name of column ``at`` in errors.
    """
    n, mean, variance = found
    if not np.isfinite(variance).all():
        at = int(np.flatnonzero(~np.isfinite(variance))[0])
        raise InvalidInput(
            f"{name} has numbers in {label(at)} whose squares overflow float64. Rescale that "
            f"column, or omit it."
        )
    eps = np.finfo(np.float64).eps
    is_constant = variance <= n * eps * variance + (n * mean * eps) ** 2
    return np.where(is_constant, 0.0, np.sqrt(variance))


def ranges(blocks: Blocks) -> tuple[Doubles, Doubles]:
    """Return the minimum of each column, and its maximum minus its minimum."""
    low = np.minimum.reduce([block.min(axis=0) for block in blocks()])
    high = np.maximum.reduce([block.max(axis=0) for block in blocks()])
    with np.errstate(over="ignore"):
        return low, high - low


_MOST_BY_COVARIANCE = 4096  # columns
_MOST_BY_SVD = 512  # rows or columns, whichever are fewer; more are decomposed by a random method


class PrincipalComponents(NamedTuple):
    """The centre, the components (one per row), and their share of the variance."""

    centre: Doubles
    components: Doubles
    share: float


def principal_components(blocks: Blocks, pca: int | float, *, name: str) -> PrincipalComponents:
    """Return ``pca`` components, or enough for a share ``pca`` of the variance if it is a float."""
    n, centre, variance = moments(blocks)
    width = len(centre)
    if not np.isfinite(variance).all():
        raise InvalidInput(
            f"{name} has numbers whose squares overflow float64. Also pass standardize=True."
        )
    is_share = isinstance(pca, float)
    if not is_share and pca > min(n, width):
        raise InvalidInput(
            f"pca={pca} exceeds the {min(n, width)} components of {n:,} rows with {width:,} "
            f"columns ({name}). Pass pca <= {min(n, width)}, or a share such as 0.95."
        )
    if width > _MOST_BY_COVARIANCE and is_share:
        raise InvalidInput(
            f"pca={pca} needs all components of {width:,} columns ({name}); at most "
            f"{_MOST_BY_COVARIANCE:,} are allowed. Pass a number of components instead."
        )
    by = _by_covariance if width <= _MOST_BY_COVARIANCE else _by_svd
    values, components = by(blocks, centre, n, pca)
    total = float(variance.sum()) * n / max(1, n - 1)
    if is_share:
        components = components[: _count_for_share(values, total, pca)]
    share = float(values[: len(components)].sum() / total) if total > 0 else 1.0
    return PrincipalComponents(centre, _with_signs(components), min(1.0, share))


def _by_covariance(
    blocks: Blocks, centre: Doubles, n: int, pca: int | float
) -> tuple[Doubles, Doubles]:
    from scipy.linalg import eigh

    width = len(centre)
    total = np.zeros((width, width))
    for block in blocks():
        centred = block - centre
        total += centred.T @ centred
    total /= max(1, n - 1)
    first = 0 if isinstance(pca, float) else width - pca
    values, vectors = eigh(total, subset_by_index=[first, width - 1])
    return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1].T)


def _by_svd(blocks: Blocks, centre: Doubles, n: int, pca: int | float) -> tuple[Doubles, Doubles]:
    from sklearn.decomposition import PCA

    rows = np.concatenate(list(blocks()))
    is_few = min(rows.shape) <= _MOST_BY_SVD
    found = PCA(pca, svd_solver="full" if is_few else "randomized", random_state=0).fit(rows)
    return found.explained_variance_, np.ascontiguousarray(found.components_)


def _count_for_share(values: Doubles, total: float, share: float) -> int:
    if total <= 0:
        return 1
    ratios = np.cumsum(values) / total
    return min(len(values), int(np.searchsorted(ratios, share, side="right")) + 1)


def _with_signs(components: Doubles) -> Doubles:
    """Return components with a positive largest entry: the sign is otherwise arbitrary."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]
