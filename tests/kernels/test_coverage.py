from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kernels.instances import both_ways, every_type
from protobandit.kernels import coverage as coverage_kernels

CHUNKS = [1, 3, 16, 1000]


def instance(dtype, n=37, arms=6, seed=0):
    """Return a matrix wider than n, unsorted rows with a repeated one, and weights with zeros."""
    random = np.random.default_rng(seed)
    matrix = random.random((arms + 3, n + 9)).astype(dtype)
    rows = random.integers(0, arms + 3, size=arms)
    weights = random.integers(0, 3, size=n).astype(np.float64)
    return matrix, rows, 5, weights, random.random(n).astype(dtype)


def selected(matrix, rows, first, n):
    return matrix[rows, first : first + n].astype(np.float64)


@every_type
@both_ways
@pytest.mark.parametrize("chunk", CHUNKS)
def test_gains_are_weighted_drops(dtype, way, chunk):
    matrix, rows, first, weights, nearest = instance(dtype)
    out = np.arange(len(rows), dtype=np.float64)
    way(coverage_kernels.gains)(matrix, rows, first, nearest, weights, chunk, out)
    d = selected(matrix, rows, first, len(nearest))
    drops = (weights * np.maximum(nearest.astype(np.float64) - d, 0)).sum(axis=1)
    np.testing.assert_allclose(out, np.arange(len(rows)) + drops, rtol=1e-6)


@every_type
@both_ways
@pytest.mark.parametrize("chunk", CHUNKS)
def test_costs_are_weighted_sums(dtype, way, chunk):
    matrix, rows, first, weights, _ = instance(dtype)
    out = np.arange(len(rows), dtype=np.float64)
    way(coverage_kernels.costs)(matrix, rows, first, weights, chunk, out)
    sums = selected(matrix, rows, first, len(weights)) @ weights
    np.testing.assert_allclose(out, np.arange(len(rows)) + sums, rtol=1e-12)


@every_type
@both_ways
@pytest.mark.parametrize("scale", [1.0, 0.7, 3.0])
def test_rewards_are_divided_by_the_scale(dtype, way, scale):
    matrix, _, _, _, nearest = instance(dtype)
    block, total, squares = matrix[:, : len(nearest)].copy(), np.ones(9), np.full(9, 2.0)
    limit = np.minimum(nearest, dtype(scale))
    way(coverage_kernels.rewards)(block, limit, scale, total, squares)
    share = np.maximum(limit.astype(np.float64) - block, 0) / scale
    np.testing.assert_allclose(total, 1 + share.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(squares, 2 + (share**2).sum(axis=1), rtol=1e-6)


@both_ways
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e308])
def test_rewards_of_any_magnitude(way, scale):
    block, total, squares = np.array([[0.5, 0.25, 1.0]]) * scale, np.zeros(1), np.zeros(1)
    way(coverage_kernels.rewards)(block, np.full(3, scale), scale, total, squares)
    np.testing.assert_allclose(total, 0.5 + 0.75, rtol=1e-12)
    np.testing.assert_allclose(squares, 0.25 + 0.5625, rtol=1e-12)


@every_type
@both_ways
def test_sums_of_rewards_never_exceed_their_number(dtype, way):
    for scale in np.random.default_rng(0).uniform(0.1, 10, size=50):
        total, squares = np.zeros(1), np.zeros(1)
        for n in (1, 7, 100):
            limit = np.full(n, scale, dtype=dtype)
            way(coverage_kernels.rewards)(
                np.zeros((1, n), dtype=dtype), limit, scale, total, squares
            )
        assert 108 - 1e-4 < total[0] <= 108
        assert 108 - 1e-4 < squares[0] <= 108


@every_type
@both_ways
@pytest.mark.parametrize("n", [1, 2, 31, 1000])
def test_gains_never_grow_when_nearest_shrinks(dtype, way, n):
    """An old gain is an upper bound even after rounding."""
    random = np.random.default_rng(1)
    matrix = random.random((40, n)).astype(dtype)
    weights = random.random(n)
    nearest, before = random.random(n).astype(dtype), np.full(40, np.inf)
    for arm in range(20):
        nearest = np.minimum(nearest, matrix[arm] + dtype(0.1))
        now = np.zeros(40)
        way(coverage_kernels.gains)(matrix, np.arange(40), 0, nearest, weights, 64, now)
        assert (now <= before).all()
        before = now


@every_type
@both_ways
def test_sums_do_not_depend_on_which_arms_are_computed_together(dtype, way):
    random = np.random.default_rng(3)
    matrix, nearest = random.random((40, 500)).astype(dtype), random.random(500).astype(dtype)
    weights = random.random(500)

    def both(rows):
        out = np.zeros((2, len(rows)))
        way(coverage_kernels.gains)(matrix, rows, 0, nearest, weights, 200, out[0])
        way(coverage_kernels.costs)(matrix, rows, 0, weights, 200, out[1])
        return out

    whole = both(np.arange(40))
    for rows in ([39], [3, 7], [0, 1, 2, 3, 4], list(range(39, 0, -2))):
        np.testing.assert_array_equal(both(np.array(rows)), whole[:, rows])


@every_type
@pytest.mark.parametrize("name", ["gains", "costs"])
def test_splits_at_chunks_give_the_same_bits(dtype, name):
    """For all columns at once or in parts, in a wide matrix or in separate blocks."""
    random = np.random.default_rng(2)
    matrix, chunk = random.random((9, 1000)).astype(dtype), 64
    weights, nearest = random.random(1000), random.random(1000).astype(dtype)
    rows = np.array([8, 0, 3])

    def add(matrix, rows, first, columns, out):
        limit = [nearest[columns]] if name == "gains" else []
        getattr(coverage_kernels, name)(matrix, rows, first, *limit, weights[columns], chunk, out)

    whole = np.zeros(3)
    add(matrix, rows, 0, slice(0, 1000), whole)
    for edges in ([0, 1000], [0, 64, 1000], [0, 640, 960, 1000]):
        parts, blocks = np.zeros(3), np.zeros(3)
        for start, stop in pairwise(edges):
            columns = slice(start, stop)
            add(matrix, rows, start, columns, parts)
            add(matrix[rows, columns].copy(), np.arange(3), 0, columns, blocks)
        assert parts.tolist() == blocks.tolist() == whole.tolist()
