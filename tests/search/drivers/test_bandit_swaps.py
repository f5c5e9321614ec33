from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pytest

import brute
from protobandit.search.arms.contract import Choice, Pull
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.successive_elimination import SuccessiveElimination
from protobandit.search.drivers.bandit_swaps import bandit_swaps
from protobandit.search.objectives.prefixes import Prefixes
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 40, 14
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "uneven"])
sized = pytest.mark.parametrize("k", [1, 2, 4])


@dataclass(frozen=True)
class EachSwapOnce:
    """Choose every swap once, good or bad, and then none."""

    offered: list = field(default_factory=list)

    def identify(self, arms, terms, bounds=None):
        yield Pull(arms, 1)
        self.offered.append(arms)
        chosen = arms[1:2] if len(arms) > 1 else arms[:1]
        return Choice(chosen, np.zeros(1))


def posed(d, members, weights=None):
    oracle, metric = watched(d, weights)
    prefixes = Prefixes(oracle, np.random.default_rng(0), room=10**9)
    matrix = d[np.ix_(prefixes.rows, members)].T.copy()
    return prefixes, SwapState(np.array(members), matrix, prefixes.weights), metric


def run(strategy, prefixes, swap_state, n=500):
    """Return whether each of the first n searches led to a swap."""
    random = np.random.default_rng(0)
    return list(islice(bandit_swaps(strategy, prefixes, swap_state, random=random), n))


def worst(d, q, k):
    """Return the k rows with the largest cost as a single prototype."""
    return np.argsort(-(q @ d))[:k].tolist()


def best_swaps(d, q, members, n=100):
    """Return the prototypes of PAM after at most ``n`` swaps, and the number of swaps."""
    members = list(members)
    for n_swaps in range(n):
        costs = {
            (slot, source): brute.cost(d, q, [*members[:slot], source, *members[slot + 1 :]])
            for source in set(range(d.shape[1])) - set(members)
            for slot in range(len(members))
        }
        (slot, source), least = min(costs.items(), key=lambda item: item[1])
        if least >= brute.cost(d, q, members) * (1 - 1e-6):
            return members, n_swaps
        members[slot] = source
    return members, n


@weighted
@sized
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "strategy", [Exhaustive(), SuccessiveElimination(batch=N_TARGET)], ids=["all", "batch of all"]
)
def test_an_exact_search_makes_the_swaps_of_pam(is_weighted, k, seed, strategy):
    d = table(N_TARGET, N_SOURCE, seed=seed)
    weights = uneven(N_TARGET, seed) if is_weighted else None
    q = brute.even(N_TARGET) if weights is None else weights
    start = worst(d, q, k)
    prefixes, swap_state, _ = posed(d, start, weights)
    made = run(strategy, prefixes, swap_state)
    expected, n_swaps = best_swaps(d, q, start)
    assert swap_state.members.tolist() == expected
    assert made == [True] * n_swaps
    assert n_swaps > 0


def test_searches_can_be_stopped_at_any_time():
    d = table(N_TARGET, N_SOURCE)
    q = brute.even(N_TARGET)
    start = worst(d, q, 4)
    prefixes, swap_state, _ = posed(d, start)
    assert run(Exhaustive(), prefixes, swap_state, n=2) == [True, True]
    assert swap_state.members.tolist() == best_swaps(d, q, start, 2)[0]
    assert best_swaps(d, q, start)[1] > 2


@weighted
@sized
def test_a_bad_choice_never_raises_the_cost(is_weighted, k):
    d = table(N_TARGET, N_SOURCE)
    weights = uneven(N_TARGET) if is_weighted else None
    q = brute.even(N_TARGET) if weights is None else weights
    prefixes, swap_state, metric = posed(d, list(range(k)), weights)
    costs = [swap_state.cost]
    random = np.random.default_rng(0)
    for is_swapped in bandit_swaps(EachSwapOnce(), prefixes, swap_state, random=random):
        costs.append(swap_state.cost)
        assert (costs[-1] < costs[-2]) == is_swapped
        assert costs[-1] == pytest.approx(brute.cost(d, q, swap_state.members.tolist()))
    assert best_swaps(d, q, swap_state.members.tolist()) == (swap_state.members.tolist(), 0)
    assert max(metric.pairs.values()) == 1


def test_an_excluded_arm_is_offered_again_after_the_next_swap():
    d = table(N_TARGET, N_SOURCE)
    prefixes, swap_state, _ = posed(d, worst(d, brute.even(N_TARGET), 3))
    strategy = EachSwapOnce()
    made = run(strategy, prefixes, swap_state)
    n_offered = [(len(arms) - 1) // 3 for arms in strategy.offered]
    assert n_offered[0] == N_SOURCE - 3
    for is_swapped, before, after in zip(made, n_offered[:-1], n_offered[1:], strict=True):
        assert after == (N_SOURCE - 3 if is_swapped else before - 1)
    assert n_offered[-1] == 0
    assert {True, False} == set(made)


def test_without_other_rows_there_is_no_search():
    prefixes, swap_state, metric = posed(table(N_TARGET, 3), [0, 1, 2])
    assert run(SuccessiveElimination(), prefixes, swap_state) == []
    assert metric.pairs.total() == 0
