"""Laws that hold for every strategy on every fake bandit, and the records of the contract."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protobandit.search import arms
from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.contract import Moments, Strategy, choose_all, top
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.kl_lucb import KLLUCB
from protobandit.search.arms.lazy import Lazy
from protobandit.search.arms.median_elimination import MedianElimination
from protobandit.search.arms.sequential_halving import SequentialHalving
from protobandit.search.arms.subset import Subset
from protobandit.search.arms.successive_elimination import SuccessiveElimination
from protobandit.search.arms.threshold import Threshold
from protobandit.search.arms.uniform import Uniform
from search.arms.fakes import FAKES, merge, play

STRATEGIES = {
    "exhaustive": Exhaustive(),
    "lazy": Lazy(),
    "subset": Subset(inner=Exhaustive(), size=4),
    "subset of one": Subset(inner=Exhaustive(), size=1),
    "subset + kl-lucb": Subset(inner=KLLUCB(nu=0.1, delta=0.1), size=5),
    "uniform": Uniform(nu=0.2, delta=0.1),
    "aggressive": AggressiveElimination(nu=0.5, delta=0.1),
    "median": MedianElimination(nu=0.9, delta=0.1),
    "halving": SequentialHalving(nu=0.5, delta=0.1),
    "successive": SuccessiveElimination(delta=0.1, batch=10),
    "threshold": Threshold(epsilon=0.1),
    "kl-lucb": KLLUCB(nu=0.1, delta=0.1),
    "kl-lucb early": KLLUCB(nu=0.1, delta=0.1, early_stop=True),
}
OF_ONE = ("aggressive", "median", "halving", "threshold")
OF_SEVERAL = [n for n in STRATEGIES if n not in OF_ONE]


def test_every_strategy_is_tested():
    modules = pkgutil.iter_modules(arms.__path__, f"{arms.__name__}.")
    public = [c for m in modules for c in vars(importlib.import_module(m.name)).values()]
    exported = {c for c in public if hasattr(c, "identify") and not inspect.isabstract(c)}
    assert {type(s) for s in STRATEGIES.values()} == exported - {Strategy}


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize("name", STRATEGIES)
def test_one_arm(name, fake):
    strategy, bandit = STRATEGIES[name], FAKES[fake](0)
    assert isinstance(strategy, Strategy)
    played = play(strategy, bandit)
    assert played.choice.arms.dtype == np.int64
    assert played.choice.arms.shape == played.choice.means.shape == (1,)
    assert np.isin(played.choice.arms, bandit.ids).all()
    assert played.n_pulls <= bandit.rewards.size
    assert np.isnan(played.choice.means).all() == (not played.pulls)


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize("name", OF_SEVERAL)
@pytest.mark.parametrize("picks", [2, 5])
def test_several_arms(name, fake, picks):
    bandit = FAKES[fake](1)
    played = play(STRATEGIES[name], bandit, picks=picks)
    arms, means = played.choice.arms, played.choice.means
    assert len(arms) == len(means) == min(picks, len(bandit.ids))
    assert len(np.unique(arms)) == len(arms)
    assert np.isin(arms, bandit.ids).all()
    assert played.n_pulls <= bandit.rewards.size
    assert np.isnan(means).all() or (np.diff(means) <= 0).all()


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_seed_gives_the_same_pulls(name):
    first, second = (play(STRATEGIES[name], FAKES["many arms"](2), seed=7) for _ in range(2))
    assert first.choice.arms == second.choice.arms
    assert [(p.arms.tolist(), p.n) for p in first.pulls] == [
        (p.arms.tolist(), p.n) for p in second.pulls
    ]


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_the_given_arms_are_used(name):
    bandit = FAKES["many arms"](3)
    offered = bandit.ids[10:40:2]
    played = play(STRATEGIES[name], bandit, arms=offered)
    assert all(np.isin(pull.arms, offered).all() for pull in played.pulls)
    assert np.isin(played.choice.arms, offered).all()
    assert played.n_pulls <= len(offered) * bandit.population


@pytest.mark.parametrize(
    "name", ["uniform", "aggressive", "median", "halving", "kl-lucb", "subset of one"]
)
def test_no_pull_if_there_is_nothing_to_decide(name):
    bandit = FAKES["easy beta"](4)
    played = play(STRATEGIES[name], bandit, arms=bandit.ids[3:4])
    assert played.pulls == []
    assert played.choice.arms == bandit.ids[3]
    assert np.isnan(played.choice.means).all()


@given(
    st.lists(st.floats(-1e3, 1e3), max_size=20),
    st.lists(st.floats(-1e3, 1e3), max_size=20),
)
def test_merged_moments_equal_those_of_all_rows(left, right):
    merged, whole = merge(_moments(left), _moments(right)), _moments(left + right)
    assert merged.count == whole.count
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(merged.spread, whole.spread, rtol=1e-9, atol=1e-6)


def _moments(rewards):
    mean, spread = (np.mean(rewards), np.var(rewards)) if rewards else (0.0, 0.0)
    return Moments(np.array([len(rewards)]), np.array([mean]), np.array([spread]))


def test_top_keeps_the_order_of_equal_means():
    arms, means = top(np.array([9, 4, 7, 1]), np.array([0.5, 0.7, 0.5, 0.7]), 3)
    assert arms.tolist() == [4, 1, 9]
    assert means.tolist() == [0.7, 0.7, 0.5]


def test_choose_all():
    choice = choose_all(np.array([3, 1]))
    assert choice.arms.tolist() == [3, 1]
    assert np.isnan(choice.means).tolist() == [True, True]
