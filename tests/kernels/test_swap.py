from __future__ import annotations

import numpy as np
import pytest

from protobandit import kernels

TYPES = [np.float32, np.float64]
WAYS = {"compiled": lambda kernel: kernel, "reference": lambda kernel: kernel.reference}

every_type = pytest.mark.parametrize("dtype", TYPES)
both_ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
sized = pytest.mark.parametrize("k", [1, 2, 3, 7])


# -- instances and their truth --------------------------------------------------------------------


def table(n_arms, n_rows, *, dtype, seed=0, is_tied=False):
    """Return distances of arms to rows; tied ones are whole numbers, among them many zeros."""
    random = np.random.default_rng(seed)
    if is_tied:
        return random.integers(0, 3, size=(n_arms, n_rows)).astype(dtype)
    return random.random((n_arms, n_rows)).astype(dtype)


def weighted(n, seed=0):
    """Return weights of which some are 0."""
    return np.random.default_rng(seed).integers(0, 4, size=n) / 2.0


def ragged(full, *, share=1.0, seed=0):
    """Return starts, columns (in no order) and values of an arm's distances, some left out."""
    random = np.random.default_rng(seed)
    own = [random.permutation(np.flatnonzero(random.random(full.shape[1]) < share)) for _ in full]
    starts = np.concatenate([[0], np.cumsum([len(columns) for columns in own])]).astype(np.int64)
    values = [row[columns] for row, columns in zip(full, own, strict=True)]
    return starts, np.concatenate(own).astype(np.int32), np.concatenate(values)


def standing(way, members, beyond=0.0):
    """Return near, second, D and E of every column; E of a lone prototype is ``beyond``."""
    n = members.shape[1]
    near, second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    D, E = np.empty(n, dtype=members.dtype), np.full(n, beyond, dtype=members.dtype)
    way(kernels.two_nearest)(members, near, second, D, E)
    return near, second, D, E


def losses_of(way, near, D, E, weights, k):
    losses = np.full(k, np.nan)
    way(kernels.removal_losses)(near, D, E, weights, losses)
    return losses


def changes_of(way, entries, arms, near, D, E, weights, losses):
    changes, slots = np.full(len(arms), np.nan), np.full(len(arms), -1)
    way(kernels.swap_changes)(*entries, arms, near, D, E, weights, losses, changes, slots)
    return changes, slots


def summed(members, weights):
    return float(weights @ members.astype(np.float64).min(axis=0))


def true_changes(members, row, weights):
    """Return how the summed cost changes when ``row`` takes each of the slots."""
    changes = []
    for slot in range(len(members)):
        swapped = members.astype(np.float64)
        swapped[slot] = row
        changes.append(summed(swapped, weights) - summed(members, weights))
    return np.array(changes)


# -- the two nearest -------------------------------------------------------------------------------


def require_exact(members, near, second, D, E):
    """Demand the two smallest of each column, and slots where they stand."""
    columns = np.arange(members.shape[1])
    ascending = np.sort(members, axis=0)
    np.testing.assert_array_equal(D, ascending[0])
    np.testing.assert_array_equal(D, members[near, columns])
    if len(members) > 1:
        np.testing.assert_array_equal(E, ascending[1])
        np.testing.assert_array_equal(E, members[second, columns])
        assert (near != second).all()


@every_type
@both_ways
@sized
@pytest.mark.parametrize("is_tied", [False, True])
def test_the_two_nearest_are_the_two_smallest(dtype, way, k, is_tied):
    members = table(k, 60, dtype=dtype, is_tied=is_tied)
    near, second, D, E = standing(way, members, beyond=5.0)
    require_exact(members, near, second, D, E)
    np.testing.assert_array_equal(near, members.argmin(axis=0))
    if k == 1:
        assert (E == 5).all()


@every_type
@sized
def test_ties_are_broken_alike_whether_compiled_or_not(dtype, k):
    members = table(k, 200, dtype=dtype, is_tied=True)
    compiled, reference = (standing(way, members) for way in WAYS.values())
    for one, other in zip(compiled, reference, strict=True):
        np.testing.assert_array_equal(one, other)


@every_type
@both_ways
@sized
def test_removal_losses_are_what_a_removal_costs(dtype, way, k):
    members, weights = table(k, 60, dtype=dtype), weighted(60)
    near, _, D, E = standing(way, members, beyond=2.0)
    losses = losses_of(way, near, D, E, weights, k)
    for slot in range(k):
        left = np.delete(members, slot, axis=0) if k > 1 else np.full((1, 60), 2.0)
        cost = summed(left, weights) - summed(members, weights)
        assert losses[slot] == pytest.approx(cost, abs=1e-9)


