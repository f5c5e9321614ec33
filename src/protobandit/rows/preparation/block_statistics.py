"""What standardizing and principal components learn from rows, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput

Blocks = Callable[[], Iterator[Doubles]]

_MOST_BY_COVARIANCE = 4096  # columns
_MOST_BY_SVD = 512  # of rows or of columns, whichever are fewer


class ColumnMoments(NamedTuple):
    """How many rows, and the mean and variance of each column."""

    n: int
    mean: Doubles
    variance: Doubles


class Principal(NamedTuple):
    """The centre, the components (one a row), and the share of the variance they hold."""

    centre: Doubles
    components: Doubles
    share: float


def moments(blocks: Blocks) -> ColumnMoments:
    """Return mean and variance in two passes, which lose no digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        n = sum(len(block) for block in blocks())
        mean = _total(block.sum(axis=0) for block in blocks()) / n
        variance = _total(((block - mean) ** 2).sum(axis=0) for block in blocks()) / n
    return ColumnMoments(n, mean, variance)


def _total(parts: Iterator[Doubles]) -> Doubles:
    total = next(parts).copy()
    for part in parts:
        total += part
    return total


def spreads(found: ColumnMoments, columns: Callable[[int], str], *, name: str) -> Doubles:
    """Return standard deviations, 0 for columns that are constant but for rounding."""
    n, mean, variance = found
    if not np.isfinite(variance).all():
        at = int(np.flatnonzero(~np.isfinite(variance))[0])
        raise InvalidInput(
            f"{name} has numbers in {columns(at)} whose squares overflow float64. Rescale that "
            f"column, or leave it out."
        )
    eps = np.finfo(np.float64).eps
    is_constant = variance <= n * eps * variance + (n * mean * eps) ** 2
    return np.where(is_constant, 0.0, np.sqrt(variance))


def ranges(blocks: Blocks) -> tuple[Doubles, Doubles]:
    """Return the least value of each column, and how far the greatest lies above it."""
    low = np.minimum.reduce([block.min(axis=0) for block in blocks()])
    high = np.maximum.reduce([block.max(axis=0) for block in blocks()])
    with np.errstate(over="ignore"):
        return low, high - low


def principal(blocks: Blocks, pca: Any, *, name: str) -> Principal:
    """Return the first principal components: so many, or enough for a share of the variance."""
    n, centre, variance = moments(blocks)
    width = len(centre)
    if not np.isfinite(variance).all():
        raise InvalidInput(
            f"{name} has numbers whose squares overflow float64. Pass standardize=True as well."
        )
    is_share = isinstance(pca, float)
    if not is_share and pca > min(n, width):
        raise InvalidInput(
            f"pca={pca} exceeds the {min(n, width)} components that {n:,} rows of {width:,} "
            f"columns have ({name}). Pass pca <= {min(n, width)}, or a share such as 0.95."
        )
    if width > _MOST_BY_COVARIANCE and is_share:
        raise InvalidInput(
            f"pca={pca} would need all components of {width:,} columns ({name}). Pass a number of "
            f"components instead."
        )
    by = _by_covariance if width <= _MOST_BY_COVARIANCE else _by_random_products
    values, components = by(blocks, centre, n, pca)
    total = float(variance.sum()) * n / max(1, n - 1)
    if is_share:
        components = components[: _enough(values, total, pca)]
    share = float(values[: len(components)].sum() / total) if total > 0 else 1.0
    return Principal(centre, _with_signs(components), min(1.0, share))


def _by_covariance(blocks: Blocks, centre: Doubles, n: int, pca: Any) -> tuple[Doubles, Doubles]:
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


def _by_random_products(
    blocks: Blocks, centre: Doubles, n: int, pca: Any
) -> tuple[Doubles, Doubles]:
    from sklearn.decomposition import PCA

    rows = np.concatenate(list(blocks()))
    is_few = min(rows.shape) <= _MOST_BY_SVD
    found = PCA(pca, svd_solver="full" if is_few else "randomized", random_state=0).fit(rows)
    return found.explained_variance_, np.ascontiguousarray(found.components_)


def _enough(values: Doubles, total: float, share: float) -> int:
    if total <= 0:
        return 1
    ratios = np.cumsum(values) / total
    return min(len(values), int(np.searchsorted(ratios, share, side="right")) + 1)


def _with_signs(components: Doubles) -> Doubles:
    """Return components whose largest entry is positive: of the two, always the same one."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]
