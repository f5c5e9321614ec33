"""The guarantees: over many bandits, wrong choices are not more frequent than ``delta``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.contract import Choice, Pull, Strategy
from protobandit.search.arms.kl_lucb import KLLUCB
from protobandit.search.arms.median_elimination import MedianElimination
from protobandit.search.arms.sequential_halving import SequentialHalving
from protobandit.search.arms.uniform import Uniform
from search.arms.fakes import apart, bernoulli, beta, play

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
    "kl-lucb": KLLUCB(nu=NU, delta=DELTA, early_stop=False),
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
