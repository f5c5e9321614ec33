from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import both_ways, every_type, tied
from protobandit.kernels import moments as moments_kernels

N_LINES, N_ROWS = 9, 23
LINES = np.array([4, 0, 7, 2])


def instance(dtype, *, is_tied=False, seed=0):
    """Return a matrix of distances, and weights, some of which are 0."""
    random = np.random.default_rng(seed)
    matrix = random.random((N_LINES, N_ROWS))
    if is_tied:
        matrix = random.integers(0, 3, size=matrix.shape)
    return matrix.astype(dtype), random.integers(0, 4, size=N_ROWS) / 2.0


def check(found, rewards):
    """Compare with sums of rewards by definition, plus the initial values of the outputs."""
    total, squares = found
    np.testing.assert_allclose(total, 1 + rewards.sum(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(squares, 2 + (rewards**2).sum(axis=-1), rtol=1e-12)


def outputs(*shape):
    return np.ones(shape), np.full(shape, 2.0)


@every_type
@both_ways
def test_before_the_first_pick_a_reward_is_minus_the_distance(dtype, way):
    matrix, weights = instance(dtype)
    found, zeros = outputs(len(LINES)), np.zeros(N_ROWS, dtype=dtype)
    way(moments_kernels.gain_moments)(matrix, LINES, zeros + dtype(np.inf), zeros, weights, *found)
    check(found, -weights * matrix[LINES].astype(float))


@every_type
@both_ways
@tied
def test_with_nearest_as_the_level_a_reward_is_the_gain(dtype, way, is_tied):
    matrix, weights = instance(dtype, is_tied=is_tied)
    nearest = instance(dtype, is_tied=is_tied, seed=1)[0][0]
    found = outputs(len(LINES))
    way(moments_kernels.gain_moments)(matrix, LINES, nearest, nearest, weights, *found)
    d, limit = matrix[LINES].astype(float), nearest.astype(float)
    check(found, weights * np.where(d < limit, limit - d, 0))


@every_type
@both_ways
@tied
@pytest.mark.parametrize("k", [2, 3, 7])
def test_swaps(dtype, way, is_tied, k):
    """A reward is the cost without the prototype of the slot, minus the cost with the arm."""
    matrix, weights = instance(dtype, is_tied=is_tied)
    members = instance(dtype, is_tied=is_tied, seed=1)[0][:k].astype(float)
    near = members.argmin(axis=0)
    D, E = np.sort(members, axis=0)[:2].astype(dtype)
    found = outputs(len(LINES), k)
    way(moments_kernels.swap_moments)(matrix, LINES, near, D, E, weights, *found)
    saved = np.empty((len(LINES), k, N_ROWS))
    for i, line in enumerate(LINES):
        for m in range(k):
            left = np.delete(members, m, axis=0)
            with_arm = np.vstack([left, matrix[line].astype(float)])
            saved[i, m] = weights * (left.min(axis=0) - with_arm.min(axis=0))
    check(found, saved)
