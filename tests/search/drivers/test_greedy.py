from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

import brute
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Choice, Pull, choose_all
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.lazy import Lazy
from protobandit.search.arms.uniform import Uniform
from protobandit.search.drivers.greedy import greedy, run_round
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.sampled_coverage import SampledCoverage
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 25, 14
D = table(N_TARGET, N_SOURCE, seed=7)

exactly = pytest.mark.parametrize("strategy", [Exhaustive(), Lazy()], ids=["exhaustive", "lazy"])


def picks_of(strategy, objective, *, k, r=1, n_source=N_SOURCE, seed=0):
    random = np.random.default_rng(seed)
    feasibility = Feasibility.none(n_source)
    return list(greedy(strategy, objective, feasibility=feasibility, k=k, r=r, random=random))


def arms_of(picks):
    return np.concatenate([pick.arms for pick in picks]).tolist()


@exactly
@pytest.mark.parametrize("r", [1, 2, 3, 50])
@pytest.mark.parametrize("k", [1, 2, 5, N_SOURCE])
@pytest.mark.parametrize("weights", [None, uneven(N_TARGET)], ids=["even", "uneven"])
def test_picks_are_those_of_brute_force(strategy, r, k, weights):
    plain = np.ones(N_TARGET) if weights is None else weights
    picks = picks_of(strategy, ExactCoverage.of(watched(D, weights)[0]), k=k, r=r)
    arms, truth = arms_of(picks), brute.greedy(D, plain, k, r)
    assert arms[: len(truth)] == truth
    assert sorted(set(arms)) == sorted(arms)
    assert len(arms) == k
    assert all(len(pick.arms) <= r for pick in picks if pick.gains.any())
    n_before = 0
    for pick in picks:
        worth = brute.gains(D, plain, arms[:n_before])
        np.testing.assert_allclose(pick.gains, worth[pick.arms], atol=1e-12)
        assert pick.objective.prototypes.tolist() == arms[: n_before + len(pick.arms)]
        assert pick.is_proven
        n_before += len(pick.arms)


@exactly
@pytest.mark.parametrize("r", [1, 3])
def test_without_gains_the_rest_is_random_and_distinct(strategy, r):
    d = np.tile(D[:, :2], (1, 7))  # two distinct source rows
    tails = set()
    for seed in range(20):
        picks = picks_of(strategy, ExactCoverage.of(watched(d)[0]), k=10, r=r, seed=seed)
        arms = arms_of(picks)
        assert len(set(arms)) == len(arms) == 10
        assert {arm % 2 for arm in arms[: 2 * r]} == {0, 1}
        gains = np.concatenate([pick.gains for pick in picks])
        assert (gains[2 * r :] == 0).all()
        costs = picks[-1].objective.costs
        assert set(costs[2 * r :]) == {costs[-1]}
        tails.add(tuple(arms[2 * r :]))
    assert len(tails) > 10


@exactly
def test_only_arms_with_a_gain_are_picked_together(strategy):
    d = np.ones((6, 8))
    d[:, :3] = 0.5
    d[0, 3] = d[1, 4] = 0.0
    picks = picks_of(strategy, ExactCoverage.of(watched(d)[0]), k=7, r=3, n_source=8)
    first, second, *rest = (sorted(pick.arms.tolist()) for pick in picks)
    assert first == [0, 1, 2]
    assert second == [3, 4]
    drawn = list(chain(*rest))
    assert len(drawn) == 2
    assert set(drawn) < {5, 6, 7}


def test_the_first_pick_needs_no_positive_value():
    picks = picks_of(Exhaustive(), ExactCoverage.of(watched(np.zeros((4, 3)))[0]), k=1, n_source=3)
    assert picks[0].gains.tolist() == [0.0]


def test_gains_are_in_the_unit_of_the_dissimilarity():
    scale = 8.0
    objective = SampledCoverage.of(watched(4 * D)[0], scale=scale)
    picks = picks_of(Uniform(nu=1e-3, delta=0.05), objective, k=3)
    arms = arms_of(picks)
    first = scale - (4 * D[:, arms[0]]).mean()
    assert picks[0].gains == pytest.approx([first])
    assert picks[1].gains == pytest.approx(
        [brute.gains(4 * D, np.ones(N_TARGET), arms[:1])[arms[1]]]
    )


@dataclass
class Scripted:
    """A strategy that returns given choices and records its arguments."""

    choices: list

    def __post_init__(self):
        self.received = []

    def identify(self, arms, terms, bounds=None):
        self.received.append((arms.tolist(), terms.population, terms.picks, bounds))
        return self.choices.pop(0)
        yield


def test_a_round_passes_the_remaining_arms_to_the_strategy():
    choices = [
        Choice(arms=np.array([2]), means=np.array([-1.0]), bounds="first"),
        Choice(arms=np.array([0, 3]), means=np.array([0.5, 0.0]), bounds="second", is_proven=False),
        choose_all(np.array([1, 3]), bounds="third"),
    ]
    strategy = Scripted(choices)
    objective = ExactCoverage.of(watched(D[:, :5])[0])
    picks = picks_of(strategy, objective, k=4, r=2, n_source=5)
    assert [pick.arms.tolist() for pick in picks] == [[2], [0], [1, 3]]
    assert [pick.is_proven for pick in picks] == [True, False, True]
    assert np.isnan(picks[2].gains).all()
    assert strategy.received == [
        ([0, 1, 2, 3, 4], N_TARGET, 2, None),
        (
            [0, 1, 3, 4],
            N_TARGET,
            2,
            None,
        ),  # values before the first prototype are not bounds
        ([1, 3, 4], N_TARGET, 2, "second"),
    ]


def test_picks_come_one_at_a_time():
    oracle, metric = watched(D)
    picks = greedy(
        Exhaustive(),
        ExactCoverage.of(oracle),
        feasibility=Feasibility.none(N_SOURCE),
        k=9,
        random=np.random.default_rng(0),
    )
    next(picks)
    assert metric.pairs.total() == (N_SOURCE + 1) * N_TARGET
    picks.close()


def test_a_round_answers_the_pulls_of_the_strategy():
    class Ledger:
        def __init__(self):
            self.pulls = []

        def open(self, arms, random):
            return self

        def pull(self, pull):
            self.pulls.append(pull)
            return len(self.pulls)

    class Strategy:
        def identify(self, arms, terms, bounds):
            first = yield Pull(arms, 1)
            second = yield Pull(arms, 2, new_order=True)
            return first, second, bounds

    ledger = Ledger()
    terms = type("Terms", (), {"random": None})
    assert run_round(Strategy(), np.arange(3), ledger, terms, "bounds") == (1, 2, "bounds")
    assert [(pull.n, pull.new_order) for pull in ledger.pulls] == [(1, False), (2, True)]
