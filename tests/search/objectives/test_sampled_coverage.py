from __future__ import annotations

import numpy as np
import pytest

from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder, WeightedOrder, WeightedSampler
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.posing import pose
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.sampled_coverage import SampledCoverage
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE, SCALE = 40, 9, 0.8
D = table(N_TARGET, N_SOURCE)  # a fifth is above the scale
ARMS = np.array([1, 2, 4, 5, 7, 8])
WEIGHTS = {"equal": None, "unequal": uneven(N_TARGET)}

weighted = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
with_prototypes = pytest.mark.parametrize("chosen", [[], [0], [0, 3, 6]], ids=str)


def coverage_of(weights=None, chosen=(), scale=SCALE, d=D):
    oracle, metric = watched(d, weights)
    coverage = SampledCoverage.of(oracle, scale=scale)
    return coverage.commit(np.array(chosen, dtype=np.int64)), metric


def rewards(chosen, scale=SCALE, d=D):
    """Return the reward of every source row on every target row, by definition."""
    far = np.full(len(d), scale) if len(chosen) == 0 else d[:, chosen].min(axis=1)
    return np.maximum(np.minimum(far, scale)[:, None] - d, 0).T / scale


def rows_of(weights, seed, n=N_TARGET):
    """Return the rows that a round with this seed reads, in order."""
    random = np.random.default_rng(seed)
    order = (
        RandomOrder(N_TARGET, random)
        if weights is None
        else WeightedOrder(WeightedSampler(weights), random)
    )
    return order.read(0, n)


def opened(coverage, seed=0, arms=ARMS):
    return coverage.open(arms, np.random.default_rng(seed))


# -- moments --------------------------------------------------------------------------------------


@weighted
@with_prototypes
def test_moments_equal_those_of_the_rows_of_the_order(weights, chosen):
    """Arms are pulled in groups that differ between pulls."""
    coverage, _ = coverage_of(weights, chosen)
    round_, seen = opened(coverage, seed=3), dict.fromkeys(ARMS.tolist(), 0)
    rows, truth = rows_of(weights, seed=3), rewards(chosen)
    for arms, n in [([8, 1, 4], 3), ([1], 5), ([2, 5, 7], 8), (ARMS[::-1], 1), ([4, 8, 2], 20)]:
        moments = round_.pull(Pull(np.array(arms), n))
        for i, arm in enumerate(arms):
            seen[int(arm)] += n
            values = truth[arm, rows[: seen[int(arm)]]]
            assert moments.count[i] == seen[int(arm)]
            assert moments.mean[i] == pytest.approx(values.mean(), abs=1e-12)
            assert moments.spread[i] == pytest.approx(values.var(), abs=1e-12)


@weighted
@with_prototypes
@pytest.mark.parametrize("steps", [[N_TARGET], [7, N_TARGET], [N_TARGET - 1, 5], [1000]], ids=str)
def test_at_the_full_population_the_mean_is_exact(weights, chosen, steps):
    coverage, _ = coverage_of(weights, chosen)
    round_ = opened(coverage)
    for n in steps:
        moments = round_.pull(Pull(ARMS, n))
    assert (moments.count == N_TARGET).all()
    truth = np.average(rewards(chosen)[ARMS], axis=1, weights=weights)
    np.testing.assert_allclose(moments.mean, truth, rtol=1e-12)
    np.testing.assert_allclose(coverage.gains(moments.mean), SCALE * truth, rtol=1e-12)
    if weights is None:
        np.testing.assert_allclose(moments.spread, rewards(chosen)[ARMS].var(axis=1), atol=1e-12)
    again = round_.pull(Pull(ARMS, 3))
    np.testing.assert_array_equal(again.mean, moments.mean)
    assert (again.count == N_TARGET).all()


def test_one_target_row():
    coverage, metric = coverage_of(d=D[:1])
    moments = opened(coverage).pull(Pull(ARMS, 1))
    np.testing.assert_allclose(moments.mean, rewards([], d=D[:1])[ARMS, 0])
    assert metric.pairs.total() == len(ARMS)


