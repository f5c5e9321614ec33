from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.contract import Terms
from protobandit.search.arms.elimination import EliminationStage, cap, planned_pulls
from protobandit.search.arms.median_elimination import MedianElimination
from protobandit.search.arms.sequential_halving import SequentialHalving
from search.arms.fakes import beta, play

ALL = [AggressiveElimination, MedianElimination, SequentialHalving]
PLAN = [EliminationStage(100, 10, 20), EliminationStage(20, 30, 5), EliminationStage(5, 80, 1)]


def test_planned_pulls():
    assert planned_pulls(PLAN) == 1000 + 600 + 400


@pytest.mark.parametrize(
    ("population", "capped"),
    [
        (10**6, PLAN),
        (81, PLAN),
        (80, [*PLAN[:2], EliminationStage(5, 80, 1)]),
        (51, [*PLAN[:2], EliminationStage(5, 51, 1)]),
        (50, [PLAN[0], EliminationStage(20, 50, 1)]),
        (20, [EliminationStage(100, 20, 1)]),
        (1, [EliminationStage(100, 1, 1)]),
    ],
)
def test_an_exact_stage_replaces_the_rest_of_a_plan_that_costs_as_much(population, capped):
    assert cap(PLAN, population) == capped


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("n_arms", [2, 3, 33, 34, 200])
def test_follows_its_plan_on_new_rows(strategy, n_arms):
    bandit = beta(np.linspace(0.1, 0.9, n_arms), 6000, 0)
    strategy = strategy(nu=0.95, delta=0.4)
    stages = cap(strategy.plan(n_arms), bandit.population)
    played = play(strategy, bandit)
    assert all(pull.new_order for pull in played.pulls)
    assert [(len(p.arms), p.n) for p in played.pulls] == [(s.n_arms, s.n_rows) for s in stages]
    for before, after in zip(played.pulls, played.pulls[1:], strict=False):
        assert np.isin(after.arms, before.arms).all()
    assert played.n_pulls <= planned_pulls(strategy.plan(n_arms))


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("population", [1, 30, 400, 3000])
@pytest.mark.parametrize("nu", [0.9, 0.3, 0.05, 1e-50])
def test_never_above_one_pass(strategy, population, nu):
    strategy = strategy(nu=nu, delta=0.01)
    for n_arms in (2, 10, 34, 100, 1101):
        pulls = planned_pulls(cap(strategy.plan(n_arms), population))
        assert pulls <= n_arms * population
        assert pulls <= planned_pulls(strategy.plan(n_arms))


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("nu", [0.02, 1e-50])
def test_exact_at_one_pass(strategy, nu):
    bandit = beta(np.linspace(0.4, 0.5, 30), 500, 0)
    played = play(strategy(nu=nu, delta=0.1), bandit)
    assert bandit.is_within(played.choice, 0)
    assert played.choice.means == pytest.approx(bandit.truth.max())
    assert played.n_pulls == bandit.rewards.size


@pytest.mark.parametrize("strategy", ALL)
def test_several_picks_are_not_supported(strategy):
    with pytest.raises(InvalidInput, match="r=2"):
        play(strategy(nu=0.1, delta=0.1), beta(np.full(5, 0.5), 10, 0), picks=2)


@pytest.mark.parametrize("strategy", ALL)
def test_one_arm_is_chosen_without_a_pull(strategy):
    search = strategy(nu=0.3, delta=0.1).identify(np.array([7]), Terms(100))
    with pytest.raises(StopIteration) as end:
        next(search)
    assert end.value.value.arms.tolist() == [7]
