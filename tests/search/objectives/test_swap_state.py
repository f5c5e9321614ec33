from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RowBatch
from protobandit.problem.posing import pose
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 31, 12
D = table(N_TARGET, N_SOURCE)

weighted = pytest.mark.parametrize(
    "weights", [np.ones(N_TARGET), uneven(N_TARGET)], ids=["equal", "unequal"]
)
started = pytest.mark.parametrize("members", [[4], [4, 0], [7, 3, 11, 0, 5]], ids=len)


def full(d, weights, members):
    """Return a metric, a ragged table of all its distances, and the state of these prototypes."""
    oracle, metric = watched(d)
    batch = RowBatch(0, oracle.targets(slice(0, len(d))), weights)
    held = FullTable.of(oracle, np.arange(d.shape[1]), batch.targets)
    members = np.array(members)
    swap_state = SwapState(members, held.matrix[members], weights)
    return metric, held.ragged(batch), swap_state


def ragged_table(weights, members, *, n_first=9, seed=0):
    """Return the same, with most later rows missing for all arms except prototypes."""
    oracle, metric = watched(D)
    random = np.random.default_rng(seed)
    rows = random.permutation(N_TARGET)
    first = RowBatch(0, oracle.targets(rows[:n_first]), weights[rows[:n_first]])
    held = FullTable.of(oracle, np.arange(N_SOURCE), first.targets)
    later = RowBatch(n_first, oracle.targets(rows[n_first:]), weights[rows[n_first:]])
    starts = np.array([0, 6, 13, N_TARGET - n_first])
    homes = random.integers(0, 3, size=(N_SOURCE, 1))
    members = np.array(members)
    needs_rows = ~np.isin(np.arange(N_SOURCE), members)
    ragged = held.ragged(first).extended(
        np.arange(N_SOURCE), later, starts, homes, needs_rows, np.full(n_first, np.inf)
    )
    matrix = D[rows][:, members].T.copy()
    return metric, ragged, SwapState(members, matrix, ragged.weights), D[rows]


def best_swap(d, weights, members, arm):
    """Return the change of cost by the best swap for ``arm``, over all slots."""
    before = brute.cost(d, weights, members)
    swapped = [[*members[:slot], arm, *members[slot + 1 :]] for slot in range(len(members))]
    return min(brute.cost(d, weights, chosen) for chosen in swapped) - before


@weighted
@started
def test_changes_equal_brute_force(weights, members):
    _, ragged, swap_state = full(D, weights, members)
    arms = np.array([i for i in range(N_SOURCE) if i not in members][::-1])
    changes, slots = swap_state.changes(ragged, arms)
    for arm, change, slot in zip(arms, changes, slots, strict=True):
        truth = best_swap(D, weights, members, arm)
        assert change == pytest.approx(truth, abs=1e-12)
        taken = [*members[:slot], arm, *members[slot + 1 :]]
        reached = brute.cost(D, weights, taken) - brute.cost(D, weights, members)
        assert reached == pytest.approx(truth, abs=1e-12)
        assert swap_state.change(ragged, int(arm)) == (change, slot)


@weighted
@started
def test_the_cost_and_the_cost_of_removals(weights, members):
    _, _, swap_state = full(D, weights, members)
    cost = brute.cost(D, weights, members)
    assert swap_state.cost == pytest.approx(cost, rel=1e-12)
    if len(members) > 1:
        removals = [
            brute.cost(D, weights, [m for m in members if m != gone]) - cost for gone in members
        ]
        assert swap_state.removal_cost == pytest.approx(sum(removals), rel=1e-9)


@weighted
@started
def test_exchanges_keep_the_state_exact(weights, members):
    _, ragged, swap_state = full(D, weights, members)
    random = np.random.default_rng(len(members))
    for _ in range(40):
        slot = int(random.integers(len(members)))
        arm = int(random.choice(np.setdiff1d(np.arange(N_SOURCE), swap_state.members)))
        swap_state.exchange(slot, arm, ragged.distances(np.array([arm]))[0])
        assert swap_state.members[slot] == arm
        again = SwapState(swap_state.members, D[:, swap_state.members].T.copy(), weights)
        np.testing.assert_array_equal(swap_state.matrix, again.matrix)
        np.testing.assert_array_equal(swap_state.D, again.D)
        if len(members) > 1:
            np.testing.assert_array_equal(swap_state.E, again.E)
            np.testing.assert_allclose(swap_state.losses, again.losses, rtol=1e-12, atol=1e-15)
        others = np.setdiff1d(np.arange(N_SOURCE), swap_state.members)
        for other in (others[0], others[-1]):
            truth = best_swap(D, weights, swap_state.members.tolist(), other)
            assert swap_state.change(ragged, int(other))[0] == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("members", [[4], [4, 0, 9]], ids=len)
