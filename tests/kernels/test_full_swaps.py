from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import WAYS, both_ways, every_type, table, tied, weighted
from protobandit.kernels import full_swaps as full_swaps_kernels

sized = pytest.mark.parametrize("k", [1, 2, 3, 7])
# Sizes that are not multiples of 1,024 rows or of words of 8 rows.
N_ROWS = (1, 7, 8, 41, 1024, 1031, 2050)


def two_of(way, matrix, members):
    """Return near, second, D and E of every row; E of a single one is the largest distance."""
    n = matrix.shape[1]
    near, second = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    D, E = np.empty(n, dtype=matrix.dtype), np.full(n, matrix.max(), dtype=matrix.dtype)
    rows = np.arange(n, dtype=np.int32)
    way(full_swaps_kernels.find_two_nearest)(matrix, members, rows, near, second, D, E)
    return near, second, D, E


def require_two(matrix, members, near, second, D, E):
    """Assert that D and E are the two smallest of each row, in the slots near and second."""
    held = np.sort(matrix[members], axis=0)
    rows = np.arange(matrix.shape[1])
    np.testing.assert_array_equal(D, held[0])
    np.testing.assert_array_equal(matrix[members[near], rows], D)
    if len(members) > 1:
        np.testing.assert_array_equal(E, held[1])
        np.testing.assert_array_equal(matrix[members[second], rows], E)
        assert (near != second).all()


def summed_cost(matrix, members, weights):
    return float(weights @ matrix[members].astype(np.float64).min(axis=0))


def true_changes(matrix, members, arm, weights):
    """Return the change of the summed cost if ``arm`` takes each of the slots."""
    before = summed_cost(matrix, members, weights)
    swapped = [np.r_[members[:m], arm, members[m + 1 :]] for m in range(len(members))]
    return np.array([summed_cost(matrix, some, weights) - before for some in swapped])


# -- the two nearest -------------------------------------------------------------------------------


@both_ways
@every_type
@sized
@tied
def test_the_two_nearest_prototypes(way, dtype, k, is_tied):
    matrix = table(9, 41, dtype=dtype, is_tied=is_tied)
    members = np.random.default_rng(1).permutation(9)[:k]
    require_two(matrix, members, *two_of(way, matrix, members))


@both_ways
def test_only_the_given_rows_are_updated(way):
    matrix, members = table(9, 20), np.array([4, 2, 7])
    near, second, D, E = two_of(way, matrix, members)
    D[:] = E[:] = -1
    way(full_swaps_kernels.find_two_nearest)(
        matrix, members, np.array([3, 11], dtype=np.int32), near, second, D, E
    )
    assert np.flatnonzero(D >= 0).tolist() == np.flatnonzero(E >= 0).tolist() == [3, 11]


@both_ways
@every_type
@sized
@tied
@pytest.mark.parametrize("seed", range(4))
def test_a_prototype_is_replaced(way, dtype, k, is_tied, seed):
    """All rows that `update_two_nearest` does not list are correct."""
    matrix = table(20, 41, dtype=dtype, is_tied=is_tied, seed=seed)
    random = np.random.default_rng(seed)
    members = random.permutation(20)[:k]
    near, second, D, E = two_of(way, matrix, members)
    rows = np.empty(41, dtype=np.int32)
    for _ in range(12):
        slot = int(random.integers(k))
        arm = int(random.choice(np.setdiff1d(np.arange(20), members)))
        members[slot] = arm
        n_open = way(full_swaps_kernels.update_two_nearest)(
            matrix[arm], slot, near, second, D, E, rows
        )
        is_open = np.zeros(41, dtype=bool)
        is_open[rows[:n_open]] = True
        closed = matrix[:, ~is_open]
        require_two(closed, members, near[~is_open], second[~is_open], D[~is_open], E[~is_open])
        way(full_swaps_kernels.find_two_nearest)(matrix, members, rows[:n_open], near, second, D, E)
        require_two(matrix, members, near, second, D, E)


def test_few_rows_are_searched_again():
    """Rows of other prototypes are not listed."""
    matrix, members = table(300, 2000), np.arange(100)
    near, second, D, E = two_of(WAYS["compiled"], matrix, members)
    rows = np.empty(2000, dtype=np.int32)
    n_own = np.count_nonzero((near == 5) | (second == 5))
    assert (
        full_swaps_kernels.update_two_nearest(matrix[200], 5, near, second, D, E, rows)
        <= n_own
        < 200
    )


# -- changes of cost -------------------------------------------------------------------------------


