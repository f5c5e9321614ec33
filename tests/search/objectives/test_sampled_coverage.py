from __future__ import annotations

import itertools

import numpy as np
import pytest

from protobandit import block_metric
from protobandit.foundation.endless import ENDLESS
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder, WeightedOrder, WeightedSampler
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.posing import pose
from protobandit.rows.streams import Stream, StreamEnded, StreamReader, StreamRows
from protobandit.search.arms.contract import Pull, Terms
from protobandit.search.arms.kl_lucb import KLLUCB
from protobandit.search.arms.uniform import Uniform
from protobandit.search.drivers.greedy import run_round
from protobandit.search.objectives import sampled_coverage
from protobandit.search.objectives.sampled_coverage import SampledCoverage, StreamedCoverage
from search.objectives.instances import Seen, table, uneven, watched

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


# -- streams --------------------------------------------------------------------------------------


def streamed(batches, chosen=(), d=D, n_first=2, scale=SCALE):
    """Return the coverage of a stream of rows of the table; the first ones are not sampled."""
    metric = Seen(d)
    reader = StreamReader(Stream(batches), takes_objects=True)
    first = reader.read(n_first)
    target = StreamRows(rows=first, fresh=None, n_read=n_first, reader=reader)
    oracle = Oracle(pose(list(range(d.shape[1])), target, k=1, metric=metric), n_jobs=1)
    coverage = SampledCoverage.of(oracle, scale=scale)
    return coverage.commit(np.array(chosen, dtype=np.int64)), metric


def drawn(n, seed=1, n_rows=N_TARGET):
    """Return ``n`` rows of the table, drawn independently."""
    return np.random.default_rng(seed).integers(n_rows, size=n).tolist()


@with_prototypes
@pytest.mark.parametrize("n_shared", [1, 10, 10_000])
def test_arms_share_the_first_rows_of_a_stream_and_read_later_rows_of_their_own(
    chosen, n_shared, monkeypatch
):
    monkeypatch.setattr(sampled_coverage, "_SHARED_ROWS", n_shared)
    rows, truth = drawn(200), rewards(chosen)
    coverage, metric = streamed([rows[:50], rows[50:]], chosen)
    assert isinstance(coverage, StreamedCoverage)
    assert coverage.population == ENDLESS
    round_ = opened(coverage)
    own, shared, at = {int(arm): [] for arm in ARMS}, [], 2
    n_pulls, n_far = 0, 0
    for arms, n in [([8, 1, 4], 3), ([1], 5), ([2, 5, 7], 8), (ARMS[::-1], 1), ([4, 8, 2], 20)]:
        starts = sorted({len(own[int(arm)]) for arm in arms})
        group_rows = {}
        for start in starts:
            read = []
            for position in range(start, start + n):
                if position < min(n_shared, len(shared)):
                    read.append(shared[position])
                    continue
                read.append(rows[at])
                if position < n_shared:
                    shared.append(rows[at])
                at, n_far = at + 1, n_far + len(chosen)
            group_rows[start] = read
        starts = {int(arm): len(own[int(arm)]) for arm in arms}
        moments = round_.pull(Pull(np.array(arms), n))
        n_pulls += n * len(arms)
        for i, arm in enumerate(arms):
            own[int(arm)] += group_rows[starts[int(arm)]]
            values = truth[arm, own[int(arm)]]
            assert moments.count[i] == len(values)
            assert moments.mean[i] == pytest.approx(values.mean(), abs=1e-12)
            assert moments.spread[i] == pytest.approx(values.var(), abs=1e-12)
    assert coverage.oracle.problem.stream.n_read == at
    assert coverage.oracle.counts.pulls == n_pulls
    assert metric.pairs.total() == coverage.oracle.counts.total == n_pulls + n_far


def test_a_new_order_and_a_new_round_read_new_rows():
    rows = drawn(100)
    coverage, _ = streamed([rows])
    round_, truth = opened(coverage), rewards([])
    for at in (2, 7):
        moments = round_.pull(Pull(ARMS, 5, new_order=True))
        np.testing.assert_allclose(moments.mean, truth[ARMS][:, rows[at : at + 5]].mean(axis=1))
    coverage = coverage.commit(np.array([0]))
    moments = opened(coverage).pull(Pull(ARMS, 9))
    expected = rewards([0])[ARMS][:, rows[12:21]].mean(axis=1)
    np.testing.assert_allclose(moments.mean, expected)


