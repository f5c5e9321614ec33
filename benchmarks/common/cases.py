"""Problems of ten kinds, to test whether defaults suit more than one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import mean_distance
from benchmarks.common.data import cifar_problem, paper_problem
from benchmarks.common.strings import edit_distances, misspelled_words

_SOURCE, _TARGET = 3000, 10_000


@dataclass(frozen=True)
class Case:
    """A problem, and ``cost(prototypes, target)`` over the whole target.

    ``is_expensive`` says that the metric is a function of the user.
    """

    source: Any
    target: Any
    metric: Any = "euclidean"
    cost: Callable[[Any, Any], float] = mean_distance
    is_expensive: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the numbers of source rows and target rows."""
        first, second = (getattr(r, "shape", None) or (len(r),) for r in (self.source, self.target))
        return first[0], second[0]

    def with_fewer_sources(self, share: float, seed: int) -> Case:
        """Return the same problem with a random share of the source rows."""
        n = self.sizes[0]
        kept = np.random.default_rng(seed).choice(n, round(share * n), replace=False)
        return replace(self, source=self._take(kept))

    def cost_of(self, indices: np.ndarray) -> float:
        """Return the mean distance of the target rows to the nearest of these source rows."""
        return self.cost(self._take(indices), self.target)

    def _take(self, indices: np.ndarray) -> Any:
        is_list = isinstance(self.source, list)
        return [self.source[i] for i in indices] if is_list else self.source[indices]


def mnist(folder: Path | None) -> Case:
    source, _, target, _ = paper_problem(folder)
    return Case(source, target[:20_000])


def cifar(folder: Path | None) -> Case:
    source, target = cifar_problem(folder)
    return Case(source[:5000], target[:20_000])


def digits(folder: Path | None) -> Case:
    from sklearn.datasets import load_digits

    rows = load_digits().data.astype(np.float32)
    return Case(rows, rows)


def blobs(n_columns: int, n_centres: int) -> Callable[[Path | None], Case]:
    """Return a function that makes Gaussian clusters of different sizes and widths."""

    def make(folder: Path | None) -> Case:
        random = np.random.default_rng(n_columns)
        centres = random.normal(size=(n_centres, n_columns)) * 3
        widths = random.uniform(0.3, 1.5, size=(n_centres, 1))
        shares = random.dirichlet(np.full(n_centres, 1.0))

        def rows(n: int) -> np.ndarray:
            own = random.choice(n_centres, size=n, p=shares)
            noise = random.normal(size=(n, n_columns))
            return (centres[own] + widths[own] * noise).astype(np.float32)

        return Case(rows(_SOURCE), rows(_TARGET))

    return make


def heavy_tails(folder: Path | None) -> Case:
    random = np.random.default_rng(1)
    source, target = (
        random.standard_t(2, size=(n, 10)).astype(np.float32) for n in (_SOURCE, _TARGET)
    )
    return Case(source, target)


def noise(folder: Path | None) -> Case:
    random = np.random.default_rng(2)
    source, target = (random.normal(size=(n, 50)).astype(np.float32) for n in (_SOURCE, _TARGET))
    return Case(source, target)


def strings(folder: Path | None) -> Case:
    words = misspelled_words(_SOURCE + _TARGET)
    metric = pb.block_metric(edit_distances)
    return Case(words[:_SOURCE], words[_SOURCE:], metric, _mean_edits, is_expensive=True)


def _mean_edits(prototypes: list[str], target: list[str]) -> float:
    return float(edit_distances(prototypes, target).min(axis=0).mean(dtype=np.float64))


def text(folder: Path | None) -> Case:
    """Return bags of 2,000 words by Zipf's law; each document mixes two of 40 topics."""
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(3)
    n, n_words, n_topics = _SOURCE + _TARGET, 2000, 40
    frequency = 1 / np.arange(1, n_words + 1)
    topics = np.array([random.permutation(frequency) for _ in range(n_topics)])
    topics = 0.7 * topics + 0.3 * frequency
    topics /= topics.sum(axis=1, keepdims=True)
    pairs = random.integers(n_topics, size=(n, 2))
    shares = random.beta(0.5, 0.5, size=(n, 1))
    lengths = random.integers(30, 120, size=n)
    mixtures = shares * topics[pairs[:, 0]] + (1 - shares) * topics[pairs[:, 1]]
    counts = csr_matrix(random.multinomial(lengths, mixtures).astype(np.float32))
    return Case(counts[:_SOURCE], counts[_SOURCE:], "cosine", _mean_cosine)


def _mean_cosine(prototypes: Any, target: Any) -> float:
    from sklearn.preprocessing import normalize

    first, second = (normalize(rows.astype(np.float64)) for rows in (prototypes, target))
    return float(1 - (second @ first.T).toarray().max(axis=1).mean())


CASES: dict[str, Callable[[Path | None], Case]] = {
    "mnist": mnist,
    "cifar": cifar,
    "digits": digits,
    "blobs-2": blobs(2, 30),
    "blobs-50": blobs(50, 100),
    "blobs-500": blobs(500, 20),
    "heavy-tails": heavy_tails,
    "strings": strings,
    "text": text,
    "noise": noise,
}
