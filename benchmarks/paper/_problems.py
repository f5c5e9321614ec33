"""The paper's problems: source and target rows with their labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks._data import labelled_cifar_problem, paper_problem


@dataclass(frozen=True, eq=False)
class Posed:
    """Source and target rows, and the classes they are of, which no method sees."""

    source: np.ndarray
    source_labels: np.ndarray
    target: np.ndarray
    target_labels: np.ndarray

    def thinned(self, n_source: int, n_target: int) -> Posed:
        """Return the same problem with the first rows only; their order is random."""
        return Posed(
            self.source[:n_source],
            self.source_labels[:n_source],
            self.target[:n_target],
            self.target_labels[:n_target],
        )


def mnist(folder: Path | None, skew: int, seed: int) -> Posed:
    """Return 5,000 test images, and a target of which ``skew`` % are fives."""
    return Posed(*paper_problem(folder, skew=skew, seed=seed))


def small_mnist(folder: Path | None, skew: int, seed: int) -> Posed:
    """Return a part of `mnist` for a quick look."""
    return mnist(folder, skew, seed).thinned(2000, 12_000)


@lru_cache(maxsize=1)
def _cifar10(folder: Path | None) -> Posed:
    return Posed(*labelled_cifar_problem(folder))


def cifar10(folder: Path | None, skew: int, seed: int) -> Posed:
    """Return all test images and all train images, grey, as principal components.

    Nothing in it is drawn, so that ``skew`` and ``seed`` do not matter.
    """
    return _cifar10(folder)


def small_cifar10(folder: Path | None, skew: int, seed: int) -> Posed:
    """Return a part of `cifar10` for a quick look."""
    return cifar10(folder, skew, seed).thinned(2000, 12_000)


def digits(folder: Path | None, skew: int, seed: int) -> Posed:
    """Return scikit-learn's 1,797 digits, a third of them as source; it needs no folder."""
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(rows))
    rows, labels = rows[order].astype(np.float32), labels[order].astype(int)
    is_kept = np.ones(len(rows), dtype=bool)
    if skew == 100:
        is_kept[600:] = labels[600:] == 5
    return Posed(rows[:600], labels[:600], rows[600:][is_kept[600:]], labels[600:][is_kept[600:]])