@both_ways
def test_a_prototype_of_an_empty_cell_costs_nothing_to_remove(way):
    members = np.array([[1.0, 2.0], [3.0, 4.0], [1.5, 5.0]])
    near, _, D, E = standing(way, members)
    assert losses_of(way, near, D, E, np.ones(2), 3).tolist() == [2.5, 0.0, 0.0]


# -- swaps -----------------------------------------------------------------------------------------


@every_type
@both_ways
@sized
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_change_is_that_of_the_best_of_all_pairs(dtype, way, k, is_tied, seed):
    full = table(k + 15, 40, dtype=dtype, is_tied=is_tied, seed=seed)
    members, weights = full[:k].copy(), weighted(40, seed)
    near, _, D, E = standing(way, members, beyond=full.max())
    losses = losses_of(way, near, D, E, weights, k)
    arms = np.random.default_rng(seed).permutation(len(full))  # prototypes too
    changes, slots = changes_of(way, ragged(full), arms, near, D, E, weights, losses)
    for arm, change, slot in zip(arms, changes, slots, strict=True):
        truth = true_changes(members, full[arm], weights)
        assert change == pytest.approx(truth.min(), abs=1e-9)
        assert truth[slot] == pytest.approx(truth.min(), abs=1e-9)


@both_ways
@sized
def test_a_prototype_in_its_own_place_changes_nothing(way, k):
    full, weights = table(k, 50, dtype=np.float64), np.ones(50)
    near, _, D, E = standing(way, full, beyond=1.0)
    losses = losses_of(way, near, D, E, weights, k)
    changes, _ = changes_of(way, ragged(full), np.arange(k), near, D, E, weights, losses)
    np.testing.assert_allclose(changes, 0, atol=1e-12)


@every_type
@both_ways
@sized
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7])
def test_an_arm_that_lacks_columns_is_never_worth_more_than_it_is_said(dtype, way, k, share):
    for seed in range(5):
        full = table(k + 12, 40, dtype=dtype, seed=seed)
        members, weights = full[:k].copy(), weighted(40, seed)
        near, _, D, E = standing(way, members, beyond=full.max())
        losses = losses_of(way, near, D, E, weights, k)
        entries = ragged(full, share=share, seed=seed)
        arms = np.arange(k, len(full))
        changes, slots = changes_of(way, entries, arms, near, D, E, weights, losses)
        for arm, change, slot in zip(arms, changes, slots, strict=True):
            truth = true_changes(members, full[arm], weights)
            assert change >= truth[slot] - 1e-9
            lacking = np.full(40, np.inf)
            own = slice(entries[0][arm], entries[0][arm + 1])
            lacking[entries[1][own]] = entries[2][own]
            apart = np.minimum(lacking, full.max() if k == 1 else np.inf)
            assert change == pytest.approx(true_changes(members, apart, weights).min(), abs=1e-9)


@every_type
@sized
@pytest.mark.parametrize("is_tied", [False, True])
def test_compiled_changes_are_those_of_the_reference(dtype, k, is_tied):
    full = table(k + 30, 100, dtype=dtype, is_tied=is_tied)
    members, weights, entries = full[:k].copy(), weighted(100), ragged(full, share=0.6)
    near, _, D, E = standing(WAYS["reference"], members, beyond=full.max())
    arms = np.arange(len(full))[::-1].copy()
    both = []
    for way in WAYS.values():
        losses = losses_of(way, near, D, E, weights, k)
        both.append(changes_of(way, entries, arms, near, D, E, weights, losses))
    np.testing.assert_allclose(both[0][0], both[1][0], atol=1e-9)
    if not is_tied:
        np.testing.assert_array_equal(both[0][1], both[1][1])


def test_changes_do_not_depend_on_which_arms_are_asked_for_together():
    way = WAYS["compiled"]
    full = table(60, 300, dtype=np.float32)
    weights = np.random.default_rng(1).random(300)
    near, _, D, E = standing(way, full[:5].copy())
    losses = losses_of(way, near, D, E, weights, 5)
    entries = ragged(full, share=0.5)

    def changes(arms):
        return changes_of(way, entries, arms, near, D, E, weights, losses)[0]

    whole = changes(np.arange(60))
    for arms in ([3], [59, 0], list(range(0, 60, 7))):
        np.testing.assert_array_equal(changes(np.array(arms)), whole[arms])


