from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import both_ways, every_type, table, tied, weighted
from protobandit.kernels import greedy as greedy_kernels

N_ARMS, N_ROWS, K = 40, 70, 9


def lazy_greedy(way, full, weights, nearest, upper, heap, k):
    chosen, gains = np.full(k, -1, dtype=np.int64), np.zeros(k)
    total = float(weights.sum())
    heap[:] = heap[np.argsort(-upper[heap])]
    n = way(greedy_kernels.lazy_greedy)(full, weights, total, nearest, upper, heap, chosen, gains)
    return chosen, gains, n


def brute(full, weights, nearest, arms, k):
    """Return what greedy chooses by computing all gains in double precision, and the gains."""
    left, nearest = sorted(arms), nearest.astype(np.float64)
    chosen, gains = [], []
    for _ in range(k):
        exact = [float(weights @ np.maximum(nearest - full[arm], 0)) for arm in left]
        best = int(np.argmax(exact)) if left else -1
        if best < 0 or exact[best] <= 0:
            break
        nearest = np.minimum(nearest, full[left[best]])
        gains.append(exact[best] / weights.sum())
        chosen.append(left.pop(best))
    return chosen, gains


@every_type
@both_ways
@tied
@pytest.mark.parametrize("seed", range(4))
def test_lazy_greedy_equals_greedy(dtype, way, is_tied, seed):
    full = table(N_ARMS, N_ROWS, dtype=dtype, is_tied=is_tied, seed=seed)
    weights = weighted(N_ROWS, seed)
    nearest, upper = full[3].copy(), np.full(N_ARMS, np.inf)
    heap = np.delete(np.arange(N_ARMS), 3)
    np.random.default_rng(seed).shuffle(heap)
    expected, drops = brute(full, weights, nearest, heap.tolist(), K)
    chosen, gains, _ = lazy_greedy(way, full, weights, nearest, upper, heap, K)
    assert chosen[chosen >= 0].tolist() == expected
    np.testing.assert_allclose(gains[: len(drops)], drops, rtol=1e-5)
    members = full[[3, *expected]]
    np.testing.assert_array_equal(nearest, members.min(axis=0))
    assert sorted(heap.tolist()) == [arm for arm in range(N_ARMS) if arm != 3] or len(expected)


@both_ways
def test_ends_if_no_arm_has_a_gain(way):
    full = np.ones((5, 4))
    full[2] = [0.0, 1.0, 1.0, 1.0]
    heap = np.arange(1, 5)
    chosen, gains, _ = lazy_greedy(
        way, full, np.ones(4), full[0].copy(), np.full(5, np.inf), heap, 4
    )
    assert chosen.tolist() == [2, -1, -1, -1]
    assert gains.tolist() == [0.25, 0.0, 0.0, 0.0]


@both_ways
def test_ends_if_all_arms_are_chosen(way):
    full = table(4, 30, dtype=np.float64)
    heap = np.arange(1, 4)
    weights, upper = np.ones(30), np.full(4, np.inf)
    chosen, _, _ = lazy_greedy(way, full, weights, full[0].copy(), upper, heap, 5)
    assert sorted(chosen[:3].tolist()) == [1, 2, 3]
    assert chosen[3:].tolist() == [-1, -1]


def test_bounds_save_computations():
    full = table(400, 50, dtype=np.float64, seed=1)
    weights, nearest = np.ones(50), full[0].copy()
    heap = np.arange(1, 400)
    upper = np.full(400, np.inf)
    upper[heap] = np.maximum(nearest - full[heap], 0).mean(axis=1)
    _, _, n_computed = lazy_greedy(lambda kernel: kernel, full, weights, nearest, upper, heap, 10)
    assert 10 <= n_computed < 1500, "without bounds each iteration computes up to 399 gains"
