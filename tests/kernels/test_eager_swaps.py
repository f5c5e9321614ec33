from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import WAYS, both_ways, every_type, table, tied, weighted
from protobandit.kernels import eager_swaps as eager_swaps_kernels

sized = pytest.mark.parametrize("k", [2, 3, 7])
N_ARMS, N_ROWS = 30, 70
MOST = 1 << 40


def free(n_arms, k):
    """Return groups, fewest, largest and is_fixed of a problem without constraints."""
    nothing = np.zeros(1, dtype=np.int64)
    return np.zeros(n_arms, dtype=np.int64), nothing, nothing + k, np.zeros(k, dtype=bool)


def swapped(way, matrix, members, weights, quotas=None, least=1e-9, most=MOST):
    """Return the members after swaps, their cost and the entries read."""
    members = np.array(members)
    quotas = quotas or free(len(matrix), len(members))
    swap = way(eager_swaps_kernels.swap_eagerly)
    cost, n_reads = swap(matrix, weights, *quotas, least, most, members)
    assert len(set(members.tolist())) == len(members)
    assert cost == pytest.approx(cost_of(matrix, members, weights), rel=1e-9, abs=1e-12)
    return members.tolist(), cost, n_reads


def cost_of(matrix, members, weights):
    return float(matrix[list(members)].astype(np.float64).min(axis=0) @ weights)


def require_local_minimum(matrix, members, cost, weights, is_open=lambda arm, slot: True):
    for slot in range(len(members)):
        for arm in set(range(len(matrix))) - set(members):
            if is_open(arm, slot):
                other = [*members[:slot], arm, *members[slot + 1 :]]
                assert cost_of(matrix, other, weights) >= cost - 1e-6


@every_type
@both_ways
@sized
@tied
@pytest.mark.parametrize("seed", range(3))
def test_the_result_is_a_local_minimum(dtype, way, k, is_tied, seed):
    matrix = table(N_ARMS, N_ROWS, dtype=dtype, is_tied=is_tied, seed=seed)
    weights, start = weighted(N_ROWS, seed), np.random.default_rng(seed).permutation(N_ARMS)[:k]
    members, cost, _ = swapped(way, matrix, start, weights)
    assert cost < cost_of(matrix, start, weights) or is_tied
    require_local_minimum(matrix, members, cost, weights)


@every_type
@pytest.mark.parametrize("n_rows", [7, 8, 70, 1024, 1100, 2500])
def test_compiled_and_reference_make_the_same_swaps(dtype, n_rows):
    matrix, weights = table(N_ARMS, n_rows, dtype=dtype, seed=n_rows), weighted(n_rows)
    for k in (2, 5):
        found = [swapped(way, matrix, range(k), weights) for way in WAYS.values()]
        assert found[0][0] == found[1][0]
        assert found[0][2] == found[1][2]


@both_ways
def test_reads_are_counted(way):
    """Members without a better arm: their rows, then every other arm once."""
    matrix, weights = table(N_ARMS, N_ROWS), weighted(N_ROWS)
    members, cost, n_first = swapped(way, matrix, [0, 1, 2], weights)
    again = swapped(way, matrix, members, weights)
    assert again == (members, cost, N_ARMS * N_ROWS)
    assert n_first > N_ARMS * N_ROWS


@both_ways
def test_no_swap_is_made_after_the_last_read(way):
    matrix, weights = table(N_ARMS, N_ROWS), weighted(N_ROWS)
    costs = []
    for most in (0, 1000, 3000, MOST):
        members, cost, n_reads = swapped(way, matrix, [0, 1, 2], weights, most=most)
        costs.append(cost)
        assert n_reads <= most + (N_ARMS + 2 * 3) * N_ROWS
        assert (members == [0, 1, 2]) == (most == 0)
    assert costs == sorted(costs, reverse=True)
    assert costs[1] > costs[-1]


@both_ways
def test_a_swap_must_gain_more_than_the_least(way):
    matrix, weights = table(N_ARMS, N_ROWS), weighted(N_ROWS)
    _, cost, _ = swapped(way, matrix, [0, 1, 2], weights)
    much = cost_of(matrix, [0, 1, 2], weights) - cost + 1e-6
    assert swapped(way, matrix, [0, 1, 2], weights, least=much)[0] == [0, 1, 2]


@both_ways
@pytest.mark.parametrize("seed", range(4))
def test_quotas_and_fixed_slots(way, seed):
    random = np.random.default_rng(seed)
    matrix, weights = table(N_ARMS, N_ROWS, seed=seed), weighted(N_ROWS)
    groups = random.integers(3, size=N_ARMS)
    fewest, largest = np.array([1, 0, 2]), np.array([2, 3, 3])
    start = np.concatenate([np.flatnonzero(groups == g)[:n] for g, n in enumerate((2, 1, 2))])
    is_fixed = np.arange(5) == 3
    quotas = groups, fewest, largest, is_fixed
    members, cost, _ = swapped(way, matrix, start, weights, quotas)

    def counts(some):
        return np.bincount(groups[list(some)], minlength=3)

    def is_open(arm, slot):
        after = counts([*members[:slot], arm, *members[slot + 1 :]])
        is_same = groups[arm] == groups[members[slot]]
        return not is_fixed[slot] and (is_same or ((after >= fewest) & (after <= largest)).all())

    assert members[3] == start[3]
    assert ((counts(members) >= fewest) & (counts(members) <= largest)).all()
    assert cost < cost_of(matrix, start, weights)
    require_local_minimum(matrix, members, cost, weights, is_open)


@both_ways
def test_quotas_allow_swaps_between_groups(way):
    """The start has no row of the group that every row is near to."""
    matrix = np.ones((6, 9)) - np.eye(6, 9) / 2
    matrix[3:] /= 4
    groups = np.repeat([0, 1], 3)
    for most_of_one in (0, 1, 2):
        quotas = groups, np.array([0, 0]), np.array([2, most_of_one]), np.zeros(2, dtype=bool)
        members, _, _ = swapped(way, matrix, [0, 1], np.ones(9), quotas)
        assert np.count_nonzero(groups[members]) == most_of_one


@both_ways
def test_equal_arms_are_not_swapped(way):
    matrix = np.ones((8, 20))
    assert swapped(way, matrix, [4, 2], np.ones(20))[0] == [4, 2]


@every_type
@both_ways
def test_a_part_is_a_copy_of_some_arms_and_rows(dtype, way):
    matrix = table(N_ARMS, N_ROWS, dtype=dtype)
    arms, rows = np.array([3, 4, 20]), np.array([0, 5, 6, 69])
    part = np.empty((3, 4), dtype=dtype)
    way(eager_swaps_kernels.take_part)(matrix, arms, rows, part)
    np.testing.assert_array_equal(part, matrix[np.ix_(arms, rows)])