@pytest.mark.parametrize("seed", range(5))
def test_missing_rows_never_make_a_change_look_better(members, seed):
    weights = uneven(N_TARGET, seed)
    _, ragged, swap_state, d = ragged_table(weights, members, seed=seed)
    arms = np.array([i for i in range(N_SOURCE) if i not in members])
    changes, slots = swap_state.changes(ragged, arms)
    for arm, change, slot in zip(arms, changes, slots, strict=True):
        taken = [*members[:slot], arm, *members[slot + 1 :]]
        before = brute.cost(d, ragged.weights, members)
        assert change >= brute.cost(d, ragged.weights, taken) - before - 1e-12
        assert swap_state.change(ragged, int(arm)) == (change, slot)


def test_a_single_prototype_farther_than_all_known_distances():
    """Only one near row of arm 1 is known; as a prototype it is far from the other rows."""
    d = np.array([[4.0, 1.0, 5.0], [4.0, 90.0, 3.0], [4.0, 90.0, 2.0]])
    oracle, _ = watched(d)
    first = RowBatch(0, oracle.targets(slice(0, 1)), np.ones(1))
    held = FullTable.of(oracle, np.arange(3), first.targets)
    later = RowBatch(1, oracle.targets(slice(1, 3)), np.ones(2))
    homes, needs_rows = np.zeros((3, 1), dtype=np.int64), np.array([True, False, True])
    ragged = held.ragged(first).extended(
        np.arange(3), later, np.array([0, 2]), homes, needs_rows, np.full(1, np.inf)
    )
    swap_state = SwapState(np.array([0]), d[:, :1].T.copy(), np.ones(3))
    swap_state.changes(ragged, np.arange(3))
    swap_state.exchange(0, 1, ragged.distances(np.array([1]))[0])
    assert swap_state.cost == pytest.approx(181 / 3)
    assert swap_state.change(ragged, 2)[0] == pytest.approx((10 - 181) / 3)
    assert swap_state.change(ragged, 0)[0] == pytest.approx((12 - 181) / 3)
    assert swap_state.changes(ragged, np.arange(3))[0] == pytest.approx(
        [(12 - 181) / 3, 0.0, (10 - 181) / 3]
    )


def test_change_by_a_single_arm_of_a_single_prototype():
    _, ragged, swap_state = full(D, np.ones(N_TARGET), [4])
    assert swap_state.change(ragged, 7)[0] == pytest.approx(
        best_swap(D, np.ones(N_TARGET), [4], 7), abs=1e-12
    )


@weighted
@pytest.mark.parametrize("n", [1, 2, 3])
def test_homes_are_the_cells_with_the_largest_savings(weights, n):
    members = [7, 3, 11, 2]
    _, ragged, swap_state = full(D, weights, members)
    arms = np.array([0, 9, 5, 9, 11])
    homes = swap_state.homes(ragged, arms, n)
    assert homes.shape == (5, n)
    two = np.sort(D[:, members], axis=1)
    cells = D[:, members].argmin(axis=1)
    for arm, own in zip(arms, homes, strict=True):
        closer = weights * np.maximum(two[:, 1] - D[:, arm], 0)
        truth = np.bincount(cells, closer, 4)
        truth[cells[D[:, arm].argmin()]] = np.inf
        order = np.argsort(-truth, kind="stable")[:n]
        assert own.tolist() == np.where(truth[order] > 0, order, -1).tolist()


def test_all_cells_are_homes_if_all_are_requested():
    _, ragged, swap_state = full(D, np.ones(N_TARGET), [7, 3, 11, 2])
    assert swap_state.homes(ragged, np.array([0, 9]), 4).tolist() == [[0, 1, 2, 3]] * 2


def test_the_cell_of_a_single_prototype_is_every_home():
    _, ragged, swap_state = full(D, np.ones(N_TARGET), [4])
    assert (swap_state.homes(ragged, np.arange(N_SOURCE), 1) == 0).all()


@pytest.mark.parametrize("members", [[4], [4, 0, 9, 1], [4, 0, 9, 1, 6], list(range(10))], ids=len)
def test_limits_are_the_distances_of_the_fourth_prototype(members):
    _, ragged, swap_state = full(D, np.ones(N_TARGET), members)
    if len(members) <= 4:
        assert np.isinf(swap_state.limits).all()
    else:
        np.testing.assert_array_equal(swap_state.limits, np.sort(D[:, members], axis=1)[:, 3])
    assert swap_state.limits.dtype == swap_state.D.dtype
    swap_state.exchange(0, 11, ragged.distances(np.array([11]))[0])
    if len(members) > 4:
        now = np.sort(D[:, swap_state.members], axis=1)[:, 3]
        np.testing.assert_array_equal(swap_state.limits, now)


@weighted
def test_entries_beyond_the_limits_do_not_change_swaps(weights):
    members = [7, 3, 11, 0, 5, 2]
    oracle, _ = watched(D)
    batch = RowBatch(0, oracle.targets(slice(0, N_TARGET)), weights)
    held = FullTable.of(oracle, np.arange(N_SOURCE), batch.targets)
    swap_state = SwapState(np.array(members), held.matrix[members], weights)
    all_arms = np.arange(N_SOURCE)
    whole, part = held.ragged(batch), held.ragged(batch, swap_state.limits)
    assert len(part.values) < len(whole.values)
    for one, other in zip(
        swap_state.changes(whole, all_arms), swap_state.changes(part, all_arms), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        swap_state.homes(whole, all_arms, 6), swap_state.homes(part, all_arms, 6)
    )


