"""Distances along an order are kept and looked up, as far as there is room."""

from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.prefixes import PrefixCoverage, Prefixes, moments_of
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 50, 14
PLENTY = 10**9
STEPS = [(0, 10), (10, 20), (20, 45), (45, 50)]


def prefixes_of(d, weights=None, *, room=PLENTY, seed=0):
    oracle, metric = watched(d, weights)
    return Prefixes(oracle, np.random.default_rng(seed), room=room), oracle, metric


def shown(prefixes, arms, start, stop):
    """Return the distances that `show` passes, one line per arm, each exactly once."""
    found = np.full((len(arms), stop - start), np.nan)

    def visit(matrix, lines, which):
        assert np.isnan(found[which]).all()
        found[which] = matrix[lines]

    prefixes.show(np.asarray(arms), start, stop, visit)
    return found


def true(d, prefixes, arms, start=0, stop=None):
    return d[np.ix_(prefixes.rows[start:stop], arms)].T


@pytest.mark.parametrize("room", [PLENTY, 3000, 0])
def test_distances_are_correct(room):
    d = table(N_TARGET, N_SOURCE)
    prefixes, *_ = prefixes_of(d, room=room)
    random = np.random.default_rng(1)
    for _ in range(4):
        arms = np.arange(N_SOURCE)
        for start, stop in STEPS:
            np.testing.assert_array_equal(
                shown(prefixes, arms, start, stop), true(d, prefixes, arms, start, stop)
            )
            arms = np.sort(random.choice(arms, max(2, len(arms) // 2), replace=False))


def test_nothing_is_computed_twice():
    d = table(N_TARGET, N_SOURCE)
    prefixes, oracle, metric = prefixes_of(d)
    shown(prefixes, [1, 4, 9], 0, 10)
    shown(prefixes, [0, 4, 9, 13], 0, 10)
    shown(prefixes, [4, 9], 10, 20)
    prefixes.column(9)
    prefixes.column(3)
    shown(prefixes, [3, 4, 9], 10, 20)  # arm 3 is known only by its column
    shown(prefixes, [3, 5], 20, 45)
    prefixes.column(9)
    assert max(metric.pairs.values()) == 1
    assert oracle.evaluations.total() == metric.pairs.total()
    assert metric.pairs.total() == 5 * 10 + 2 * 10 + (N_TARGET - 20) + N_TARGET + 25
    assert oracle.lookups.total() == 2 * 10 + 20 + 3 * 10 + 25 + N_TARGET


def test_a_column_is_the_whole_order():
    d = table(N_TARGET, N_SOURCE)
    prefixes, *_ = prefixes_of(d)
    shown(prefixes, np.arange(N_SOURCE), 0, 10)
    for arm in (3, 3, 8):
        np.testing.assert_array_equal(prefixes.column(arm), true(d, prefixes, [arm])[0])


@pytest.mark.parametrize("room", [0, 79, 400, 2000, 3500, 5000, PLENTY])
def test_kept_bytes_never_exceed_the_room(room):
    d = table(N_TARGET, N_SOURCE)
    prefixes, oracle, metric = prefixes_of(d, room=room)
    for _ in range(3):
        for n_arms, (start, stop) in zip((14, 9, 5, 2), STEPS, strict=True):
            shown(prefixes, np.arange(n_arms), start, stop)
        for arm in (1, 6, 13):
            prefixes.column(arm)
        kept = sum(part.matrix.nbytes for part in prefixes._ranges)
        kept += sum(column.nbytes for column in prefixes._columns.values())
        assert kept <= room
    assert oracle.evaluations.total() == metric.pairs.total()
    total_bytes = 8 * (14 * 10 + 9 * 10 + 5 * 25 + 2 * 5 + 3 * N_TARGET)
    assert (metric.pairs.total() == len(metric.pairs)) == (room >= total_bytes)


def test_more_room_keeps_more():
    d, n_computed = table(N_TARGET, N_SOURCE), []
    for room in (0, 400, 800, 1120):
        prefixes, oracle, _ = prefixes_of(d, room=room)
        for _ in range(2):
            shown(prefixes, np.arange(N_SOURCE), 0, 10)
        n_computed.append(oracle.evaluations.total())
    assert n_computed == [280, 230, 180, 140]


def test_other_steps_raise():
    prefixes, *_ = prefixes_of(table(N_TARGET, N_SOURCE))
    shown(prefixes, [1], 0, 10)
    with pytest.raises(AssertionError, match="same steps"):
        shown(prefixes, [1], 0, 12)


def test_rows_are_in_random_order():
    d = table(N_TARGET, N_SOURCE)
    orders = [prefixes_of(d, seed=seed)[0].rows.tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == list(range(N_TARGET)) != orders[2]


def test_rows_without_weight_are_left_out_and_the_mean_weight_is_one():
    d, weights = table(N_TARGET, N_SOURCE), uneven(N_TARGET)
    prefixes, *_ = prefixes_of(d, weights)
    assert sorted(prefixes.rows.tolist()) == np.flatnonzero(weights).tolist()
    assert len(prefixes) == len(prefixes.rows) < N_TARGET
    assert prefixes.weights.mean() == pytest.approx(1)
    np.testing.assert_allclose(
        prefixes.weights / prefixes.weights[0], weights[prefixes.rows] / weights[prefixes.rows[0]]
    )


def test_a_prefix_is_an_unbiased_estimate_of_the_weighted_mean():
    d, weights = table(N_TARGET, 1), uneven(N_TARGET)
    found = []
    for seed in range(2000):
        prefixes, *_ = prefixes_of(d, weights, seed=seed)
        found.append(np.mean(prefixes.weights[:8] * true(d, prefixes, [0], 0, 8)[0]))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - d[:, 0] @ weights / weights.sum()) < 4 * error
    assert abs(np.mean(found) - d[:, 0].mean()) > 4 * error  # the weights make a difference here


def test_moments_of_sums():
    rewards = np.random.default_rng(0).normal(size=(3, 7))
    seen = moments_of(
        np.full(3, 7), rewards.sum(axis=1), (rewards**2).sum(axis=1), np.dtype(np.float32)
    )
    np.testing.assert_allclose(seen.mean, rewards.mean(axis=1))
    np.testing.assert_allclose(seen.spread, rewards.var(axis=1))


def test_squares_that_overflow_make_the_variance_infinite():
    seen = moments_of(np.array([2]), np.array([1e200]), np.array([np.inf]), np.dtype(float))
    assert seen.spread == np.inf
    assert seen.mean == 5e199
    with pytest.raises(ValueError, match=r"overflows float32.*float64"):
        moments_of(np.array([2]), np.array([np.inf]), np.array([np.inf]), np.dtype(np.float32))


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
    assert oracle.lookups == {"build": len(others) * 15, "assign": 15}


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
