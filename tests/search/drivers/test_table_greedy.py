from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.table_greedy import greedy_on_table
from protobandit.search.objectives.coverage import ExactCoverage
from search.objectives.instances import watched


def tabled(d):
    oracle, _ = watched(d)
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
def test_leaders_are_the_picks_of_greedy(k, seed):
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
def test_ties_and_rows_that_gain_nothing_go_as_in_greedy(data):
    n_target, n_source = data.draw(st.integers(1, 10)), data.draw(st.integers(1, 8))
    k = data.draw(st.integers(1, n_source))
    cells = st.lists(st.integers(0, 2), min_size=n_target * n_source, max_size=n_target * n_source)
    d = np.array(data.draw(cells), dtype=float).reshape(n_target, n_source)
    table, weights = tabled(d), np.ones(n_target)
    arms, _ = greedy_on_table(table, weights, k, np.random.default_rng(3))
    same, _ = picked(table, weights, k, seed=3)
    assert arms.tolist() == same.tolist()


def test_what_is_looked_up_is_counted():
    table = tabled(np.random.default_rng(0).random((50, 20)))
    before = table.oracle.lookups.total()
    greedy_on_table(table, np.ones(50), 5, np.random.default_rng(0))
    # All arms twice, each choice once to be made, and whoever was looked at again.
    assert table.oracle.lookups.total() - before >= (20 + 19 + 5 + 4) * 50