def test_weights_are_equivalent_to_copies_of_rows():
    copies = np.array([3, 1, 2, 0, 1] * 7)[:N_TARGET].astype(float)
    _, weighted_ragged, weighted_state = full(D, copies, [2, 6])
    repeated = np.repeat(D, copies.astype(int), axis=0)
    _, ragged, swap_state = full(repeated, np.ones(len(repeated)), [2, 6])
    all_arms = np.arange(N_SOURCE)
    assert weighted_state.cost == pytest.approx(swap_state.cost, rel=1e-12)
    np.testing.assert_allclose(
        weighted_state.changes(weighted_ragged, all_arms)[0],
        swap_state.changes(ragged, all_arms)[0],
        atol=1e-12,
    )


def test_changes_and_homes_count_as_lookups():
    metric, ragged, swap_state = full(D, np.ones(N_TARGET), [2, 6])
    spent, oracle = metric.pairs.total(), ragged.oracle
    before = oracle.lookups.total()
    swap_state.changes(ragged, np.arange(5))
    swap_state.homes(ragged, np.arange(3), 1)
    assert oracle.lookups.total() - before == 8 * N_TARGET
    assert metric.pairs.total() == spent


def test_the_members_passed_are_not_modified():
    members = np.array([2, 6])
    _, ragged, swap_state = full(D, np.ones(N_TARGET), members)
    swap_state.exchange(0, 9, ragged.distances(np.array([9]))[0])
    assert members.tolist() == [2, 6]
    assert swap_state.members.tolist() == [9, 6]


def test_any_number_of_threads_gives_the_same_bits():
    random = np.random.default_rng(0)
    rows = random.normal(size=(2300, 4)).astype(np.float32)

    def answers(n_jobs):
        oracle = Oracle(pose(rows, k=1), n_jobs=n_jobs)
        weights = np.random.default_rng(1).random(2300)
        batch = RowBatch(0, oracle.targets(slice(0, 2300)), weights)
        held = FullTable.of(oracle, np.arange(2300), batch.targets)
        members = np.arange(0, 2300, 200)
        swap_state = SwapState(members, held.matrix[members], weights)
        ragged, all_arms = held.ragged(batch), np.arange(2300)
        changes, slots = swap_state.changes(ragged, all_arms)
        return changes, slots, swap_state.homes(ragged, all_arms, 5)

    for one, other in zip(answers(1), answers(2), strict=True):
        assert one.tobytes() == other.tobytes()


# -- random swaps ----------------------------------------------------------------------------------


def distances_on_a_line(target, source):
    return np.abs(np.asarray(source)[:, None] - np.asarray(target)[None, :]).astype(float)


def test_first_improving_swap_of_a_single_prototype():
    """Compared with 45, -20 is nearer to most rows, but much farther from the others."""
    target, source = np.repeat([0.0, 100.0], [60, 40]), [45.0, -20.0, -5.0]
    matrix, places = distances_on_a_line(target, source), np.arange(3)
    swap_state = SwapState(np.array([0]), matrix[:1].copy(), np.ones(100))
    is_member = np.array([True, False, False])
    slots = np.zeros(4, dtype=np.int64)
    found = swap_state.first_improving_swap(
        matrix, places, np.array([1, 0, 1, 1]), slots, is_member
    )
    assert found == (4, 3)
    found = swap_state.first_improving_swap(
        matrix, places, np.array([1, 0, 2, 1]), slots, is_member
    )
    assert found == (2, 1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_an_equal_swap_is_no_improvement(scale):
    """The distances are the same in another order, so they differ only by rounding."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        own = scale * random.uniform(size=300)
        matrix = np.array([own, random.permutation(own)])
        weights = np.full(300, random.uniform())
        for arm in (0, 1):
            swap_state = SwapState(np.array([1 - arm]), matrix[[1 - arm]], weights)
            arms, slots = np.array([arm]), np.zeros(1, dtype=np.int64)
            is_member = np.arange(2) != arm
            assert swap_state.first_improving_swap(
                matrix, np.arange(2), arms, slots, is_member
            ) == (1, 1)


@pytest.mark.parametrize("name", ["near", "second", "weights", "D", "E"])
@pytest.mark.parametrize("number", [-2, -1, 3])
def test_a_state_that_was_modified_is_refused(name, number):
    _, _, swap_state = full(D, np.ones(N_TARGET), [4, 0, 7])
    state = swap_state.state()
    SwapState.restored(state)
    state[name] = state[name].astype(np.int64)
    state[name][-1] = number
    if (name, number) == ("second", -1):  # allowed: there may be no second prototype
        SwapState.restored(state)
        return
    with pytest.raises(InvalidInput, match="checkpoint holds prototypes"):
        SwapState.restored(state)
