from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RowBatch
from protobandit.problem.posing import pose
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 31, 12
D = table(N_TARGET, N_SOURCE)

weighted = pytest.mark.parametrize(
    "weights", [np.ones(N_TARGET), uneven(N_TARGET)], ids=["even", "uneven"]
)
started = pytest.mark.parametrize("members", [[4], [4, 0], [7, 3, 11, 0, 5]], ids=len)


def full(d, weights, members):
    """Return an oracle, the patchwork of all its distances, and the standing of these arms."""
    oracle, metric = watched(d)
    batch = RowBatch(0, oracle.targets(slice(0, len(d))), weights)
    held = FullTable.of(oracle, np.arange(d.shape[1]), batch.targets)
    members = np.array(members)
    swap_state = SwapState(members, held.matrix[members], weights)
    return metric, held.ragged(batch), swap_state


def ragged_table(weights, members, *, n_first=9, seed=0):
    """Return the same where every arm but the prototypes lacks most of the later rows."""
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
def test_changes_are_those_of_brute_force(weights, members):
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
def test_exchanges_leave_the_standing_exact(weights, members):
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
def test_what_is_not_known_of_an_arm_counts_against_it(members, seed):
    weights = uneven(N_TARGET, seed)
    _, ragged, swap_state, d = ragged_table(weights, members, seed=seed)
    arms = np.array([i for i in range(N_SOURCE) if i not in members])
    changes, slots = swap_state.changes(ragged, arms)
    for arm, change, slot in zip(arms, changes, slots, strict=True):
        taken = [*members[:slot], arm, *members[slot + 1 :]]
        before = brute.cost(d, ragged.weights, members)
        assert change >= brute.cost(d, ragged.weights, taken) - before - 1e-12
        assert swap_state.change(ragged, int(arm)) == (change, slot)


def test_a_lone_prototype_farther_than_anything_known_keeps_the_sums_right():
    """Arm 1 is known at one near row; made a prototype, it turns out to be far from the others."""
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


def test_a_lone_prototype_can_be_asked_about_a_single_arm_at_once():
    _, ragged, swap_state = full(D, np.ones(N_TARGET), [4])
    assert swap_state.change(ragged, 7)[0] == pytest.approx(
        best_swap(D, np.ones(N_TARGET), [4], 7), abs=1e-12
    )


@weighted
@pytest.mark.parametrize("n", [1, 2, 3])
def test_homes_are_where_an_arm_beats_the_second_most(weights, n):
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


def test_where_all_cells_are_asked_for_every_arm_is_at_home_in_all():
    _, ragged, swap_state = full(D, np.ones(N_TARGET), [7, 3, 11, 2])
    assert swap_state.homes(ragged, np.array([0, 9]), 4).tolist() == [[0, 1, 2, 3]] * 2


def test_a_lone_prototype_is_everyones_home():
    _, ragged, swap_state = full(D, np.ones(N_TARGET), [4])
    assert (swap_state.homes(ragged, np.arange(N_SOURCE), 1) == 0).all()


@pytest.mark.parametrize("members", [[4], [4, 0, 9, 1], [4, 0, 9, 1, 6], list(range(10))], ids=len)
def test_what_four_prototypes_are_nearer_to_is_out_of_reach(members):
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
def test_what_is_out_of_reach_makes_no_difference_to_a_swap(weights):
    members = [7, 3, 11, 0, 5, 2]
    oracle, _ = watched(D)
    batch = RowBatch(0, oracle.targets(slice(0, N_TARGET)), weights)
    held = FullTable.of(oracle, np.arange(N_SOURCE), batch.targets)
    swap_state = SwapState(np.array(members), held.matrix[members], weights)
    everyone = np.arange(N_SOURCE)
    whole, part = held.ragged(batch), held.ragged(batch, swap_state.limits)
    assert len(part.values) < len(whole.values)
    for one, other in zip(
        swap_state.changes(whole, everyone), swap_state.changes(part, everyone), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        swap_state.homes(whole, everyone, 6), swap_state.homes(part, everyone, 6)
    )


def test_weights_count_as_copies_of_rows():
    copies = np.array([3, 1, 2, 0, 1] * 7)[:N_TARGET].astype(float)
    _, weighted_patchwork, weighted_standing = full(D, copies, [2, 6])
    repeated = np.repeat(D, copies.astype(int), axis=0)
    _, ragged, swap_state = full(repeated, np.ones(len(repeated)), [2, 6])
    everyone = np.arange(N_SOURCE)
    assert weighted_standing.cost == pytest.approx(swap_state.cost, rel=1e-12)
    np.testing.assert_allclose(
        weighted_standing.changes(weighted_patchwork, everyone)[0],
        swap_state.changes(ragged, everyone)[0],
        atol=1e-12,
    )


def test_questions_are_lookups():
    metric, ragged, swap_state = full(D, np.ones(N_TARGET), [2, 6])
    spent, oracle = metric.pairs.total(), ragged.oracle
    before = oracle.lookups.total()
    swap_state.changes(ragged, np.arange(5))
    swap_state.homes(ragged, np.arange(3), 1)
    assert oracle.lookups.total() - before == 8 * N_TARGET
    assert metric.pairs.total() == spent


def test_the_members_given_are_not_written_to():
    members = np.array([2, 6])
    _, ragged, swap_state = full(D, np.ones(N_TARGET), members)
    swap_state.exchange(0, 9, ragged.distances(np.array([9]))[0])
    assert members.tolist() == [2, 6]
    assert swap_state.members.tolist() == [9, 6]


def test_many_arms_are_shared_among_threads_to_the_same_bits():
    random = np.random.default_rng(0)
    rows = random.normal(size=(2300, 4)).astype(np.float32)

    def answers(n_jobs):
        oracle = Oracle(pose(rows, k=1), n_jobs=n_jobs)
        weights = np.random.default_rng(1).random(2300)
        batch = RowBatch(0, oracle.targets(slice(0, 2300)), weights)
        held = FullTable.of(oracle, np.arange(2300), batch.targets)
        members = np.arange(0, 2300, 200)
        swap_state = SwapState(members, held.matrix[members], weights)
        ragged, everyone = held.ragged(batch), np.arange(2300)
        changes, slots = swap_state.changes(ragged, everyone)
        return changes, slots, swap_state.homes(ragged, everyone, 5)

    for one, other in zip(answers(1), answers(2), strict=True):
        assert one.tobytes() == other.tobytes()
