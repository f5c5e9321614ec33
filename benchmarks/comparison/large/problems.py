"""The problems of the large-scale comparison, and the rows that are generated for them.

The constants of this package were chosen on other seeds than those of the generated rows. None of
the packages used here contains real embeddings, so embeddings are synthetic: clusters with Zipf
sizes within a spectrum that decays as a power of the rank.
"""

from __future__ import annotations

import numpy as np

from benchmarks.comparison.problems import Problem

SEED = 20_261  # of the rows
FIRST_SEED = 101  # of the fits

CLUSTERS, EMBEDDINGS, TABLE, MNIST = "clusters", "embeddings", "table", "mnist"
_LABELS = {
    CLUSTERS: "Gaussian clusters with Zipf sizes",
    EMBEDDINGS: "synthetic embeddings",
    TABLE: "heavy-tailed table",
    MNIST: "MNIST",
}
_GROUPS, _CENTRES = 50, 5_000


def clusters(n: int, d: int) -> np.ndarray:
    """Return rows around 5,000 centres, which lie in 50 groups; cluster sizes follow Zipf's law.

    The standard deviations are 1 between groups, 0.6 within a group and 0.5 within a cluster.
    """
    centres = _centres(np.random.default_rng([SEED, 0]), d, 0.6)
    random = np.random.default_rng([SEED, 1, n])
    rows = random.standard_normal((n, d), dtype=np.float32)
    rows *= 0.5
    rows += centres[_zipf(random, n)]
    return rows


def embeddings(n: int, d: int) -> np.ndarray:
    """Return rows of length 1: clusters in a space whose variances fall like i^-0.8.

    A common direction is added, as in text embeddings, whose cosines are above 0 on average.
    """
    random = np.random.default_rng([SEED, 2])
    spectrum = (np.arange(1, d + 1) ** -0.4).astype(np.float32)  # standard deviations
    centres = _centres(random, d, 0.7)
    turn = np.linalg.qr(random.standard_normal((d, d)))[0].astype(np.float32)
    common = 0.5 * np.linalg.norm(spectrum) * turn[0]
    random = np.random.default_rng([SEED, 3, n])
    rows = random.standard_normal((n, d), dtype=np.float32)
    rows += centres[_zipf(random, n)]
    rows *= spectrum
    rows = rows @ turn + common
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def table(n: int, d: int) -> np.ndarray:
    """Return standardised columns with heavy tails: in turn Student's t, lognormal and Pareto."""
    random = np.random.default_rng([SEED, 4, n])
    shared = random.standard_normal(n)  # correlates the columns
    draws = (
        lambda: random.standard_t(3, n) + shared,
        lambda: np.exp(random.standard_normal(n) + 0.5 * shared),
        lambda: np.round(random.pareto(2.5, n) * 100),
    )
    columns = np.stack([draws[i % len(draws)]() for i in range(d)], axis=1)
    return ((columns - columns.mean(axis=0)) / columns.std(axis=0)).astype(np.float32)


def _centres(random: np.random.Generator, d: int, spread: float) -> np.ndarray:
    """Return centres of clusters; ``spread`` is their standard deviation within a group."""
    groups = random.standard_normal((_GROUPS, d), dtype=np.float32)
    offsets = random.standard_normal((_CENTRES, d), dtype=np.float32)
    return groups[np.arange(_CENTRES) % _GROUPS] + np.float32(spread) * offsets


def _zipf(random: np.random.Generator, n: int) -> np.ndarray:
    sizes = 1 / np.arange(1, _CENTRES + 1)
    return random.choice(_CENTRES, n, p=sizes / sizes.sum())


GENERATORS = {CLUSTERS: clusters, EMBEDDINGS: embeddings, TABLE: table}


def _problem(data: str, n: int, d: int, *ks: int) -> Problem:
    metric = "cosine" if data == EMBEDDINGS else "euclidean"
    name = f"{data}-{n}"
    return Problem(name=name, n=n, n_target=n, d=d, ks=ks, label=_LABELS[data], metric=metric)


# Of the same data the smaller comes first: the schedule skips what is larger than a late fit.
FULL = (
    _problem(MNIST, 60_000, 784, 100, 1_000),
    _problem(EMBEDDINGS, 100_000, 384, 100, 1_000),
    _problem(TABLE, 336_000, 5, 100, 1_000),
    _problem(CLUSTERS, 100_000, 64, 100, 1_000, 10_000),
    _problem(CLUSTERS, 1_000_000, 64, 100, 1_000, 10_000),
)
QUICK = (
    _problem(EMBEDDINGS, 3_000, 32, 10),
    _problem(TABLE, 3_000, 5, 10),
    _problem(CLUSTERS, 3_000, 16, 10, 30),
    _problem(CLUSTERS, 6_000, 16, 10, 30),
)
