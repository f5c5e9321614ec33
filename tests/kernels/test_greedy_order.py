"""The greedy order on a block: the loop, its reference, and greedy selection by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.kernels.greedy_order import greedy_order, greedy_order_reference

both = pytest.mark.parametrize(
    "kernel", [greedy_order, greedy_order_reference], ids=["compiled", "reference"]
)


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_each_row_lowers_the_cost_most(kernel, dtype, seed):
    random = np.random.default_rng(seed)
    block = random.random((20, 50)).astype(dtype)
    block[random.integers(20, size=4)] = block[3]  # ties
    nearest = random.random(50).astype(dtype)
    weights = random.integers(0, 3, size=50).astype(float)
    order, gains = np.empty(20, np.int64), np.empty(20)
    before, own = weights @ nearest.astype(np.float64), nearest.copy()
    kernel(block, own, weights, order, gains)
    n = int((order >= 0).sum())
    assert (order[n:] == -1).all()
    assert (gains[n:] == 0).all()
    assert len(set(order[:n].tolist())) == n > 3
    for i, gain in zip(order[:n], gains, strict=False):
        worth = np.maximum(nearest.astype(np.float64) - block, 0.0) @ weights
        assert gain == pytest.approx(worth[i])
        assert gain == pytest.approx(worth.max())
        nearest = np.minimum(nearest, block[i])
    np.testing.assert_array_equal(own, nearest)
    worth = np.maximum(nearest.astype(np.float64) - block, 0.0) @ weights
    assert worth.max() == 0
    assert before - gains.sum() == pytest.approx(weights @ nearest.astype(np.float64))


@both
def test_it_ends_where_rows_are_asked_for(kernel):
    block, weights = np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0]]), np.ones(2)
    order, gains = np.empty(1, np.int64), np.empty(1)
    kernel(block, np.full(2, 9.0), weights, order, gains)
    assert order.tolist() == [0]
    assert gains.tolist() == [14.0]
