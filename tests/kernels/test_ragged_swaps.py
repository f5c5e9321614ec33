from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import (
    WAYS,
    both_ways,
    checked,
    every_type,
    losses_of,
    ragged,
    require_exact,
    summed_cost,
    swap_state,
    table,
    weighted,
)
from protobandit.kernels import ragged_swaps as ragged_swaps_kernels

sized = pytest.mark.parametrize("k", [1, 2, 3, 7])


def changes_of(way, entries, arms, near, D, E, weights, losses, feasibility=None):
    """Return changes and slots; ``feasibility`` is the group of each arm, and its allowed slots."""
    changes, slots = np.full(len(arms), np.nan), np.full(len(arms), -1)
    free = np.zeros(len(entries[0]) - 1, dtype=np.int64), np.ones((1, len(losses)), dtype=bool)
    state = *(feasibility or free), near, D, E, weights, losses
    way(ragged_swaps_kernels.swap_changes)(
        *entries, arms, *state, np.empty(len(losses)), changes, slots
    )
    return changes, slots


def true_changes(members, row, weights):
    """Return the change of the summed cost if ``row`` takes each of the slots."""
    changes = []
    for slot in range(len(members)):
        swapped = members.astype(np.float64)
        swapped[slot] = row
        changes.append(summed_cost(swapped, weights) - summed_cost(members, weights))
    return np.array(changes)


# -- the two nearest -------------------------------------------------------------------------------


@every_type
@both_ways
@sized
@pytest.mark.parametrize("is_tied", [False, True])
def test_the_two_nearest_are_the_two_smallest(dtype, way, k, is_tied):
    members = table(k, 60, dtype=dtype, is_tied=is_tied)
    near, second, D, E = swap_state(way, members, beyond=5.0)
    require_exact(members, near, second, D, E)
    np.testing.assert_array_equal(near, members.argmin(axis=0))
    if k == 1:
        assert (E == 5).all()


@every_type
@sized
def test_compiled_and_reference_break_ties_alike(dtype, k):
    members = table(k, 200, dtype=dtype, is_tied=True)
    compiled, reference = (swap_state(way, members) for way in WAYS.values())
    for one, other in zip(compiled, reference, strict=True):
        np.testing.assert_array_equal(one, other)


@every_type
@both_ways
@sized
def test_removal_losses_equal_the_cost_of_removals(dtype, way, k):
    members, weights = table(k, 60, dtype=dtype), weighted(60)
    near, _, D, E = swap_state(way, members, beyond=2.0)
    losses = losses_of(way, near, D, E, weights, k)
    for slot in range(k):
        left = np.delete(members, slot, axis=0) if k > 1 else np.full((1, 60), 2.0)
        cost = summed_cost(left, weights) - summed_cost(members, weights)
        assert losses[slot] == pytest.approx(cost, abs=1e-9)


@both_ways
def test_removing_the_prototype_of_an_empty_cell_costs_nothing(way):
    members = np.array([[1.0, 2.0], [3.0, 4.0], [1.5, 5.0]])
    near, _, D, E = swap_state(way, members)
    assert losses_of(way, near, D, E, np.ones(2), 3).tolist() == [2.5, 0.0, 0.0]


# -- swaps -----------------------------------------------------------------------------------------


@every_type
@both_ways
@sized
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_change_equals_the_best_over_all_slots(dtype, way, k, is_tied, seed):
    full = table(k + 15, 40, dtype=dtype, is_tied=is_tied, seed=seed)
    members, weights = full[:k].copy(), weighted(40, seed)
    near, _, D, E = swap_state(way, members, beyond=full.max())
    losses = losses_of(way, near, D, E, weights, k)
    arms = np.random.default_rng(seed).permutation(len(full))  # prototypes too
    changes, slots = changes_of(way, ragged(full), arms, near, D, E, weights, losses)
    for arm, change, slot in zip(arms, changes, slots, strict=True):
        truth = true_changes(members, full[arm], weights)
        assert change == pytest.approx(truth.min(), abs=1e-9)
        assert truth[slot] == pytest.approx(truth.min(), abs=1e-9)


@both_ways
@sized
def test_a_prototype_in_its_own_slot_changes_nothing(way, k):
    full, weights = table(k, 50, dtype=np.float64), np.ones(50)
    near, _, D, E = swap_state(way, full, beyond=1.0)
    losses = losses_of(way, near, D, E, weights, k)
    changes, _ = changes_of(way, ragged(full), np.arange(k), near, D, E, weights, losses)
    np.testing.assert_allclose(changes, 0, atol=1e-12)


