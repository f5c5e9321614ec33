"""The first improving swap: the loop, its reference, and the cost by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.kernels import random_swaps as random_swaps_kernels
from protobandit.kernels.random_swaps import first_improving_swap_reference

N_ARMS, N_ROWS = 20, 33
both = pytest.mark.parametrize(
    "kernel",
    [random_swaps_kernels.first_improving_swap, first_improving_swap_reference],
    ids=["compiled", "reference"],
)


def instance(seed, k, dtype=np.float64):
    """Return distances of arms (in shuffled rows), prototypes, and the two nearest of each row."""
    random = np.random.default_rng(seed)
    d = random.uniform(size=(N_ARMS, N_ROWS)).astype(dtype)
    places = random.permutation(N_ARMS)
    matrix = np.empty_like(d)
    matrix[places] = d
    members = random.permutation(N_ARMS)[:k]
    ranked = np.sort(d[members], axis=0)
    E = ranked[1] if k > 1 else np.full(N_ROWS, np.inf, dtype=dtype)
    weights = random.integers(0, 4, size=N_ROWS).astype(float)
    return d, matrix, places, members, d[members].argmin(axis=0), ranked[0].copy(), E, weights


def true_change(d, weights, members, slot, arm):
    after = members.copy()
    after[slot] = arm
    cost = [float(d[own].astype(np.float64).min(axis=0) @ weights) for own in (members, after)]
    return cost[1] - cost[0]


def proposals(seed, k, n=60):
    random = np.random.default_rng([seed, 1])
    return random.integers(N_ARMS, size=n), random.integers(k, size=n)


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_stops_at_the_first_swap_that_improves_by_the_definition(kernel, seed, k, dtype):
    d, matrix, places, members, near, D, E, weights = instance(seed, k, dtype)
    arms, slots = proposals(seed, k)
    is_member = np.isin(np.arange(N_ARMS), members)
    for least in (0.0, -1.0, -3.0, -1e9):
        found, n_failed = np.zeros(2, dtype=np.int64), 0
        kernel(matrix, places, arms, slots, is_member, near, D, E, weights, least, found)
        for p, (arm, slot) in enumerate(zip(arms, slots, strict=True)):
            if is_member[arm]:
                continue
            if true_change(d, weights, members, slot, arm) < least:
                assert found.tolist() == [p, n_failed]
                break
            n_failed += 1
        else:
            assert found.tolist() == [len(arms), n_failed]


@both
def test_prototypes_are_skipped(kernel):
    _, matrix, places, members, near, D, E, weights = instance(0, 3)
    is_member = np.isin(np.arange(N_ARMS), members)
    found = np.zeros(2, dtype=np.int64)
    arms, slots = np.repeat(members, 4), np.zeros(12, dtype=np.int64)
    kernel(matrix, places, arms, slots, is_member, near, D, E, weights, np.inf, found)
    assert found.tolist() == [12, 0]
