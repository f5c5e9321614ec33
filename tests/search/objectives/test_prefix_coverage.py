from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.prefix_coverage import PrefixCoverage
from protobandit.search.objectives.prefixes import Prefixes
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 40, 12
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["equal", "unequal"])
ARMS = np.arange(N_SOURCE)


def coverage_of(d, weights=None, *, k=4, room=10**9):
    oracle, metric = watched(d, weights)
    prefixes = Prefixes(oracle, np.random.default_rng(0), room=room)
    return PrefixCoverage.of(prefixes, k), oracle, metric


@weighted
@pytest.mark.parametrize("chosen", [[], [3], [3, 7, 5]])
def test_at_the_end_of_the_order_gains_are_exact(is_weighted, chosen):
    d = table(N_TARGET, N_SOURCE)
    weights = uneven(N_TARGET) if is_weighted else None
    coverage, *_ = coverage_of(d, weights)
    coverage = coverage.commit(np.array(chosen, dtype=np.int64))
    others = np.setdiff1d(ARMS, chosen)
    round_ = coverage.open(others, np.random.default_rng(0))
    round_.pull(Pull(others, 10))
    seen = round_.pull(Pull(others, coverage.population - 10))
    q = brute.even(N_TARGET) if weights is None else weights
    np.testing.assert_allclose(seen.mean, brute.gains(d, q, chosen)[others], rtol=1e-12)
    assert (seen.count == coverage.population).all()


@weighted
def test_moments_equal_those_of_the_rows_read(is_weighted):
    d = table(N_TARGET, N_SOURCE)
    coverage, *_ = coverage_of(d, uneven(N_TARGET) if is_weighted else None)
    coverage = coverage.commit(np.array([3, 7]))
    rows, weights = coverage.prefixes.rows[:12], coverage.prefixes.weights[:12]
    arms = np.array([9, 0, 5])  # unsorted
    round_ = coverage.open(arms, np.random.default_rng(0))
    round_.pull(Pull(arms, 8))
    seen = round_.pull(Pull(arms, 4))
    nearest = d[np.ix_(rows, [3, 7])].min(axis=1)
    rewards = weights * np.maximum(nearest - d[np.ix_(rows, arms)].T, 0)
    np.testing.assert_allclose(seen.mean, rewards.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(seen.spread, rewards.var(axis=1), rtol=1e-9)
    assert seen.count.tolist() == [12, 12, 12]


def test_later_rounds_look_up_what_the_first_computed():
    coverage, oracle, metric = coverage_of(table(N_TARGET, N_SOURCE))
    coverage.open(ARMS, np.random.default_rng(0)).pull(Pull(ARMS, 15))
    assert oracle.evaluations == {"build": N_SOURCE * 15}
    after = coverage.commit(np.array([2]))
    assert oracle.evaluations == {"build": N_SOURCE * 15, "assign": N_TARGET - 15}
    others = np.delete(ARMS, 2)
    after.open(others, np.random.default_rng(0)).pull(Pull(others, 15))
    assert oracle.evaluations.total() == metric.pairs.total() == N_SOURCE * 15 + N_TARGET - 15
    assert oracle.lookups == {"build": 11 * 15, "assign": 15}


def test_commit_keeps_one_line_per_prototype():
    d = table(N_TARGET, N_SOURCE)
    empty, *_ = coverage_of(d)
    coverage = empty.commit(np.array([4])).commit(np.array([1, 9]))
    order = coverage.prefixes.rows
    np.testing.assert_array_equal(coverage.matrix[:3], d[np.ix_(order, [4, 1, 9])].T)
    np.testing.assert_array_equal(coverage.nearest, d[np.ix_(order, [4, 1, 9])].min(axis=1))
    assert coverage.prototypes.tolist() == [4, 1, 9]
    assert len(empty.prototypes) == 0
    assert np.isinf(empty.nearest).all()


def test_nothing_is_computed_if_every_row_is_at_a_prototype():
    d = table(N_TARGET, N_SOURCE)
    d[:, 6] = 0
    coverage, oracle, _ = coverage_of(d)
    assert not coverage.is_bounding
    coverage = coverage.commit(np.array([6]))
    assert coverage.is_bounding
    spent = oracle.evaluations.total(), oracle.lookups.total()
    seen = coverage.open(ARMS, np.random.default_rng(0)).pull(Pull(ARMS, 3))
    assert (seen.mean == 0).all()
    assert (seen.count == N_TARGET).all()
    assert spent == (oracle.evaluations.total(), oracle.lookups.total())