@weighted
def test_a_new_order_discards_earlier_rows(weights):
    coverage, _ = coverage_of(weights)
    round_ = opened(coverage)
    first = round_.pull(Pull(ARMS, 9))
    moments = round_.pull(Pull(ARMS[:2], 4, new_order=True))
    assert moments.count.tolist() == [4, 4]
    others = round_.pull(Pull(ARMS[2:], 4))
    assert others.count.tolist() == [4] * 4
    assert (round_.pull(Pull(ARMS, 5)).mean != first.mean).all()


@pytest.mark.parametrize(
    ("weights", "n"),
    [(None, 1), (None, 30), (None, 50), (uneven(50), 1), (uneven(50), 49)],
    ids=["equal-1", "equal-30", "equal-50", "unequal-1", "unequal-49"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rewards_of_identical_rows_are_at_most_one(weights, n, dtype):
    """Every distance is 0 and every reward is 1, however the scale is rounded."""
    rows = np.ones((50, 2), dtype=dtype)
    for scale in np.random.default_rng(0).uniform(0.1, 10, size=20):
        oracle = Oracle(pose(rows, rows.copy(), k=1, metric="manhattan", weights=weights), n_jobs=1)
        moments = opened(SampledCoverage.of(oracle, scale=scale)).pull(Pull(ARMS, n))
        assert (moments.mean <= 1).all()
        assert (moments.mean > 1 - 1e-6).all()
        assert (moments.spread < 1e-6).all()


@pytest.mark.parametrize("n", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1, 5000])
@pytest.mark.parametrize("chosen", [[], [2]], ids=str)
def test_ranges_of_any_length_are_contiguous(n, chosen):
    source, target = np.arange(4.0)[:, None], np.random.default_rng(0).uniform(0, 4, size=(n, 1))
    oracle = Oracle(pose(source, target, k=1, metric="manhattan"), n_jobs=1)
    coverage = SampledCoverage.of(oracle, scale=5.0).commit(np.array(chosen, dtype=np.int64))
    arms = np.array([0, 1, 3])
    round_ = coverage.open(arms, np.random.default_rng(0))
    rows = RandomOrder(n, np.random.default_rng(0)).read(0, n)
    truth = rewards(chosen, 5.0, abs(target - source.T))
    round_.pull(Pull(arms[:1], CHUNK - 3))
    round_.pull(Pull(arms[1:], 100))
    for step in (7, CHUNK, n):
        moments = round_.pull(Pull(arms, step))
        for arm, count, mean in zip(arms, moments.count, moments.mean, strict=True):
            assert mean == pytest.approx(truth[arm, rows[:count]].mean(), rel=1e-9)
    assert (moments.count == n).all()


# -- counts ---------------------------------------------------------------------------------------


@weighted
@with_prototypes
def test_a_round_never_computes_a_pair_twice(weights, chosen):
    coverage, metric = coverage_of(weights, chosen)
    round_ = opened(coverage)
    for arms, n in [(ARMS[:3], 10), (ARMS[2:], 15), (ARMS, 12), (ARMS[1:4], N_TARGET), (ARMS, 100)]:
        round_.pull(Pull(arms, n))
        assert set(metric.pairs.values()) == {1}
    n_each = len(ARMS) + len(chosen)
    n_useful = N_TARGET if weights is None else np.count_nonzero(weights)
    assert n_each * n_useful <= metric.pairs.total() <= n_each * N_TARGET
    oracle = coverage.oracle
    assert oracle.evaluations == {"build": metric.pairs.total()}


@weighted
def test_evaluations_equal_calls_over_many_rounds(weights):
    coverage, metric = coverage_of(weights)
    for arm in (0, 3, 6):
        round_ = opened(coverage, seed=arm)
        for is_new in (False, False, True):
            round_.pull(Pull(ARMS, 11, new_order=is_new))
        assert coverage.oracle.evaluations.total() == metric.pairs.total()
        coverage = coverage.commit(np.array([arm]))


@weighted
def test_a_row_read_again_is_compared_only_with_new_prototypes(weights):
    coverage, metric = coverage_of(weights, [0])
    for round_number, arm in enumerate((3, 6)):
        opened(coverage, seed=round_number).pull(Pull(ARMS, 25))
        opened(coverage, seed=round_number + 10).pull(Pull(ARMS, 25))
        coverage = coverage.commit(np.array([arm]))
    opened(coverage).pull(Pull(ARMS, 35))
    for prototype in (0, 3, 6):
        assert {n for (_, s), n in metric.pairs.items() if s == prototype} == {1}
    seen = {t for t, s in metric.pairs if s == 0}
    assert {t for t, s in metric.pairs if s == 6} < seen


def test_repeated_draws_are_looked_up():
    weights = WEIGHTS["unequal"]
    coverage, metric = coverage_of(weights)
    round_ = opened(coverage, seed=1)
    for n in (10, 5, 20):
        round_.pull(Pull(ARMS, n))
    rows = rows_of(weights, seed=1, n=35)
    n_distinct = len(np.unique(rows))
    oracle = coverage.oracle
    assert n_distinct < 35
    assert oracle.evaluations.total() == n_distinct * len(ARMS) == metric.pairs.total()
    assert oracle.lookups.total() == (35 - n_distinct) * len(ARMS)


def test_an_arm_is_compared_only_with_its_own_draws():
    weights = WEIGHTS["unequal"]
    coverage, metric = coverage_of(weights)
    round_ = opened(coverage, seed=1)
    counts = dict(zip(ARMS.tolist(), (30, 4, 11, 1, 30, 17), strict=True))
    for arm, n in counts.items():
        round_.pull(Pull(np.array([arm]), n))
    rows = rows_of(weights, seed=1)
    drawn = {(int(row), arm) for arm, n in counts.items() for row in rows[:n]}
    assert set(metric.pairs) == drawn
    oracle = coverage.oracle
    assert oracle.evaluations.total() + oracle.lookups.total() == sum(counts.values())


def test_rows_without_weight_are_never_drawn():
    weights = WEIGHTS["unequal"]
    coverage, metric = coverage_of(weights)
    for seed in range(5):
        opened(coverage, seed).pull(Pull(ARMS, N_TARGET - 1))
    assert weights[[t for t, _ in metric.pairs]].all()


@weighted
@with_prototypes
def test_clipped_pulls_are_counted(weights, chosen):
    coverage, _ = coverage_of(weights, chosen, scale=0.3)
    opened(coverage, seed=2).pull(Pull(ARMS, 30))
    rows = rows_of(weights, seed=2)[:30]
    d = D[np.ix_(rows, ARMS)]
    is_changed = d > 0.3
    if chosen:
        far = D[np.ix_(rows, chosen)].min(axis=1)[:, None]
        is_changed = (far > 0.3) & (d < far)
    n_counted = sum(coverage.clipped)
    assert 0 < np.count_nonzero(is_changed) <= n_counted
    assert n_counted <= (len(ARMS) * np.count_nonzero(far > 0.3) if chosen else is_changed.sum())
    assert coverage.commit(np.array([8])).clipped is coverage.clipped


def test_a_scale_above_every_distance_clips_nothing():
    coverage, _ = coverage_of(scale=D.max())
    opened(coverage).pull(Pull(ARMS, N_TARGET))
    assert sum(coverage.clipped) == 0


# -- statistics -----------------------------------------------------------------------------------


@weighted
@with_prototypes
def test_means_of_few_rows_are_unbiased(weights, chosen):
    n_seeds, n = 600, 6
    coverage, _ = coverage_of(weights, chosen)
    means = np.array([opened(coverage, seed).pull(Pull(ARMS, n)).mean for seed in range(n_seeds)])
    truth = np.average(rewards(chosen)[ARMS], axis=1, weights=weights)
    error = means.std(axis=0, ddof=1) / np.sqrt(n_seeds)
    assert (abs(means.mean(axis=0) - truth) < 4 * error).all()


def test_gains_are_not_bounds():
    coverage, _ = coverage_of(chosen=[0])
    assert not coverage.is_bounding
    assert coverage.population == N_TARGET
