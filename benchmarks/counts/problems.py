"""Fixed problems on which counts are the same on every machine.

Rules
-----
1. Rows, weights and dissimilarities are integers, small enough that all their products and sums are
   exact in their precision. So the order in which a BLAS or a compiler adds them has no effect.
2. Rows come from a formula on integers, not from the random numbers of a library.
3. The sum of the weights is a power of two, so that shares of it are exact too.
4. The numbers vary enough that gains are distinct, and no ties occur.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import protobandit as pb
from protobandit.methods import METHODS, SEARCHES, LazyBandit, ProtoBandit

_ALL = {name: method() for name, method in METHODS.items()}
_BANDITS = {
    **{f"lazybandit {e}": LazyBandit(effort=e) for e in ("fast", "balanced", "thorough")},
    "protobandit": ProtoBandit(),
}
# A tolerance that each search can reach without reading the whole target.
_ALL_SEARCHES = {f"protobandit {name}": ProtoBandit(search=name, nu_step=0.3) for name in SEARCHES}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem, the methods to run on it, and its dissimilarities as integers.

    A ``target`` of None is the source. ``integer_distance(target, source)`` returns d of
    integer rows as integers. Counts are summed over the seeds.
    """

    source: np.ndarray
    target: np.ndarray | None
    k: int
    integer_distance: Callable[[np.ndarray, np.ndarray], np.ndarray]
    metric: Any
    weights: np.ndarray | None = None
    methods: dict[str, Any] = field(default_factory=lambda: dict(_ALL))
    seeds: tuple[int, ...] = (0,)

    def solve(self, method: Any, seed: int, n_jobs: int = 1) -> pb.Selection:
        """Return the selection of a method."""
        return pb.select(
            self.source,
            self.target,
            k=self.k,
            weights=self.weights,
            metric=self.metric,
            method=method,
            random_state=seed,
            n_jobs=n_jobs,
        )

    def distances(self, indices: np.ndarray) -> np.ndarray:
        """Return d(target, source) as int64, one column per source row."""
        if self.metric == "precomputed":
            return as_integers(self.source[:, indices])
        return self.integer_distance(
            as_integers(self.target_rows), as_integers(self.source[indices])
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the numbers of source rows and target rows."""
        n_target = len(self.target_rows)
        return self.source.shape[self.metric == "precomputed"], n_target

    @property
    def target_rows(self) -> np.ndarray:
        """Return the target, which may be the source."""
        return self.source if self.target is None else self.target

    def cost(self, indices: np.ndarray) -> int:
        """Return the weighted sum of distances to the nearest of these rows, an integer."""
        nearest = self.distances(indices).min(axis=1)
        return int(nearest.sum() if self.weights is None else nearest @ as_integers(self.weights))


def as_integers(numbers: np.ndarray) -> np.ndarray:
    """Return integers of any dtype as int64."""
    integers = numbers.astype(np.int64)
    assert (integers == numbers).all(), "not integers"
    return integers


# -- dissimilarities, in integers -----------------------------------------------------------------


def manhattan(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    total = np.zeros((len(target), len(source)), dtype=target.dtype)
    for theirs, ours in zip(target.T, source.T, strict=True):
        total += abs(theirs[:, None] - ours)
    return total


def squares(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    total = np.zeros((len(target), len(source)), dtype=target.dtype)
    for theirs, ours in zip(target.T, source.T, strict=True):
        total += (theirs[:, None] - ours) ** 2
    return total


def lopsided(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return an asymmetric distance: upward differences count twice."""
    total = np.zeros((len(target), len(source)), dtype=target.dtype)
    for theirs, ours in zip(target.T, source.T, strict=True):
        gap = theirs[:, None] - ours
        total += np.maximum(2 * gap, -gap)
    return total


# -- rows -----------------------------------------------------------------------------------------


def mixed(n: int, salt: int) -> np.ndarray:
    """Return n pseudorandom numbers of 64 bits (the finaliser of SplitMix64)."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(salt << 32)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def below(limit: int, n: int, salt: int) -> np.ndarray:
    """Return n integers from 0 to limit - 1."""
    return (mixed(n, salt) % np.uint64(limit)).astype(np.int64)


def clusters(n: int, n_columns: int, *, salt: int, reach: int, n_centres: int = 12) -> np.ndarray:
    """Return rows of integers around centres, from -reach to reach."""
    spread = reach // 8
    centres = below(2 * (reach - spread), n_centres * n_columns, 1) - (reach - spread)
    # The smaller of two numbers: clusters have different sizes.
    own = np.minimum(below(n_centres, n, salt + 1), below(n_centres, n, salt + 2))
    noise = sum(below(spread, n * n_columns, salt + at) for at in (3, 4)) - spread
    return centres.reshape(n_centres, n_columns)[own] + noise.reshape(n, n_columns)


def shares(n: int, *, salt: int) -> np.ndarray:
    """Return unequal integer weights whose sum is a power of two; one in nine is 0."""
    weights = np.array([0, 1, 1, 1, 2, 2, 3, 5, 40])[below(9, n, salt)]
    heavy, total = np.flatnonzero(weights), int(weights.sum())
    each, rest = divmod(2 ** total.bit_length() - total, len(heavy))
    weights[heavy] += each
    weights[heavy[:rest]] += 1
    return weights


def _square() -> Case:
    rows = clusters(240, 5, salt=10, reach=2000).astype(np.float32)
    return Case(source=rows, target=None, k=6, metric="manhattan", integer_distance=manhattan)


def _rectangle() -> Case:
    """Return a problem with enough columns for matrix products, which use a BLAS."""
    source, target = (clusters(n, 16, salt=n, reach=500) for n in (300, 2500))
    return Case(
        source=source.astype(np.float64),
        target=target.astype(np.float64),
        k=7,
        metric="sqeuclidean",
        integer_distance=squares,
        methods=_ALL | _ALL_SEARCHES,
    )


def _weighted() -> Case:
    source, target = (clusters(n, 4, salt=n, reach=2000) for n in (160, 300))
    return Case(
        source=source.astype(np.float32),
        target=target.astype(np.float32),
        k=5,
        weights=shares(300, salt=7).astype(np.float64),
        metric="manhattan",
        integer_distance=manhattan,
    )


def _precomputed() -> Case:
    source, target = (clusters(n, 3, salt=n, reach=4000) for n in (140, 260))
    by_kernel = {"mmd-critic", "protodash"}  # these need rows, not distances
    return Case(
        source=lopsided(target, source).astype(np.float64),
        target=None,
        k=8,
        metric="precomputed",
        integer_distance=lopsided,
        methods={name: method for name, method in _ALL.items() if name not in by_kernel},
    )


def _callable() -> Case:
    """Return a problem that would be solved exactly if its metric were not a user function."""
    source, target = (clusters(n, 3, salt=n, reach=2000) for n in (130, 700))
    return Case(
        source=source.astype(np.float64),
        target=target.astype(np.float64),
        k=6,
        metric=pb.block_metric(lopsided),
        integer_distance=lopsided,
        methods=_ALL | _BANDITS,
    )


def _race() -> Case:
    """Return a problem with too many pairs to compute all, and more cells than an arm reads."""
    source, target = (clusters(n, 4, salt=n, reach=4000, n_centres=40) for n in (2100, 8200))
    return Case(
        source=source.astype(np.float32),
        target=target.astype(np.float32),
        k=16,
        metric="manhattan",
        integer_distance=manhattan,
        methods=_BANDITS,
        seeds=(0, 1),
    )


def _weighted_race() -> Case:
    source, target = (clusters(n, 4, salt=n, reach=4000, n_centres=40) for n in (1700, 10_000))
    return Case(
        source=source.astype(np.float32),
        target=target.astype(np.float32),
        k=5,
        weights=shares(10_000, salt=9).astype(np.float64),
        metric="manhattan",
        integer_distance=manhattan,
        methods=_BANDITS,
        seeds=(0, 1),
    )


CASES: dict[str, Callable[[], Case]] = {
    "square": _square,
    "rectangle": _rectangle,
    "weighted": _weighted,
    "precomputed": _precomputed,
    "callable": _callable,
    "race": _race,
    "weighted race": _weighted_race,
}
