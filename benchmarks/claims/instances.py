"""Random and adversarial instances that are small enough to enumerate, and the enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

_TARGET = 1500  # enough rows for a bandit to sample
_CHUNK = 256  # subsets evaluated at once
_JITTER = 0.02


@dataclass(frozen=True)
class Instance:
    """Dissimilarities, one row per target row, and the number of source rows to choose."""

    distances: np.ndarray
    k: int

    @property
    def scale(self) -> float:
        """Return C, the largest dissimilarity."""
        return float(self.distances.max())

    def cost(self, indices: np.ndarray | tuple[int, ...]) -> float:
        """Return the mean distance to the nearest of these rows."""
        return float(self.distances[:, list(indices)].min(axis=1).mean())

    def f(self, cost: float) -> float:
        """Return f = 1 - cost / C."""
        return 1 - cost / self.scale


def best_cost(distances: np.ndarray, k: int) -> float:
    """Return the lowest cost of any k source rows, by enumerating all subsets."""
    columns = np.ascontiguousarray(distances.T)
    subsets = np.array([*combinations(range(len(columns)), k)])
    lowest = np.inf
    for start in range(0, len(subsets), _CHUNK):
        some = subsets[start : start + _CHUNK].T
        nearest = columns[some[0]]
        for others in some[1:]:
            np.minimum(nearest, columns[others], out=nearest)
        lowest = min(lowest, float(nearest.mean(axis=1).min()))
    return lowest


# -- random instances ----------------------------------------------------------------------------


def gaussian(random: np.random.Generator) -> Instance:
    n_columns = random.integers(1, 9)
    source, target = (random.normal(size=(n, n_columns)) for n in (_n_source(random), _TARGET))
    return Instance(_euclidean(source, target), _k(random))


def clustered(random: np.random.Generator) -> Instance:
    centres = random.normal(size=(random.integers(3, 7), 4)) * 3
    shares = random.dirichlet(np.ones(len(centres)))
    source, target = (
        centres[random.choice(len(centres), size=n, p=shares)] + random.normal(size=(n, 4))
        for n in (_n_source(random), _TARGET)
    )
    return Instance(_euclidean(source, target), _k(random))


def medoids(random: np.random.Generator) -> Instance:
    rows = random.normal(size=(16, random.integers(1, 5)))
    return Instance(_euclidean(rows, rows), _k(random))


def random_cover(random: np.random.Generator) -> Instance:
    """Return a random set system: a set is near to the items that it covers, far from others."""
    shape = 60, _n_source(random)
    covers = random.random(shape) < random.uniform(0.1, 0.4)
    return Instance(_as_distances(covers, np.ones(60), random), _k(random))


# -- adversarial instances -----------------------------------------------------------------------


def greedy_trap(random: np.random.Generator) -> Instance:
    """Return the tight example of maximum coverage: greedy reaches 1 - (1 - 1/k)^k of the best.

    Items form a grid of k columns and k + 1 rows. The best sets are the columns, of weight 1/k
    each. Row i has the weight (1/k)(1 - 1/k)^(i - 1): at every step the next row gains as much as
    any column, plus a small extra item that only it covers, so greedy takes the rows.
    """
    k = _k(random)
    heights = np.array([(1 - 1 / k) ** i / k for i in range(k)])
    heights = np.append(heights, 1 - heights.sum())
    column, row = np.divmod(np.arange(k * (k + 1)), k + 1)
    weights, extra = heights[row] / k, np.full(k, 0.02 / k)
    n_others = _n_source(random) - 2 * k
    covers = np.zeros((len(column) + k, 2 * k + n_others), dtype=bool)
    covers[: len(column), :k] = column[:, None] == np.arange(k)
    covers[: len(column), k : 2 * k] = row[:, None] == np.arange(k)
    covers[len(column) :, k : 2 * k] = np.eye(k, dtype=bool)
    covers[:, 2 * k :] = random.random((len(covers), n_others)) < 0.1
    return Instance(_as_distances(covers, np.append(weights, extra), random), k)


def hub_trap(random: np.random.Generator) -> Instance:
    """Return k tight groups and a hub half way to all of them, which greedy takes first.

    Greedy then has no prototype left for the last group, which only the hub serves from a distance.
    One swap corrects this.
    """
    k, n_source = _k(random), _n_source(random)
    groups = np.append(np.arange(n_source - 1) % k, k)
    homes = random.integers(k, size=_TARGET)
    distances = np.where(groups == homes[:, None], 0.03, 1.0)
    distances[:, -1] = 0.505
    noise = random.uniform(1 - _JITTER, 1 + _JITTER, size=distances.shape)
    noise[:, -1] = 1
    return Instance(distances * noise, k)


FAMILIES: dict[str, Callable[[np.random.Generator], Instance]] = {
    "gaussian": gaussian,
    "clustered": clustered,
    "T = S": medoids,
    "random cover": random_cover,
    "greedy's trap": greedy_trap,
    "hub trap": hub_trap,
}


def _k(random: np.random.Generator) -> int:
    return int(random.integers(2, 5))


def _n_source(random: np.random.Generator) -> int:
    return int(random.integers(12, 17))


def _euclidean(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.sqrt(((target[:, None] - source) ** 2).sum(axis=2))


def _as_distances(
    covers: np.ndarray, weights: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Return a target of items repeated in proportion to their weights, with a little noise."""
    counts = np.maximum(np.round(weights / weights.sum() * _TARGET).astype(int), 1)
    distances = np.repeat(np.where(covers, 0.0, 1.0), counts, axis=0)
    noise = random.uniform(0, _JITTER, size=distances.shape)
    return distances * (1 - _JITTER) + noise
