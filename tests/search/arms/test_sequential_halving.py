from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from protobandit.search.arms.elimination import planned_pulls
from protobandit.search.arms.sequential_halving import SequentialHalving
from search.arms.fakes import Bandit, apart, bernoulli, play


def test_plan():
    """Five arms need three rounds of five, three and two arms, which share the budget."""
    plan = SequentialHalving(nu=0.4, delta=0.1).plan(5)
    roots = math.sqrt(5) + math.sqrt(3) + math.sqrt(2)
    budget = 2 * 3 * math.log(2 * 3 / 0.1) * roots**2 / 0.4**2
    assert [(stage.n_arms, stage.n_keep) for stage in plan] == [(5, 3), (3, 2), (2, 1)]
    assert [stage.n_rows for stage in plan] == [math.ceil(budget / 3 / n) for n in (5, 3, 2)]


@pytest.mark.parametrize("n_arms", [2, 3, 8, 33, 1000])
@pytest.mark.parametrize("nu", [0.9, 0.1])
@pytest.mark.parametrize("delta", [0.3, 0.01])
def test_the_rows_are_enough_for_the_proof(n_arms, nu, delta):
    """The tolerances that the rows of each round allow sum to nearly nu, and not to more."""
    plan = SequentialHalving(nu=nu, delta=delta).plan(n_arms)
    odds = 2 * len(plan) / delta
    tolerances = [math.sqrt(2 * math.log(odds) / stage.n_rows) for stage in plan]
    assert 0.9 * nu < sum(tolerances) <= nu * (1 + 1e-12)


@pytest.mark.parametrize("nu", [0.9, 0.3, 0.01])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-6])
def test_cost_is_below_its_bound(nu, delta):
    for n_arms in [*range(2, 300), 10**4, 10**5, 10**6]:
        rounds = math.ceil(math.log2(n_arms))
        n = 2**rounds
        bound = 24 * n * rounds / nu**2 * math.log(2 * rounds / delta) + 2 * n
        assert planned_pulls(SequentialHalving(nu=nu, delta=delta).plan(n_arms)) <= bound


def test_every_round_has_the_same_budget():
    plan = SequentialHalving(nu=0.1, delta=0.05).plan(64)
    spent = [stage.n_arms * stage.n_rows for stage in plan]
    assert len(plan) == 6
    assert max(spent) - min(spent) <= 64


@pytest.mark.parametrize("gap", [0.82, 0.9])
def test_the_best_arm_is_found_more_often_than_guaranteed(gap):
    strategy = SequentialHalving(nu=0.8, delta=0.3)
    played = [play(strategy, bernoulli(apart(8, gap), 2000, seed), seed=seed) for seed in range(60)]
    assert all(p.n_pulls < 8 * 2000 for p in played), "exact: nothing is put to the test"
    n_wrong = sum(
        int(p.choice.arms[0]) != int(bernoulli(apart(8, gap), 2000, s).ids[4])
        for s, p in enumerate(played)
    )
    assert n_wrong <= binom.ppf(0.9999, 60, 0.3)
    assert n_wrong == 0, "a gap this large is seen on hundreds of rows"


def test_each_round_reads_new_rows():
    """An arm that is good only on the first rows of one order must not survive by these."""
    bandit = Bandit.of(np.tile([[0.2], [0.9], [0.5], [0.4]], (1, 500)))
    played = play(SequentialHalving(nu=0.9, delta=0.4), bandit)
    assert all(pull.new_order for pull in played.pulls)
    assert [len(pull.arms) for pull in played.pulls] == [4, 2]
    assert played.choice.arms == bandit.ids[1]
    assert played.choice.means == pytest.approx(0.9)