def test_a_pull_beyond_the_end_of_a_stream_raises():
    coverage, _ = streamed([drawn(20)])
    round_ = opened(coverage)
    round_.pull(Pull(ARMS, 18))
    with pytest.raises(StreamEnded):
        round_.pull(Pull(ARMS, 1))


def test_the_state_of_a_stream_is_how_far_it_was_read():
    rows = drawn(100)
    coverage, _ = streamed([rows])
    opened(coverage).pull(Pull(ARMS, 30))
    state = coverage.state()
    again, _ = streamed([rows])
    again.restore(state)
    assert again.oracle.problem.stream.n_read == 32
    assert again.oracle.counts.pulls == 30 * len(ARMS)
    moments = opened(again).pull(Pull(ARMS, 4))
    np.testing.assert_allclose(moments.mean, rewards([])[ARMS][:, rows[32:36]].mean(axis=1))


NO_COUNTS = np.array([-1]), np.array([1.5]), np.ones(2, int)


def test_a_state_that_was_modified_is_refused():
    coverage, _ = streamed([drawn(100)])
    opened(coverage).pull(Pull(ARMS, 30))
    state = {
        **coverage.state(),
        "ids": np.array([2, 5]),
        "nearest": np.ones(2, coverage.oracle.dtype),
        "applied": np.ones(2, int),
    }
    coverage.restore(state)
    wrong = {
        "ids": [np.array([5, 2]), np.array([2, 2]), np.array([-1, 2]), np.array([2.0, 5.0])],
        "nearest": [np.ones(2, int), np.ones(3, coverage.oracle.dtype)],
        "applied": [-np.ones(2, int), np.ones(2), np.ones(1, int)],
        **dict.fromkeys(("clipped", "pulls", "rows_read"), NO_COUNTS),
    }
    for name, every in wrong.items():
        for array in every:
            with pytest.raises(InvalidInput, match="checkpoint holds sampled rows"):
                coverage.restore({**state, name: array})


NU, DELTA, N_RUNS = 0.15, 0.1, 40


def n_failures(strategy, n_distinct):
    """Return how often the chosen arm is more than ``NU`` below the best of the distribution.

    The stream repeats its first ``n_distinct`` rows, which are drawn independently.
    """
    share = np.where(np.arange(30) == 17, 0.4, 0.65)  # arm 17 is the best, all others are bad
    d = (np.random.default_rng(5).random((400, 30)) < share).astype(float)
    truth, arms = rewards([], 1.0, d).mean(axis=1), np.arange(30)
    metric = block_metric(lambda t, s: d[np.ix_(t[:, 0].astype(int), s[:, 0].astype(int))])
    failures = 0
    for seed in range(N_RUNS):
        rows = np.array(drawn(n_distinct, seed, 400), dtype=float)[:, None]
        batches = Stream(lambda rows=rows: itertools.repeat(rows))
        reader = StreamReader(batches, takes_objects=True)
        first = StreamRows(rows=reader.read(2), fresh=None, n_read=2, reader=reader)
        problem = pose(arms[:, None].astype(float), first, k=1, metric=metric)
        coverage = SampledCoverage.of(Oracle(problem, n_jobs=1), scale=1.0)
        terms = Terms(coverage.population, random=np.random.default_rng(seed))
        choice = run_round(strategy, arms, coverage, terms)
        assert choice.is_proven
        failures += bool(truth[choice.arms[0]] < truth.max() - NU)
    return failures


@pytest.mark.parametrize(
    "strategy",
    [KLLUCB(nu=NU, delta=DELTA, early_stop=False), Uniform(nu=NU, delta=DELTA)],
    ids=["kl-lucb", "uniform"],
)
def test_choices_are_within_nu_for_the_distribution_of_the_stream(strategy, monkeypatch):
    """At most 4 failures are expected; rows that are not independent draws are detected."""
    monkeypatch.setattr(sampled_coverage, "_SHARED_ROWS", 64)
    assert n_failures(strategy, 100_000) <= 4
    assert n_failures(strategy, 6) > 20
