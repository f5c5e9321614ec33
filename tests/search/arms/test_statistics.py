"""The guarantees: over many bandits, wrong choices are not more frequent than ``delta``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from protobandit.search.arms import kl_lucb
from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.contract import Choice, Pull, Strategy
from protobandit.search.arms.kl_lucb import KLLUCB
from protobandit.search.arms.median_elimination import MedianElimination
from protobandit.search.arms.sequential_halving import SequentialHalving
from protobandit.search.arms.uniform import Uniform
from search.arms.fakes import Bandit, apart, bernoulli, beta, play

DELTA = 0.2
N_BANDITS = 120
N_ARMS = 40
POPULATION = 3000
NU = 0.3


@dataclass(frozen=True)
class Deaf:
    """Pull, and choose without using the rewards."""

    def identify(self, arms, terms, bounds=None):
        yield Pull(arms, 1)
        return Choice(arms[terms.random.permutation(len(arms))[: terms.picks]], np.zeros(1))


def refute(strategy: Strategy, bandits: Iterator, nu: float, picks: int = 1, share: int = 1):
    """Raise AssertionError if there are too many failures for a probability of ``DELTA``."""
    failures = 0
    for seed, bandit in enumerate(bandits):
        played = play(strategy, bandit, picks=picks, seed=seed, share=share)
        assert played.n_pulls < bandit.rewards.size, "exact: nothing is put to the test"
        assert played.choice.is_proven
        failures += not bandit.is_within(played.choice, nu)
    most = binom.ppf(0.9999, N_BANDITS, DELTA)
    assert failures <= most, f"{failures} failures"


def hard(make, nu, n_arms=N_ARMS, picks=1):
    """Yield bandits whose other arms are all slightly more than ``nu`` below the good ones."""
    means = apart(n_arms, nu + 0.01, picks)
    return (make(means, POPULATION, seed) for seed in range(N_BANDITS))


FOR_ONE = {
    "uniform": Uniform(nu=NU, delta=DELTA),
    "aggressive": AggressiveElimination(nu=NU, delta=DELTA),
    "kl-lucb": KLLUCB(nu=NU, delta=DELTA),
}


@pytest.mark.parametrize("make", [bernoulli, beta])
@pytest.mark.parametrize("name", FOR_ONE)
def test_failures_are_rare(name, make):
    refute(FOR_ONE[name], hard(make, NU), NU)


@pytest.mark.parametrize("strategy", [MedianElimination, SequentialHalving])
def test_failures_are_rare_with_many_pulls(strategy):
    nu = 0.8
    refute(strategy(nu=nu, delta=DELTA), hard(bernoulli, nu, n_arms=8), nu)


@pytest.mark.parametrize("make", [bernoulli, beta])
@pytest.mark.parametrize("name", ["uniform", "kl-lucb"])
def test_failures_are_rare_with_several_picks(name, make):
    refute(FOR_ONE[name], hard(make, NU, picks=4), NU, picks=4)


@pytest.mark.parametrize("name", FOR_ONE)
def test_a_fiftieth_of_the_rows_is_refuted(name):
    with pytest.raises(AssertionError, match="failures"):
        refute(FOR_ONE[name], hard(bernoulli, NU), NU, share=50)


@pytest.mark.parametrize("picks", [1, 4])
def test_choosing_without_the_rewards_is_refuted(picks):
    with pytest.raises(AssertionError, match="failures"):
        refute(Deaf(), hard(bernoulli, NU, picks=picks), NU, picks=picks)


# -- KL-LUCB on hostile bandits --------------------------------------------------------------------

SMALL_NU = 0.1
GAP = 0.11
ROWS = 1200
FROM_ONE = KLLUCB(nu=SMALL_NU, delta=DELTA, batch=1)
BY_DEFAULT = KLLUCB(nu=SMALL_NU, delta=DELTA)


def pocket(seed, n_arms=2):
    """Only the best arm has rewards, all of them on one small part of the target.

    It is the last arm, so that it does not win ties.
    """
    return bernoulli(np.r_[np.zeros(n_arms - 1), GAP], ROWS, seed)


def copies(seed):
    """All other arms are the same arm, so they are overestimated together."""
    two = bernoulli([0.3, 0.3 + GAP], ROWS, seed)
    return Bandit.of(two.rewards[np.r_[np.zeros(20, dtype=int), 1]])


def rare_against_constant(seed):
    """The best arm is rarely rewarded, the others always, but little less on average."""
    best = bernoulli([0.05 + GAP], ROWS, seed).rewards
    return Bandit.of(np.vstack([np.full((5, ROWS), 0.05), best]))


def heavy_tailed(seed):
    """Rewards are powers of uniform numbers: most are near 0, a few near 1."""
    return beta(np.r_[np.full(9, 0.04), 0.04 + GAP], ROWS, seed)


def repeated_rows(seed):
    """Thirty different target rows, each forty times."""
    bandit = bernoulli(apart(8, GAP + 0.04), 30, seed)
    return Bandit.of(np.repeat(bandit.rewards, ROWS // 30, axis=1))


HOSTILE = {
    "pocket": pocket,
    "pocket and many arms": lambda seed: pocket(seed, n_arms=30),
    "copies": copies,
    "rare against constant": rare_against_constant,
    "heavy-tailed": heavy_tailed,
    "repeated rows": repeated_rows,
}


@pytest.mark.parametrize("family", HOSTILE)
@pytest.mark.parametrize("strategy", [FROM_ONE, BY_DEFAULT], ids=["from one row", "by default"])
def test_failures_of_kl_lucb_are_rare_on_hostile_bandits(strategy, family):
    refute(strategy, map(HOSTILE[family], range(N_BANDITS)), SMALL_NU)


@dataclass(frozen=True)
class Hasty:
    """Choose after three rows, and say that the choice is proven."""

    def identify(self, arms, terms, bounds=None):
        seen = yield Pull(arms, 3)
        best = int(seen.mean.argmax())
        return Choice(arms[best : best + 1], seen.mean[best : best + 1])


@pytest.mark.parametrize("family", HOSTILE)
def test_choosing_after_three_rows_is_refuted(family):
    with pytest.raises(AssertionError, match="failures"):
        refute(Hasty(), map(HOSTILE[family], range(N_BANDITS)), SMALL_NU)


@pytest.mark.parametrize("family", HOSTILE)
def test_bounds_that_are_too_narrow_are_refuted(family, monkeypatch):
    """The same search, which says that it is proven, with a hundredth of the rates."""
    rates = kl_lucb.exploration_rates
    monkeypatch.setattr(kl_lucb, "exploration_rates", lambda *given: 0.01 * rates(*given))
    with pytest.raises(AssertionError, match="failures"):
        refute(FROM_ONE, map(HOSTILE[family], range(N_BANDITS)), SMALL_NU)
