"""Pairs of a source row and a slot as arms: their gains and the number of evaluations."""

from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.prefixes import Prefixes
from protobandit.search.objectives.slots import STAY, Slots
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 40, 12
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["equal", "unequal"])
membered = pytest.mark.parametrize("members", [[5], [5, 2], [9, 0, 4, 7]], ids=len)


def slots_of(d, members, weights=None, least=0.0):
    oracle, metric = watched(d, weights)
    prefixes = Prefixes(oracle, np.random.default_rng(0), room=10**9)
    matrix = d[np.ix_(prefixes.rows, members)].T.copy()
    swap_state = SwapState(np.array(members), matrix, prefixes.weights)
    return Slots(prefixes, swap_state, least), oracle, metric


def swapped(members, slot, source):
    return [*members[:slot], source, *members[slot + 1 :]]


def true_gain(d, q, members, source, slot):
    """Return by how much the swap lowers the cost, by definition."""
    return brute.cost(d, q, members) - brute.cost(d, q, swapped(members, slot, source))


def open_all(slots, members):
    others = np.setdiff1d(np.arange(N_SOURCE), members)
    arms = slots.arms(others)
    return arms, slots.open(arms, np.random.default_rng(0))


@weighted
@membered
@pytest.mark.parametrize("is_tied", [False, True], ids=["distinct", "tied"])
def test_at_the_end_of_the_order_every_pair_is_exact(is_weighted, members, is_tied):
    d = table(N_TARGET, N_SOURCE)
    d = np.round(3 * d) if is_tied else d
    weights = uneven(N_TARGET) if is_weighted else None
    slots, *_ = slots_of(d, members, weights, least=0.25)
    arms, round_ = open_all(slots, members)
    round_.pull(Pull(arms, 13))
    rest = arms[1:]
    seen = round_.pull(Pull(rest, slots.population - 13))
    assert (seen.count == slots.population).all()
    q = brute.even(N_TARGET) if weights is None else weights
    pairs = zip(*slots.split(rest), strict=True)
    expected = [true_gain(d, q, members, int(source), int(slot)) for source, slot in pairs]
    np.testing.assert_allclose(seen.mean, expected, atol=1e-12)


@weighted
@membered
def test_only_the_savings_are_sampled(is_weighted, members):
    """The cost of a removal is known, unless no prototype is left; the variance is of savings."""
    d = table(N_TARGET, N_SOURCE)
    slots, *_ = slots_of(d, members, uneven(N_TARGET) if is_weighted else None)
    arms, round_ = open_all(slots, members)
    seen = round_.pull(Pull(arms[1:], 15))
    order, q = slots.prefixes.rows, slots.prefixes.weights
    near = d[np.ix_(order, members)]
    for i, (source, slot) in enumerate(zip(*slots.split(arms[1:]), strict=True)):
        left = np.delete(near, slot, axis=1).min(axis=1, initial=np.inf)
        if len(members) == 1:
            saved, lost = q * (near[:, 0] - d[order, source]), 0.0
        else:
            saved = q * np.maximum(left - d[order, source], 0)
            lost = (left - near.min(axis=1)) @ q / len(q)
        np.testing.assert_allclose(seen.mean[i], saved[:15].mean() - lost, atol=1e-12)
        np.testing.assert_allclose(seen.spread[i], saved[:15].var(), atol=1e-12)


@membered
def test_one_distance_is_used_for_all_slots(members):
    slots, oracle, metric = slots_of(table(N_TARGET, N_SOURCE), members)
    arms, round_ = open_all(slots, members)
    round_.pull(Pull(arms, 10))
    n_others = N_SOURCE - len(members)
    assert oracle.evaluations.total() == metric.pairs.total() == 10 * n_others
    again = slots.open(arms, np.random.default_rng(0))
    again.pull(Pull(arms, 10))
    assert metric.pairs.total() == 10 * n_others == oracle.lookups.total()
    few = arms[[1, 2]]  # of one source row, or of two if there is one slot
    again.pull(Pull(few, 5))
    assert metric.pairs.total() == 10 * n_others + 5 * len(np.unique(slots.split(few)[0]))


def test_the_gain_of_no_swap_is_known():
    slots, *_ = slots_of(table(N_TARGET, N_SOURCE), [5, 2], least=0.125)
    arms, round_ = open_all(slots, [5, 2])
    seen = round_.pull(Pull(arms, 10))
    assert arms[0] == STAY
    assert (seen.count[0], seen.mean[0], seen.spread[0]) == (N_TARGET, 0.125, 0)
    assert (seen.count[1:] == 10).all()


def test_arms_encode_source_and_slot():
    slots, *_ = slots_of(table(N_TARGET, N_SOURCE), [5, 2, 7])
    arms = slots.arms(np.array([0, 4, 11]))
    assert len(np.unique(arms)) == len(arms) == 1 + 3 * 3
    assert (np.diff(arms) > 0).all()
    sources, places = slots.split(arms[1:])
    assert sources.tolist() == [0, 0, 0, 4, 4, 4, 11, 11, 11]
    assert places.tolist() == [0, 1, 2] * 3


@weighted
@membered
def test_commit_swaps_into_the_best_slot_if_the_gain_is_large_enough(is_weighted, members):
    d = table(N_TARGET, N_SOURCE)
    weights = uneven(N_TARGET) if is_weighted else None
    q = brute.even(N_TARGET) if weights is None else weights
    others = np.setdiff1d(np.arange(N_SOURCE), members).tolist()
    k = len(members)
    gain = {i: [true_gain(d, q, members, i, slot) for slot in range(k)] for i in others}
    least = float(np.median([max(gain[i]) for i in others])) + 1e-9
    for i in others:
        slots, *_ = slots_of(d, members, weights, least=least)
        slots.commit(slots.arms(np.array([i]))[1:2])  # the slot of the arm does not matter
        best = int(np.argmax(gain[i]))
        expected = swapped(members, best, i) if gain[i][best] > least else members
        assert slots.swap_state.members.tolist() == expected
        assert slots.swap_state.cost == pytest.approx(brute.cost(d, q, expected))