@every_type
@both_ways
@sized
@pytest.mark.parametrize("is_tied", [False, True])
def test_exchanges_keep_the_two_nearest_exact(dtype, way, k, is_tied):
    """Whatever came before, the standing is as if computed from scratch."""
    random = np.random.default_rng(k)
    full = table(30, 80, dtype=dtype, is_tied=is_tied, seed=k)
    members = full[:k].copy()
    state = standing(way, members, beyond=full.max())
    truth = members.copy()
    for _ in range(60):
        slot, arm = int(random.integers(k)), int(random.integers(len(full)))
        truth[slot] = full[arm]
        way(kernels.exchange)(members, slot, full[arm], *state)
        np.testing.assert_array_equal(members, truth)
        require_exact(members, *state)


@both_ways
def test_an_exchange_for_a_twin_of_another_prototype(way):
    members = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [3.0, 3.0, 3.0]])
    state = standing(way, members)
    for slot, row in ((2, members[0].copy()), (0, members[1].copy()), (1, np.zeros(3))):
        way(kernels.exchange)(members, slot, row, *state)
        require_exact(members, *state)
    assert state[2].tolist() == [0, 0, 0]


# -- homes -----------------------------------------------------------------------------------------


@every_type
@both_ways
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_affinities_are_sums_over_the_cells(dtype, way, share):
    full = table(25, 60, dtype=dtype)
    members, weights, entries = full[:4].copy(), weighted(60), ragged(full, share=share)
    near, _, _, E = standing(way, members)
    arms = np.array([24, 0, 7, 7, 13])
    out = np.full((5, 4), np.nan)
    way(kernels.affinities)(*entries, arms, near, E, weights, out)
    for i, arm in enumerate(arms):
        truth = np.zeros(4)
        for e in range(entries[0][arm], entries[0][arm + 1]):
            j = entries[1][e]
            truth[near[j]] += weights[j] * max(float(E[j]) - float(entries[2][e]), 0.0)
        known = slice(entries[0][arm], entries[0][arm + 1])
        truth[near[entries[1][known][entries[2][known].argmin()]]] = np.inf
        np.testing.assert_allclose(out[i], truth, rtol=1e-12, atol=1e-12)


@both_ways
def test_the_cell_of_the_nearest_row_is_home_though_nothing_can_be_saved_there(way):
    """Two prototypes at the very place: E is 0 in their cell."""
    members = np.array([[0.0, 9.0], [0.0, 9.0], [9.0, 0.0]])
    near, _, _, E = standing(way, members)
    entries = np.array([0, 2]), np.array([1, 0], dtype=np.int32), np.array([7.0, 3.0])
    out = np.zeros((1, 3))
    way(kernels.affinities)(*entries, np.array([0]), near, E, np.ones(2), out)
    assert out.tolist() == [[np.inf, 0.0, 2.0]]


@both_ways
def test_an_arm_of_which_nothing_is_known_has_no_home(way):
    near, _, _, E = standing(way, np.array([[1.0, 2.0], [2.0, 1.0]]))
    entries = np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
    out = np.full((1, 2), np.nan)
    way(kernels.affinities)(*entries, np.array([0]), near, E, np.ones(2), out)
    assert out.tolist() == [[0.0, 0.0]]


# -- ragged storage --------------------------------------------------------------------------------


@every_type
@both_ways
def test_entries_are_copied_to_their_places(dtype, way):
    starts, columns, values = ragged(table(6, 9, dtype=dtype), share=0.6)
    arms, gap = np.array([4, 1, 5]), 3
    lengths = np.diff(starts)[arms]
    places = np.concatenate([[0], np.cumsum(lengths + gap)[:-1]])
    to = np.full(lengths.sum() + 3 * gap, -1, dtype=np.int32)
    at = np.full(len(to), -1, dtype=dtype)
    way(kernels.copy_ragged)(starts, columns, values, arms, places, to, at)
    written = np.zeros(len(to), dtype=bool)
    for arm, place, n in zip(arms, places, lengths, strict=True):
        own = slice(starts[arm], starts[arm + 1])
        np.testing.assert_array_equal(to[place : place + n], columns[own])
        np.testing.assert_array_equal(at[place : place + n], values[own])
        written[place : place + n] = True
    assert (to[~written] == -1).all()
    assert (at[~written] == -1).all()


@every_type
@both_ways
def test_a_block_is_scattered_to_its_places(dtype, way):
    block = table(3, 4, dtype=dtype)
    to, at = np.full(20, -1, dtype=np.int32), np.full(20, -1, dtype=dtype)
    way(kernels.scatter)(block, 100, np.array([15, 0, 6]), to, at)
    for i, place in enumerate((15, 0, 6)):
        assert to[place : place + 4].tolist() == [100, 101, 102, 103]
        np.testing.assert_array_equal(at[place : place + 4], block[i])
    assert (to == -1).sum() == 8
