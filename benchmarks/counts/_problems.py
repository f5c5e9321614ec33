"""Fixed problems on which a count is the same on every machine.

Rules
-----
1. Rows, weights and dissimilarities are whole numbers, small enough that every product and sum of
   them is exact in the precision they are kept in. So it does not matter in which order a BLAS or a
   compiler adds them up.
2. Rows come from a formula on integers, not from a library's random numbers.
3. Weights add up to a power of two: shares of them are exact too.
4. Numbers are spread so widely that gains are distinct, and no tie decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import protobandit as pb
from protobandit.methods import METHODS, SEARCHES, LazyBandit, ProtoBandit

_EVERYONE = {name: method() for name, method in METHODS.items()}
_RACERS = {
    **{f"lazybandit {e}": LazyBandit(effort=e) for e in ("fast", "balanced", "thorough")},
    "protobandit": ProtoBandit(),
}
# A tolerance that each of them can reach on fewer rows than there are.
_SEARCHERS = {f"protobandit {name}": ProtoBandit(search=name, nu_step=0.3) for name in SEARCHES}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem, the methods that solve it, and the same dissimilarities as whole numbers.

    ``target`` is None where it is the source; ``whole(target, source)`` returns d(target, source)
    of integer rows as integers. Counts are summed over the seeds.
    """

    source: np.ndarray
    target: np.ndarray | None
    k: int
    whole: Callable[[np.ndarray, np.ndarray], np.ndarray]
    metric: Any
    weights: np.ndarray | None = None
    methods: dict[str, Any] = field(default_factory=lambda: dict(_EVERYONE))
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
        """Return d(target, source) as int64, one column for each of these source rows."""
        if self.metric == "precomputed":
            return as_integers(self.source[:, indices])
        return self.whole(as_integers(self.target_rows), as_integers(self.source[indices]))

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the numbers of source and of target rows."""
        n_target = len(self.target_rows)
        return self.source.shape[self.metric == "precomputed"], n_target

    @property
    def target_rows(self) -> np.ndarray:
        """Return the target, which may be the source."""
        return self.source if self.target is None else self.target

    def cost(self, indices: np.ndarray) -> int:
        """Return the weighted sum of distances to the nearest of these rows, a whole number."""
        nearest = self.distances(indices).min(axis=1)
        return int(nearest.sum() if self.weights is None else nearest @ as_integers(self.weights))


def as_integers(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers as int64."""
    integers = numbers.astype(np.int64)
    assert (integers == numbers).all(), "not whole numbers"
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
    """Return distances for which going up costs twice what going down does."""
    total = np.zeros((len(target), len(source)), dtype=target.dtype)
    for theirs, ours in zip(target.T, source.T, strict=True):
        gap = theirs[:, None] - ours
        total += np.maximum(2 * gap, -gap)
    return total


# -- rows -----------------------------------------------------------------------------------------


def mixed(n: int, salt: int) -> np.ndarray:
    """Return n numbers of 64 bits that look random (SplitMix64's finaliser)."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(salt << 32)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def below(limit: int, n: int, salt: int) -> np.ndarray:
    """Return n whole numbers from 0 to limit - 1."""
    return (mixed(n, salt) % np.uint64(limit)).astype(np.int64)


def clusters(n: int, n_columns: int, *, salt: int, reach: int, n_centres: int = 12) -> np.ndarray:
    """Return rows of whole numbers around centres, within ``reach`` of 0."""
    spread = reach // 8
    centres = below(2 * (reach - spread), n_centres * n_columns, 1) - (reach - spread)
    # The smallest of two: clusters of uneven sizes.
    own = np.minimum(below(n_centres, n, salt + 1), below(n_centres, n, salt + 2))
    noise = sum(below(spread, n * n_columns, salt + at) for at in (3, 4)) - spread
    return centres.reshape(n_centres, n_columns)[own] + noise.reshape(n, n_columns)


def shares(n: int, *, salt: int) -> np.ndarray:
    """Return uneven weights, whole numbers that add up to a power of two; one in nine is 0."""
    weights = np.array([0, 1, 1, 1, 2, 2, 3, 5, 40])[below(9, n, salt)]
    heavy, total = np.flatnonzero(weights), int(weights.sum())
    each, rest = divmod(2 ** total.bit_length() - total, len(heavy))
    weights[heavy] += each
    weights[heavy[:rest]] += 1
    return weights


def _square() -> Case:
    rows = clusters(240, 5, salt=10, reach=2000).astype(np.float32)
    return Case(source=rows, target=None, k=6, metric="manhattan", whole=manhattan)


def _rectangle() -> Case:
    """Return a problem with columns enough for products of matrices: a BLAS has its say."""
    source, target = (clusters(n, 16, salt=n, reach=500) for n in (300, 2500))
    return Case(
        source=source.astype(np.float64),
        target=target.astype(np.float64),
        k=7,
        metric="sqeuclidean",
        whole=squares,
        methods=_EVERYONE | _SEARCHERS,
    )


def _weighted() -> Case:
    source, target = (clusters(n, 4, salt=n, reach=2000) for n in (160, 300))
    return Case(
        source=source.astype(np.float32),
        target=target.astype(np.float32),
        k=5,
        weights=shares(300, salt=7).astype(np.float64),
        metric="manhattan",
        whole=manhattan,
    )


def _precomputed() -> Case:
    source, target = (clusters(n, 3, salt=n, reach=4000) for n in (140, 260))
    by_kernel = {"mmd-critic", "protodash"}  # these read rows, and there are none
    return Case(
        source=lopsided(target, source).astype(np.float64),
        target=None,
        k=8,
        metric="precomputed",
        whole=lopsided,
        methods={name: method for name, method in _EVERYONE.items() if name not in by_kernel},
    )


def _callable() -> Case:
    """Return a problem small enough to be exact, were its metric not a function of the user's."""
    source, target = (clusters(n, 3, salt=n, reach=2000) for n in (130, 700))
    return Case(
        source=source.astype(np.float64),
        target=target.astype(np.float64),
        k=6,
        metric=pb.block_metric(lopsided),
        whole=lopsided,
        methods=_EVERYONE | _RACERS,
    )


def _race() -> Case:
    """Return more pairs than are computed at once, more cells than an arm is measured in."""
    source, target = (clusters(n, 4, salt=n, reach=4000, n_centres=40) for n in (2100, 8200))
    return Case(
        source=source.astype(np.float32),
        target=target.astype(np.float32),
        k=16,
        metric="manhattan",
        whole=manhattan,
        methods=_RACERS,
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
        whole=manhattan,
        methods=_RACERS,
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
