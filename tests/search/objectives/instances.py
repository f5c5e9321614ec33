"""Problems whose dissimilarities are a table, with a metric that counts its calls."""

from __future__ import annotations

from collections import Counter

import numpy as np

from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose


class Seen:
    """A metric that reads its values from a table and counts the calls of each pair."""

    def __init__(self, table):
        self.table = table
        self.pairs = Counter()

    def __call__(self, target, source):
        self.pairs[target, source] += 1
        return self.table[target, source]


def watched(table, weights=None):
    """Return an oracle of this |target| x |source| table, and the metric that counts its calls."""
    metric = Seen(table)
    n_target, n_source = table.shape
    rows = list(range(n_source)), list(range(n_target))
    return Oracle(pose(*rows, k=1, metric=metric, weights=weights), n_jobs=1), metric


def table(n_target, n_source, *, seed=0, top=1.0):
    return np.random.default_rng(seed).uniform(0, top, size=(n_target, n_source))


def uneven(n, seed=0):
    """Return weights, a quarter of which are 0."""
    random = np.random.default_rng(seed)
    return random.exponential(size=n) * (random.random(n) > 0.25)
