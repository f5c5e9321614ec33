"""The dual bound, compared with the best set and with its references."""

from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.certificate import dual
from protobandit.kernels import dual as kernels
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose

ORACLE = Oracle(pose(np.zeros((2, 1)), k=1))  # its threads are used


def table_of(y, weights, width):
    order = np.argsort(y, axis=1)[:, :width].astype(np.int32)
    values = np.take_along_axis(y, order, axis=1).astype(np.float32)
    return dual.DualTable(
        n_arms=y.shape[1], weights=weights, arms=order, values=values, nearest=weights
    )


@pytest.mark.parametrize("width", [3, 6, 9])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_bound_never_exceeds_the_best_set(k, width):
    """This holds for any values, however few of them are stored."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        y = random.standard_normal((15, 9)).astype(np.float32).astype(np.float64)
        y -= y[:, :k].min(axis=1, keepdims=True)
        weights = random.dirichlet(np.ones(15))
        best = brute.best_cost(y, weights, k)
        bound = dual.solve_dual(ORACLE, table_of(y, weights, width), k).bound
        assert bound <= best + 1e-6
        assert width < 9 or k > 1 or bound == pytest.approx(best, abs=1e-3)


def test_kernels_agree_with_their_references():
    random = np.random.default_rng(0)
    values = np.sort(random.standard_normal((50, 8)).astype(np.float32), axis=1)
    arms = np.argsort(random.random((50, 12)), axis=1)[:, :8].astype(np.int32)
    prices, weights = random.standard_normal(50), random.random(50)
    is_open = (random.random(12) < 0.5).astype(np.float64)
    for kernel, by, n in (
        (kernels.arm_savings, weights, 12),
        (kernels.count_serving_arms, is_open, 50),
    ):
        one, other = np.full(n, np.nan), np.full(n, np.nan)
        kernel(arms, values, prices, by, one)
        kernel.reference(arms, values, prices, by, other)
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
        assert one.any()
    block = random.standard_normal((12, 50)).astype(np.float32)
    one, other = np.full(12, np.nan), np.full(12, np.nan)
    kernels.block_savings(block, prices, weights, one)
    kernels.block_savings.reference(block, prices, weights, other)
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_parts_of_a_large_table_give_the_same_sums(monkeypatch):
    random = np.random.default_rng(0)
    y = random.standard_normal((300, 9))
    weights = random.dirichlet(np.ones(300))
    table, prices = table_of(y, weights, 9), random.standard_normal(300)
    whole = dual._Sums(ORACLE, table)
    monkeypatch.setattr(dual, "_FEW_CELLS", 1)
    parts = dual._Sums(ORACLE, table)
    assert len(parts._cuts) == 8 > len(whole._cuts)
    np.testing.assert_allclose(parts.savings(prices), whole.savings(prices))
    opened = np.array([1, 5])
    assert (parts.n_serving(prices, opened) == whole.n_serving(prices, opened)).all()


def test_least_values():
    table = table_of(np.array([[3.0, 1, 2], [0, 5, 4]]), np.full(2, 0.5), 2)
    assert table.least_values(np.array([0, 2])).tolist() == [2, 0]
    assert table.least_values(np.array([0])).tolist() == [2, 0]  # not stored in the first row
