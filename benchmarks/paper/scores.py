"""Cost and accuracy of prototypes over the whole target, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.paper.problems import LabelledProblem

_ROWS = 8192  # target rows per matrix product


@dataclass(frozen=True)
class Scores:
    """Mean distance, f = 1 - cost / scale, and shares of target rows with the correct label."""

    cost: float
    f: float
    accuracy_nearest: float
    accuracy_barycentric: float


def scores_of(
    problem: LabelledProblem, distances: np.ndarray, scale: float, indices: np.ndarray
) -> Scores:
    """Return the scores of prototypes, given the distances of all source and target rows."""
    block = distances[indices]
    cells = block.argmin(axis=0)
    cost = float(block.min(axis=0).mean(dtype=np.float64))
    labels = problem.source_labels[indices]
    return Scores(
        cost=cost,
        f=1 - cost / scale,
        accuracy_nearest=float((labels[cells] == problem.target_labels).mean()),
        accuracy_barycentric=barycentric_accuracy(problem, labels, cells),
    )


def barycentric_accuracy(problem: LabelledProblem, labels: np.ndarray, cells: np.ndarray) -> float:
    """Return the share of target rows with the label of the nearest barycentric image.

    The transport plan assigns each target row to its nearest prototype, so the image of a prototype
    is the mean of the rows of its cell; a prototype with an empty cell has no image.
    """
    images, has_rows = barycentres(problem.target, cells, len(labels))
    found = nearest_rows(images, problem.target)
    return float((labels[has_rows][found] == problem.target_labels).mean())


def barycentres(target: np.ndarray, cells: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of the cells that have rows, and which of the ``n`` cells these are."""
    from scipy.sparse import csr_matrix

    members = (np.ones(len(cells), dtype=np.float32), (cells, np.arange(len(cells))))
    sums = csr_matrix(members, shape=(n, len(cells))) @ target.astype(np.float32, copy=False)
    sizes = np.bincount(cells, minlength=n)
    has_rows = sizes > 0
    return sums[has_rows] / sizes[has_rows, None].astype(np.float32), has_rows


def nearest_rows(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return which of ``rows`` is nearest to each target row."""
    half_squares = (rows**2).sum(axis=1) / 2
    parts = (target[at : at + _ROWS] for at in range(0, len(target), _ROWS))
    return np.concatenate([(half_squares - part @ rows.T).argmin(axis=1) for part in parts])
