from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import (
    WAYS,
    both_ways,
    every_type,
    losses_of,
    ragged,
    require_exact,
    summed_cost,
    swap_state,
    table,
    tied,
    weighted,
)
from protobandit.kernels import perturbation as perturbation_kernels

sized = pytest.mark.parametrize("k", [2, 3, 7])
REFERENCE = WAYS["reference"]


def state_of(way, members, weights):
    """Return what `replace_prototype` updates: nearby, near, second, D, E, weights, losses."""
    near, second, D, E = swap_state(way, members)
    losses = losses_of(way, near, D, E, weights, len(members))
    return np.ascontiguousarray(members.T), near, second, D, E, weights, losses


def require_correct(state, members):
    """Assert that a state equals that of these prototypes, computed from scratch."""
    nearby, near, second, D, E, weights, losses = state
    np.testing.assert_array_equal(nearby, members.T)
    require_exact(members, near, second, D, E)
    # A row that is equally near to two prototypes costs nothing if one of them is removed.
    truth = losses_of(REFERENCE, near, D, E, weights, len(members))
    np.testing.assert_allclose(losses, truth, atol=1e-9)
    *_, fresh = state_of(REFERENCE, members, weights)
    np.testing.assert_allclose(losses, fresh, atol=1e-9)


# -- replace_prototype -----------------------------------------------------------------------------


@every_type
@both_ways
@sized
@tied
@pytest.mark.parametrize("seed", range(3))
def test_replacing_equals_recomputing_from_scratch(dtype, way, k, is_tied, seed):
    random = np.random.default_rng(seed)
    full = table(30, 70, dtype=dtype, is_tied=is_tied, seed=seed)
    members, weights = full[:k].copy(), weighted(70, seed)
    assert (weights == 0).any()
    state = state_of(way, members, weights)
    for _ in range(60):
        slot, arm = int(random.integers(k)), int(random.integers(len(full)))
        before = summed_cost(members, weights)
        change = way(perturbation_kernels.replace_prototype)(full[arm], slot, *state)
        members[slot] = full[arm]
        assert change == pytest.approx(summed_cost(members, weights) - before, abs=1e-9)
        require_correct(state, members)