@every_type
@both_ways
@sized
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7])
def test_missing_columns_never_make_a_change_look_better(dtype, way, k, share):
    for seed in range(5):
        full = table(k + 12, 40, dtype=dtype, seed=seed)
        members, weights = full[:k].copy(), weighted(40, seed)
        near, _, D, E = swap_state(way, members, beyond=full.max())
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
def test_compiled_changes_equal_the_reference(dtype, k, is_tied):
    full = table(k + 30, 100, dtype=dtype, is_tied=is_tied)
    members, weights, entries = full[:k].copy(), weighted(100), ragged(full, share=0.6)
    near, _, D, E = swap_state(WAYS["reference"], members, beyond=full.max())
    arms = np.arange(len(full))[::-1].copy()
    both = []
    for way in WAYS.values():
        losses = losses_of(way, near, D, E, weights, k)
        both.append(changes_of(way, entries, arms, near, D, E, weights, losses))
    np.testing.assert_allclose(both[0][0], both[1][0], atol=1e-9)
    if not is_tied:
        np.testing.assert_array_equal(both[0][1], both[1][1])


def test_changes_do_not_depend_on_which_arms_are_computed_together():
    way = WAYS["compiled"]
    full = table(60, 300, dtype=np.float32)
    weights = np.random.default_rng(1).random(300)
    near, _, D, E = swap_state(way, full[:5].copy())
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
def test_replacements_keep_the_two_nearest_exact(dtype, way, k, is_tied):
    """After any number of replacements the state equals one computed from scratch."""
    random = np.random.default_rng(k)
    full = table(30, 80, dtype=dtype, is_tied=is_tied, seed=k)
    members = full[:k].copy()
    state = swap_state(way, members, beyond=full.max())
    truth = members.copy()
    for _ in range(60):
        slot, arm = int(random.integers(k)), int(random.integers(len(full)))
        truth[slot] = full[arm]
        way(ragged_swaps_kernels.replace_prototype)(members, slot, full[arm], *state)
        np.testing.assert_array_equal(members, truth)
        require_exact(members, *state)


@both_ways
def test_replacing_by_a_duplicate_of_another_prototype(way):
    members = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [3.0, 3.0, 3.0]])
    state = swap_state(way, members)
    for slot, row in ((2, members[0].copy()), (0, members[1].copy()), (1, np.zeros(3))):
        way(ragged_swaps_kernels.replace_prototype)(members, slot, row, *state)
        require_exact(members, *state)
    assert state[2].tolist() == [0, 0, 0]


# -- allowed slots ---------------------------------------------------------------------------------


@every_type
@both_ways
def test_arms_take_the_best_allowed_slot(dtype, way):
    full = table(30, 60, dtype=dtype)
    members, weights, entries = full[:6].copy(), weighted(60), ragged(full)
    near, _, D, E = swap_state(way, members)
    losses = losses_of(way, near, D, E, weights, 6)
    random = np.random.default_rng(1)
    groups, allowed = random.integers(4, size=30), random.random((4, 6)) < 0.4
    allowed[2] = False
    arms = np.arange(6, 30)
    changes, slots = changes_of(
        way, entries, arms, near, D, E, weights, losses, feasibility=(groups, allowed)
    )
    assert set(groups[arms]) == {0, 1, 2, 3}
    for arm, change, slot in zip(arms, changes, slots, strict=True):
        own = np.where(allowed[groups[arm]], true_changes(members, full[arm], weights), np.inf)
        assert change == pytest.approx(own.min(), abs=1e-9)
        if np.isfinite(change):
            assert own[slot] == pytest.approx(own.min(), abs=1e-9)


# -- home cells ------------------------------------------------------------------------------------


def homes_of(way, entries, arms, near, E, weights, n_cells, n_homes):
    homes = np.full((len(arms), n_homes), -1)
    way(ragged_swaps_kernels.home_cells)(*entries, arms, near, E, weights, np.empty(n_cells), homes)
    return homes


def true_homes(entries, arm, near, E, weights, n_cells):
    """Return the home cells of an arm: that of its nearest row, then by what the arm saves there.

    Cells in which it saves nothing are -1.
    """
    affinities = np.zeros(n_cells)
    known = range(entries[0][arm], entries[0][arm + 1])
    for e in known:
        j = entries[1][e]
        affinities[near[j]] += weights[j] * max(float(E[j]) - float(entries[2][e]), 0.0)
    if known:
        affinities[near[entries[1][min(known, key=lambda e: entries[2][e])]]] = np.inf
    cells = sorted(range(n_cells), key=lambda m: (-affinities[m], m))
    return [m if affinities[m] > 0 else -1 for m in cells]


