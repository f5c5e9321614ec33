from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from protobandit.metrics.metrics import METRICS, block_metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.localsearch.prototype_index import can_index, indexed_lists


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_distances_are_true_and_most_neighbours_are_found(metric):
    random = np.random.default_rng(0)
    rows = random.normal(size=(3000, 6))
    oracle = Oracle(pose(rows, k=500, metric=metric))
    prototypes = random.choice(3000, 500, replace=False)
    slots, gaps = indexed_lists(oracle, oracle.targets(slice(0, 3000)), prototypes, 4, random)
    exact = cdist(rows, rows[prototypes], "cityblock" if metric == "manhattan" else metric)
    lines = np.arange(3000)[:, None]
    np.testing.assert_allclose(gaps, exact[lines, slots], atol=1e-9)
    assert (gaps[:, 0] <= exact.min(axis=1) + 1e-9).mean() > 0.95
    n_all = 3000 * 500
    assert oracle.evaluations.total() < n_all


def test_a_metric_of_the_user_has_no_index():
    assert can_index(METRICS["cosine"])
    assert not can_index(METRICS["precomputed"])
    assert not can_index(block_metric(lambda A, B: abs(A - B.T)))