@every_type
@sized
def test_compiled_and_reference_replace_alike(dtype, k):
    """Without ties, slots are equal too."""
    full, weights = table(30, 90, dtype=dtype, seed=k), weighted(90)
    states = [state_of(REFERENCE, full[:k].copy(), weights) for _ in WAYS]
    random = np.random.default_rng(k)
    for _ in range(40):
        slot, arm = int(random.integers(k)), int(random.integers(k, len(full)))
        changes = [
            way(perturbation_kernels.replace_prototype)(full[arm], slot, *state)
            for way, state in zip(WAYS.values(), states, strict=True)
        ]
        assert changes[0] == pytest.approx(changes[1], abs=1e-9)
        if len(np.unique(states[0][0][0])) < k:
            continue  # an arm is in two slots: every row is tied
        for one, other in zip(states[0][:-1], states[1][:-1], strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(states[0][-1], states[1][-1], atol=1e-9)


@every_type
@both_ways
@sized
@tied
def test_undoing_replacements_restores_the_state(dtype, way, k, is_tied):
    """Replacements are undone in reverse order."""
    full, weights = table(30, 70, dtype=dtype, is_tied=is_tied, seed=k), weighted(70)
    state = state_of(way, full[:k].copy(), weights)
    before = [part.copy() for part in state]
    random = np.random.default_rng(k)
    members, past, change = list(range(k)), [], 0.0
    for _ in range(12):
        slot, arm = int(random.integers(k)), int(random.integers(k, len(full)))
        past.append((members[slot], slot))
        members[slot] = arm
        change += way(perturbation_kernels.replace_prototype)(full[arm], slot, *state)
    for arm, slot in reversed(past):
        change += way(perturbation_kernels.replace_prototype)(full[arm], slot, *state)
    assert change == pytest.approx(0, abs=1e-9)
    require_correct(state, full[:k])
    for part in (0, 3, 4) if is_tied else range(5):  # which of two equals is nearest may change
        assert state[part].tobytes() == before[part].tobytes()
    np.testing.assert_allclose(state[-1], before[-1], atol=1e-9)


@both_ways
def test_replacing_a_prototype_by_itself(way):
    full, weights = table(4, 30, dtype=np.float64), np.ones(30)
    state = state_of(way, full.copy(), weights)
    assert way(perturbation_kernels.replace_prototype)(full[2], 2, *state) == pytest.approx(
        0, abs=1e-12
    )
    require_correct(state, full)


@both_ways
def test_replacing_by_a_duplicate(way):
    """D and E are equal in every row that is nearest to the duplicates."""
    full, weights = table(4, 30, dtype=np.float64), np.ones(30)
    state = state_of(way, full.copy(), weights)
    members = full[[1, 1, 2, 3]]
    way(perturbation_kernels.replace_prototype)(full[1], 0, *state)
    require_correct(state, members)
    assert state[-1][0] == pytest.approx(0, abs=1e-12)
    assert state[-1][1] == pytest.approx(0, abs=1e-12)


# -- next_improving_swap ---------------------------------------------------------------------------


def true_changes(entries, arm, members, weights):
    """Return the change of cost with the arm in each slot; missing entries are infinite."""
    row = np.full(members.shape[1], np.inf)
    own = slice(entries[0][arm], entries[0][arm + 1])
    row[entries[1][own]] = entries[2][own]
    before = summed_cost(members, weights)
    changes = []
    for slot in range(len(members)):
        swapped = members.astype(np.float64)
        swapped[slot] = row
        changes.append(summed_cost(swapped, weights) - before)
    return np.array(changes)


def instance(k, *, dtype, share=1.0, is_tied=False, seed=0, n_arms=25):
    """Return ragged entries of some arms, prototypes that can be improved, and weights."""
    full = table(k + n_arms, 40, dtype=dtype, is_tied=is_tied, seed=seed)
    return ragged(full, share=share, seed=seed), full[:k].copy(), weighted(40, seed)


def found(way, entries, arms, start, least, is_open, members, weights):
    _, near, _, D, E, _, losses = state_of(way, members, weights)
    return way(perturbation_kernels.next_improving_swap)(
        *entries, arms, start, least, is_open, near, D, E, weights, losses, np.empty(len(losses))
    )


@every_type
@both_ways
@sized
@tied
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("openness", [0.0, 0.5, 1.0])
def test_the_next_improving_swap_equals_brute_force(dtype, way, k, is_tied, share, openness):
    n_found = 0
    for seed in range(3):
        entries, members, weights = instance(
            k, dtype=dtype, share=share, is_tied=is_tied, seed=seed
        )
        random = np.random.default_rng(seed)
        arms = random.permutation(k + 25)
        is_open = random.random((len(arms), k)) < openness
        truth = np.array([true_changes(entries, arm, members, weights) for arm in arms])
        truth[~is_open] = np.inf
        for start in (0, 7, len(arms)):
            for least in (0.25 + 1e-6, 0.75 + 1e-6, 100.0):  # tied changes are multiples of a half
                improving = np.flatnonzero(truth.min(axis=1) < -least)
                improving = improving[improving >= start]
                place, slot = found(way, entries, arms, start, least, is_open, members, weights)
                assert place == (improving[0] if len(improving) else len(arms))
                if len(improving):
                    n_found += 1
                    assert is_open[place, slot]
                    assert truth[place, slot] == pytest.approx(truth[place].min(), abs=1e-9)
                else:
                    assert slot == -1
    assert (n_found > 0) == (openness > 0)


@both_ways
def test_an_infinite_limit_accepts_every_arm(way):
    entries, members, weights = instance(3, dtype=np.float32)
    for arm in range(3, 28):
        truth = true_changes(entries, arm, members, weights)
        place, slot = found(
            way, entries, np.array([arm]), 0, -np.inf, np.ones((1, 3), bool), members, weights
        )
        assert place == 0
        assert truth[slot] == pytest.approx(truth.min(), abs=1e-9)


@both_ways
def test_no_swap_is_found_if_no_slot_is_open(way):
    entries, members, weights = instance(3, dtype=np.float64)
    closed = np.zeros((2, 3), bool)
    arms = np.array([5, 9])
    assert found(way, entries, arms, 0, -np.inf, closed, members, weights) == (2, -1)


@both_ways
def test_no_swap_is_found_among_no_arms(way):
    entries, members, weights = instance(2, dtype=np.float64)
    no_arms = np.zeros(0, dtype=np.int64)
    none = found(way, entries, no_arms, 0, 0.0, np.ones((0, 2), bool), members, weights)
    assert none == (0, -1)


@both_ways
def test_a_swap_must_improve_by_more_than_least(way):
    members, weights = np.array([[4.0, 4.0], [9.0, 9.0]]), np.ones(2)
    entries = np.array([0, 2]), np.arange(2, dtype=np.int32), np.array([3.0, 3.0])
    everything = np.ones((1, 2), bool)
    for least, place in ((2.0, 1), (1.999, 0)):
        assert found(way, entries, np.array([0]), 0, least, everything, members, weights)[0] == (
            place
        )
