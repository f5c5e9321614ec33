"""What prototypes are worth, judged over all of the target in the same way for every method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.paper._problems import Posed

_ROWS = 8192  # target rows of one product


@dataclass(frozen=True)
class Verdict:
    """Mean distance, f = 1 - cost / scale, and how many target rows get their own label."""

    cost: float
    f: float
    accuracy_nearest: float
    accuracy_barycentric: float


def judge(posed: Posed, distances: np.ndarray, scale: float, indices: np.ndarray) -> Verdict:
    """Judge prototypes, given the distances of all target rows to each source row."""
    block = distances[indices]
    cells = block.argmin(axis=0)
    cost = float(block.min(axis=0).mean(dtype=np.float64))
    labels = posed.source_labels[indices]
    return Verdict(
        cost=cost,
        f=1 - cost / scale,
        accuracy_nearest=float((labels[cells] == posed.target_labels).mean()),
        accuracy_barycentric=barycentric_accuracy(posed, labels, cells),
    )


def barycentric_accuracy(posed: Posed, labels: np.ndarray, cells: np.ndarray) -> float:
    """Return how many target rows get their label from the nearest barycentric image.

    The transport plan puts all of a target row on its nearest prototype, so the image of a
    prototype is the mean of the rows of its cell; one that serves no row has none.
    """
    images, is_served = barycentres(posed.target, cells, len(labels))
    found = nearest_rows(images, posed.target)
    return float((labels[is_served][found] == posed.target_labels).mean())


def barycentres(target: np.ndarray, cells: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of the cells that have rows, and which of the ``n`` have."""
    from scipy.sparse import csr_matrix

    members = (np.ones(len(cells), dtype=np.float32), (cells, np.arange(len(cells))))
    sums = csr_matrix(members, shape=(n, len(cells))) @ target.astype(np.float32, copy=False)
    sizes = np.bincount(cells, minlength=n)
    is_served = sizes > 0
    return sums[is_served] / sizes[is_served, None].astype(np.float32), is_served


def nearest_rows(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return which of ``rows`` is nearest to each target row."""
    half_squares = (rows**2).sum(axis=1) / 2
    parts = (target[at : at + _ROWS] for at in range(0, len(target), _ROWS))
    return np.concatenate([(half_squares - part @ rows.T).argmin(axis=1) for part in parts])