@every_type
@both_ways
@pytest.mark.parametrize("share", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("n_cells", [1, 2, 7, 20])
def test_home_cells_equal_the_definition(dtype, way, share, is_tied, n_cells):
    """Tied sums are multiples of a half, which are exact."""
    full = table(40, 60, dtype=dtype, is_tied=is_tied)
    members, weights, entries = full[:n_cells].copy(), weighted(60), ragged(full, share=share)
    near, _, _, E = swap_state(way, members, beyond=3.0)
    arms = np.array([39, 0, 7, 7, *range(10, 39)])
    for n_homes in {1, 2, n_cells - 1, n_cells} & set(range(1, n_cells + 1)):
        homes = homes_of(way, entries, arms, near, E, weights, n_cells, n_homes)
        for arm, own in zip(arms, homes, strict=True):
            truth = true_homes(entries, arm, near, E, weights, n_cells)
            assert own.tolist() == truth[:n_homes]


@both_ways
def test_the_cell_of_the_nearest_row_is_home_even_if_nothing_is_saved(way):
    """Two prototypes are identical, so E is 0 in their cell."""
    members = np.array([[0.0, 9.0], [0.0, 9.0], [9.0, 0.0]])
    near, _, _, E = swap_state(way, members)
    entries = np.array([0, 2]), np.array([1, 0], dtype=np.int32), np.array([7.0, 3.0])
    homes = homes_of(way, entries, np.array([0]), near, E, np.ones(2), 3, 3)
    assert homes.tolist() == [[0, 2, -1]]


@both_ways
def test_an_arm_without_entries_has_no_home(way):
    near, _, _, E = swap_state(way, np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]))
    entries = np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
    assert homes_of(way, entries, np.array([0]), near, E, np.ones(2), 3, 2).tolist() == [[-1, -1]]


@both_ways
def test_rows_without_weight_only_count_as_the_nearest_row(way):
    members = np.array([[0.0, 0.0, 9.0, 9.0], [9.0, 9.0, 0.0, 9.0], [9.0, 9.0, 9.0, 0.0]])
    near, _, _, E = swap_state(way, members)
    entries = np.array([0, 4]), np.arange(4, dtype=np.int32), np.array([5.0, 5.0, 1.0, 5.0])
    weights = np.array([0.0, 0.0, 0.0, 1.0])
    homes = homes_of(way, entries, np.array([0]), near, E, weights, 3, 3)
    assert homes.tolist() == [[1, 2, -1]]


# -- ragged storage --------------------------------------------------------------------------------


@every_type
@both_ways
@pytest.mark.parametrize("share", [0.05, 0.6, 1.0])
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("limit", ["none", "drawn", "zero"])
def test_entries_below_limits_are_counted_and_copied(dtype, way, share, is_tied, limit):
    """The order is kept, and the smallest entry of an arm is always copied."""
    full = table(8, 30, dtype=dtype, is_tied=is_tied)
    starts, columns, values = ragged(full, share=share)
    drawn = table(1, 30, dtype=dtype, seed=9, is_tied=is_tied)[0]
    limits = {"none": np.full(30, np.inf, dtype=dtype), "drawn": drawn, "zero": 0 * drawn}[limit]
    arms, gap = np.array([4, 1, 7, 0, 5]), 3
    truth = []
    for arm in arms:
        own = [(values[e], e) for e in range(starts[arm], starts[arm + 1])]
        kept = {e for value, e in own if value < limits[columns[e]]}
        kept |= {min(own)[1]} if own else set()
        truth.append(sorted(kept))
    counts = np.full(len(arms), -1)
    entries, no_output = (starts, columns, values), (columns[:0], values[:0])
    way(ragged_swaps_kernels.keep_within)(
        *entries, arms, limits, counts, np.zeros_like(arms), *no_output
    )
    assert counts.tolist() == [len(kept) for kept in truth]
    places = np.cumsum(counts + gap) - counts
    to = np.full(counts.sum() + (len(arms) + 1) * gap, -1, dtype=np.int32)
    at = np.full(len(to), -1, dtype=dtype)
    again = np.full(len(arms), -1)
    way(ragged_swaps_kernels.keep_within)(*entries, arms, limits, again, places, to, at)
    assert again.tolist() == counts.tolist()
    written = np.zeros(len(to), dtype=bool)
    for place, kept in zip(places, truth, strict=True):
        there = slice(place, place + len(kept))
        np.testing.assert_array_equal(to[there], columns[kept])
        np.testing.assert_array_equal(at[there], values[kept])
        written[there] = True
    assert (to[~written] == -1).all()
    assert (at[~written] == -1).all()
    if limit == "none":
        assert counts.tolist() == np.diff(starts)[arms].tolist()


@every_type
@both_ways
def test_a_block_is_scattered(dtype, way):
    block = table(3, 4, dtype=dtype)
    to, at = np.full(20, -1, dtype=np.int32), np.full(20, -1, dtype=dtype)
    way(ragged_swaps_kernels.scatter)(block, 100, np.array([15, 0, 6]), to, at)
    for i, place in enumerate((15, 0, 6)):
        assert to[place : place + 4].tolist() == [100, 101, 102, 103]
        np.testing.assert_array_equal(at[place : place + 4], block[i])
    assert (to == -1).sum() == 8


def test_checks_find_a_slot_that_does_not_exist():
    ones, losses = np.ones(2), np.zeros(2)
    with pytest.raises(IndexError, match=r"removal_losses, line .*: an index is out of bounds"):
        checked(ragged_swaps_kernels.removal_losses)(np.array([0, 7]), ones, ones, ones, losses)
