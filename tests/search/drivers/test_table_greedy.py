from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from protobandit.oracle.tables import FullTable
from protobandit.problem.constraints import Constraints
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.table_greedy import greedy_on_table, order_by_gain
from protobandit.search.objectives.coverage import ExactCoverage
from search.objectives.instances import watched


def tabled(d, fixed=()):
    oracle, _ = watched(d)
    if len(fixed):
        feasibility = Constraints(fixed=fixed).feasibility(d.shape[1])
        oracle.problem = replace(oracle.problem, feasibility=feasibility)
    return FullTable.of(oracle, np.arange(d.shape[1]), oracle.targets(slice(0, len(d))))


def picked(table, weights, k, seed=0):
    random = np.random.default_rng(seed)
    picks = list(
        greedy(
            Lazy(),
            ExactCoverage.over(table, weights),
            feasibility=Feasibility.none(len(table.arms)),
            k=k,
            random=random,
        )
    )
    return (np.concatenate([getattr(pick, name) for pick in picks]) for name in ("arms", "gains"))


@pytest.mark.parametrize("k", [1, 2, 7, 30])
@pytest.mark.parametrize("seed", range(4))
def test_the_arms_are_the_picks_of_greedy(k, seed):
    random = np.random.default_rng(seed)
    d, weights = random.random((60, 30)), random.integers(0, 3, 60) * 1.0
    table = tabled(d)
    arms, gains = greedy_on_table(table, weights, k, np.random.default_rng(0))
    same, drops = picked(table, weights, k)
    assert arms.tolist() == same.tolist()
    np.testing.assert_allclose(gains, drops, rtol=1e-12, atol=1e-15)
    assert arms[: min(k, 7)].tolist() == brute.greedy(d, weights, min(k, 7))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_ties_and_rows_without_gain_are_picked_as_by_greedy(data):
    n_target, n_source = data.draw(st.integers(1, 10)), data.draw(st.integers(1, 8))
    k = data.draw(st.integers(1, n_source))
    cells = st.lists(st.integers(0, 2), min_size=n_target * n_source, max_size=n_target * n_source)
    d = np.array(data.draw(cells), dtype=float).reshape(n_target, n_source)
    table, weights = tabled(d), np.ones(n_target)
    arms, _ = greedy_on_table(table, weights, k, np.random.default_rng(3))
    same, _ = picked(table, weights, k, seed=3)
    assert arms.tolist() == same.tolist()


def test_lookups_are_counted():
    table = tabled(np.random.default_rng(0).random((50, 20)))
    before = table.oracle.lookups.total()
    greedy_on_table(table, np.ones(50), 5, np.random.default_rng(0))
    # All arms twice, each of the others once for its pick, and those that are computed again.
    assert table.oracle.lookups.total() - before >= (20 + 19 + 5 + 4) * 50


def test_constraints_are_satisfied():
    table = tabled(np.random.default_rng(0).random((50, 20)))
    feasibility = Constraints(fixed=[7, 2]).feasibility(20)
    arms, gains = greedy_on_table(table, np.ones(50), 4, np.random.default_rng(0), feasibility)
    assert arms[:2].tolist() == [7, 2]
    assert np.isnan(gains[:2]).all()
    assert (gains[2:] > 0).all()


# -- order -----------------------------------------------------------------------------------------


def ordered(d, weights, members, **options):
    picks = list(
        order_by_gain(
            tabled(d, **options), members, weights, np.random.default_rng(0), is_whole=True
        )
    )
    return np.concatenate([pick.arms for pick in picks]).tolist(), picks


@pytest.mark.parametrize("k", [1, 4, 17])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_order_is_that_of_greedy(is_weighted, k):
    random = np.random.default_rng(3)
    d = random.random((40, 17))
    weights = random.integers(0, 4, 40) * 1.0 if is_weighted else np.ones(40)
    members = random.permutation(17)[:k]
    arms, picks = ordered(d, weights, members)
    own = sorted(members)
    sure = [own[i] for i in brute.greedy(d[:, own], weights, k)]
    assert arms[: len(sure)] == sure
    assert sorted(arms) == own
    costs = picks[-1].objective.costs
    np.testing.assert_allclose(costs, brute.costs(d, weights, arms))
    np.testing.assert_allclose(picks[-1].objective.mass, brute.mass(d, weights, arms))
    drops = -np.diff(costs)
    assert all(after <= before + 1e-12 for before, after in pairwise(drops))
    assert all(pick.before is None for pick in picks)


@pytest.mark.parametrize("fixed", [(), (7, 2)])
def test_the_order_on_a_part_of_the_target_is_the_same(fixed):
    random = np.random.default_rng(1)
    d, weights, members = random.random((40, 17)), np.ones(40), np.array([2, 9, 4, 7, 11])
    table = tabled(d, fixed=fixed)
    arms, picks = ordered(d, weights, members, fixed=fixed)
    spent = table.oracle.evaluations.total()
    part = list(order_by_gain(table, members, weights, random, is_whole=False))
    assert [int(pick.arms[0]) for pick in part] == arms
    assert all(pick.objective is None for pick in part)
    gains = np.concatenate([pick.gains for pick in picks])
    np.testing.assert_allclose([pick.gains[0] for pick in part], gains, rtol=1e-12)
    assert table.oracle.evaluations.total() == spent


def test_fixed_prototypes_come_first():
    d, weights = np.random.default_rng(0).random((40, 17)), np.ones(40)
    arms, picks = ordered(d, weights, np.array([2, 9, 4, 7]), fixed=[7, 2])
    first, second = ([7, 2, *rest] for rest in ([9, 4], [4, 9]))
    assert arms == min(first, second, key=lambda some: brute.cost(d, weights, some[:3]))
    np.testing.assert_allclose(picks[-1].objective.costs, brute.costs(d, weights, arms))
