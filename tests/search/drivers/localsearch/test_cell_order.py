"""The order of very many prototypes: complete, counted, and as good as greedy on a table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.localsearch import cell_order
from protobandit.search.drivers.localsearch.cell_order import (
    CellOrder,
    expected_evaluations,
    most_evaluations,
)


@pytest.fixture(autouse=True)
def _small_cells(monkeypatch):
    """Let a few hundred prototypes be ordered in several levels, and in pieces."""
    monkeypatch.setattr(cell_order, "_FEW", 30)
    monkeypatch.setattr(cell_order, "_FEWEST_CHOSEN", 4)
    monkeypatch.setattr(cell_order, "_MOST_CHOSEN", 8)
    monkeypatch.setattr(cell_order, "_WANTED", 20)
    monkeypatch.setattr(cell_order, "_PIECE", 500)


def rows_of(n, seed):
    random = np.random.default_rng(seed)
    return random.standard_t(3, size=(n, 3))


def order_of(source, target, prototypes, *, fixed=(), weights=None, n_jobs=1, metric="euclidean"):
    oracle = Oracle(pose(source, target, k=len(prototypes), metric=metric), n_jobs=n_jobs)
    weights = np.ones(len(target)) if weights is None else weights
    rows = np.arange(len(target))
    with oracle.at_work():
        found = CellOrder(oracle, prototypes, rows, weights, np.array(fixed, np.int64)).found()
    return *found, oracle


def cost_of(source, target, some, weights):
    return float(cdist(target, source[some]).min(axis=1) @ weights) / weights.sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_prefixes_are_better_than_random_ones(seed, is_weighted):
    source, target = rows_of(900, seed), rows_of(3000, seed + 10)
    random = np.random.default_rng(seed)
    weights = random.integers(0, 4, size=3000).astype(float) if is_weighted else np.ones(3000)
    prototypes = random.permutation(900)[:400]
    order, gains, oracle = order_of(source, target, prototypes, weights=weights)
    assert len(set(order.tolist())) == len(order)
    assert len(order) > 350
    assert np.isnan(gains[0])
    assert (np.diff(gains[1:]) <= 0).all()
    assert (gains[1:] > 0).all()
    n = oracle.evaluations.total()
    assert n <= most_evaluations(400, 3000)
    assert 0.3 * n < expected_evaluations(400, 3000) < 3 * n
    for j in (1, 5, 20, 80, 200):
        own = cost_of(source, target, prototypes[order[:j]], weights)
        others = [
            cost_of(source, target, random.permutation(prototypes)[:j], weights) for _ in range(3)
        ]
        assert own < (0.95 if j < 200 else 0.97) * np.mean(others)


def test_one_cell_is_exact_greedy(monkeypatch):
    monkeypatch.setattr(cell_order, "_FEW", 100)
    source, target = rows_of(80, 1), rows_of(500, 2)
    order, gains, _ = order_of(source, target, np.arange(60))
    d = cdist(target, source[:60])
    chosen = [int(d.sum(axis=0).argmin())]
    for place in range(1, 10):
        costs = np.minimum(d[:, chosen].min(axis=1)[:, None], d).sum(axis=0)
        assert gains[place] == pytest.approx((d[:, chosen].min(axis=1).sum() - costs.min()) / 500)
        chosen.append(int(costs.argmin()))
    assert order[:10].tolist() == chosen


def test_fixed_prototypes_come_first():
    source, target = rows_of(500, 1), rows_of(900, 2)
    order, gains, _ = order_of(source, target, np.arange(200), fixed=(17, 3, 90))
    assert order[:3].tolist() == [17, 3, 90]
    assert 17 not in order[3:]
    d = cdist(target, source[[17, 3, 90]])
    costs = np.minimum.accumulate(d, axis=1).mean(axis=0)
    np.testing.assert_allclose(gains[1:3], -np.diff(costs))


def test_threads_do_not_change_the_order_and_calls_are_counted(monkeypatch):
    monkeypatch.setattr("protobandit.oracle.oracle._SMALL_WORK", 0)
    source, target = rows_of(900, 4), rows_of(2000, 5)
    one, two = (order_of(source, target, np.arange(500), n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_equal_rows_have_no_gain():
    source = np.repeat(rows_of(5, 0), 60, axis=0)
    order, _, _ = order_of(source, source, np.arange(300))
    assert len(order) == 5
    assert len(np.unique(source[order], axis=0)) == 5