def changes_of(kernel, matrix, members, weights, *, first=0, n=None, groups=None, allowed=None):
    n_arms = len(matrix)
    n = n_arms - first if n is None else n
    near, _, D, E = two_of(WAYS["reference"], matrix, members)
    losses = np.bincount(near, weights * (E.astype(np.float64) - D), minlength=len(members))
    is_member = np.isin(np.arange(n_arms), members)
    groups = np.zeros(n_arms, dtype=np.int64) if groups is None else groups
    allowed = np.ones((1, len(members)), dtype=bool) if allowed is None else allowed
    changes, slots = np.full(n, np.nan), np.full(n, -1)
    state = matrix, first, is_member, near, D, E, weights, losses, groups, allowed
    kernel(*state, changes, slots)
    return changes, slots


both_kernels = pytest.mark.parametrize(
    "kernel",
    [
        each
        for name in ("slot_changes", "pair_changes")
        for each in (getattr(full_swaps_kernels, name), getattr(full_swaps_kernels, name).reference)
    ],
    ids=["slot", "slot-reference", "pair", "pair-reference"],
)


@both_kernels
@every_type
@sized
@pytest.mark.parametrize("n_rows", N_ROWS)
def test_changes_equal_the_change_of_the_cost(kernel, dtype, k, n_rows):
    matrix, weights = table(10, n_rows, dtype=dtype, seed=k), weighted(n_rows)
    members = np.random.default_rng(k).permutation(10)[:k]
    changes, slots = changes_of(kernel, matrix, members, weights)
    for arm in range(10):
        if arm in members:
            assert changes[arm] == np.inf
            continue
        truth = true_changes(matrix, members, arm, weights)
        assert changes[arm] == pytest.approx(truth.min(), abs=1e-9)
        assert truth[slots[arm]] == pytest.approx(truth.min(), abs=1e-9)


@both_kernels
@sized
def test_the_first_of_equal_slots_is_taken(kernel, k):
    """Sums of integers are exact."""
    matrix, weights = table(12, 60, is_tied=True, seed=k), 2 * weighted(60)
    members = np.random.default_rng(k).permutation(12)[:k]
    changes, slots = changes_of(kernel, matrix, members, weights)
    for arm in np.setdiff1d(np.arange(12), members):
        truth = true_changes(matrix, members, arm, weights)
        assert (changes[arm], slots[arm]) == (truth.min(), truth.argmin())


@both_kernels
def test_a_part_of_the_arms(kernel):
    matrix, weights, members = table(10, 30), weighted(30), np.array([1, 5])
    whole = changes_of(kernel, matrix, members, weights)
    part = changes_of(kernel, matrix, members, weights, first=3, n=4)
    assert part[0].tobytes() == whole[0][3:7].tobytes()
    assert part[1].tolist() == whole[1][3:7].tolist()


@both_kernels
def test_only_allowed_slots_are_taken(kernel):
    matrix, weights, members = table(12, 50), weighted(50), np.array([0, 3, 6])
    groups = np.arange(12) % 3
    allowed = np.array([[True, False, True], [False, True, False], [False, False, False]])
    changes, slots = changes_of(kernel, matrix, members, weights, groups=groups, allowed=allowed)
    for arm in np.setdiff1d(np.arange(12), members):
        is_allowed = allowed[groups[arm]]
        if not is_allowed.any():
            assert changes[arm] == np.inf
            continue
        truth = np.where(is_allowed, true_changes(matrix, members, arm, weights), np.inf)
        assert changes[arm] == pytest.approx(truth.min())
        assert slots[arm] == truth.argmin()


# -- nearest arms and home cells -------------------------------------------------------------------


@both_ways
@every_type
@tied
def test_the_nearest_arm_of_each_row(way, dtype, is_tied):
    matrix = table(15, 30, dtype=dtype, is_tied=is_tied)
    nearest, arms = np.empty(12, dtype=dtype), np.empty(12, dtype=np.int64)
    way(full_swaps_kernels.nearest_arms)(matrix, 9, nearest, arms)
    np.testing.assert_array_equal(arms, matrix[:, 9:21].argmin(axis=0))
    np.testing.assert_array_equal(nearest, matrix[:, 9:21].min(axis=0))


@both_ways
@every_type
def test_the_cost_of_a_home_cell(way, dtype):
    matrix, weights = table(15, 30, dtype=dtype), weighted(30)
    random = np.random.default_rng(0)
    cells, homes = random.integers(4, size=30), random.integers(4, size=15)
    rows = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[rows], np.arange(5))
    costs = np.empty(6)
    way(full_swaps_kernels.cell_costs)(matrix, 7, homes, rows, starts, weights, costs)
    truth = [
        sum(weights[j] * float(matrix[arm, j]) for j in range(30) if cells[j] == homes[arm])
        for arm in range(7, 13)
    ]
    np.testing.assert_allclose(costs, truth)
