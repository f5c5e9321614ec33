"""The paper's problems: source and target rows with their labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.common.data import labelled_cifar_problem, paper_problem


@dataclass(frozen=True, eq=False)
class LabelledProblem:
    """Source and target rows with their classes, which no method sees."""

    source: np.ndarray
    source_labels: np.ndarray
    target: np.ndarray
    target_labels: np.ndarray

    def head(self, n_source: int, n_target: int) -> LabelledProblem:
        """Return the same problem with only the first rows; their order is random."""
        return LabelledProblem(
            self.source[:n_source],
            self.source_labels[:n_source],
            self.target[:n_target],
            self.target_labels[:n_target],
        )


def mnist(folder: Path | None, skew: int, seed: int) -> LabelledProblem:
    """Return 5,000 test images, and a target with ``skew`` % fives."""
    return LabelledProblem(*paper_problem(folder, skew=skew, seed=seed))


def small_mnist(folder: Path | None, skew: int, seed: int) -> LabelledProblem:
    """Return a part of `mnist` for quick runs."""
    return mnist(folder, skew, seed).head(2000, 12_000)


@lru_cache(maxsize=1)
def _cifar10(folder: Path | None) -> LabelledProblem:
    return LabelledProblem(*labelled_cifar_problem(folder))


def cifar10(folder: Path | None, skew: int, seed: int) -> LabelledProblem:
    """Return all test and all training images, grey, as principal components.

    Nothing is drawn at random, so ``skew`` and ``seed`` have no effect.
    """
    return _cifar10(folder)


def small_cifar10(folder: Path | None, skew: int, seed: int) -> LabelledProblem:
    """Return a part of `cifar10` for quick runs."""
    return cifar10(folder, skew, seed).head(2000, 12_000)


def digits(folder: Path | None, skew: int, seed: int) -> LabelledProblem:
    """Return scikit-learn's 1,797 digits, a third of them as the source; ``folder`` is not used."""
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(rows))
    rows, labels = rows[order].astype(np.float32), labels[order].astype(int)
    is_kept = np.ones(len(rows), dtype=bool)
    if skew == 100:
        is_kept[600:] = labels[600:] == 5
    return LabelledProblem(
        rows[:600], labels[:600], rows[600:][is_kept[600:]], labels[600:][is_kept[600:]]
    )
