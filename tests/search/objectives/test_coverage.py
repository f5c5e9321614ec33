from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit import InvalidInput
from protobandit.metrics.metrics import metric as named_metric
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.posing import pose
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.coverage import ExactCoverage
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 31, 12
D = table(N_TARGET, N_SOURCE)
PICKS = [4, 0, 11, 7]

weighted = pytest.mark.parametrize(
    "weights", [None, uneven(N_TARGET), np.arange(N_TARGET)], ids=["equal", "unequal", "integers"]
)


def pulled(coverage, arms):
    return coverage.pull(Pull(np.asarray(arms), coverage.population))


def advance(coverage, picks):
    """Yield the coverage before the first of ``picks`` and after each."""
    yield coverage
    for pick in picks:
        coverage = coverage.commit(np.array([pick]))
        yield coverage


@weighted
@pytest.mark.parametrize("is_kept", [False, True])
def test_gains_costs_and_mass_equal_brute_force(weights, is_kept):
    oracle, _ = watched(D, weights)
    if is_kept:
        oracle.keep()
    plain = np.ones(N_TARGET) if weights is None else weights
    for n, coverage in enumerate(advance(ExactCoverage.of(oracle), PICKS)):
        chosen = PICKS[:n]
        rest = [i for i in range(N_SOURCE) if i not in chosen][::-1]
        moments = pulled(coverage, rest)
        np.testing.assert_allclose(moments.mean, brute.gains(D, plain, chosen)[rest], rtol=1e-9)
        assert (moments.count == N_TARGET).all()
        assert (moments.spread == 0).all()
        assert coverage.prototypes.tolist() == chosen
        np.testing.assert_allclose(coverage.costs, brute.costs(D, plain, chosen), rtol=1e-12)
        if chosen:
            np.testing.assert_allclose(coverage.mass, brute.mass(D, plain, chosen), atol=1e-12)
            np.testing.assert_array_equal(coverage.nearest, D[:, chosen].min(axis=1))
            np.testing.assert_array_equal(coverage.labels, D[:, chosen].argmin(axis=1))


def test_several_arms_may_be_committed_at_once():
    at_once = ExactCoverage.of(watched(D)[0]).commit(np.array(PICKS))
    *_, one_by_one = advance(ExactCoverage.of(watched(D)[0]), PICKS)
    assert at_once.costs == one_by_one.costs
    np.testing.assert_array_equal(at_once.labels, one_by_one.labels)


def test_coverage_is_a_value():
    coverage = ExactCoverage.of(watched(D)[0]).commit(np.array([3]))
    nearest, labels = coverage.nearest.copy(), coverage.labels.copy()
    branches = [coverage.commit(np.array([arm])) for arm in (1, 2)]
    np.testing.assert_array_equal(coverage.nearest, nearest)
    np.testing.assert_array_equal(coverage.labels, labels)
    for branch, arm in zip(branches, (1, 2), strict=True):
        np.testing.assert_array_equal(branch.nearest, D[:, [3, arm]].min(axis=1))


def test_ties_are_assigned_to_the_earlier_prototype():
    coverage = ExactCoverage.of(watched(np.ones((5, 3)))[0]).commit(np.array([2, 0]))
    assert coverage.labels.tolist() == [0] * 5
    assert coverage.mass.tolist() == [1, 0]


@pytest.mark.parametrize("is_kept", [False, True])
def test_distances_are_computed_once_per_pass_or_once_if_kept(is_kept):
    oracle, metric = watched(D)
    if is_kept:
        oracle.keep()
    coverage = ExactCoverage.of(oracle)
    pulled(coverage, range(N_SOURCE))
    coverage = coverage.commit(np.array([3]))
    pulled(coverage, range(N_SOURCE))
    n = N_SOURCE * N_TARGET
    expected = {"build": n} if is_kept else {"build": 2 * n, "assign": N_TARGET}
    assert oracle.evaluations == expected
    assert oracle.lookups == ({"build": n, "assign": N_TARGET} if is_kept else {})
    assert metric.pairs.total() == sum(expected.values())


def test_gains_are_bounds_after_the_first_prototype():
    coverage = ExactCoverage.of(watched(D)[0])
    assert not coverage.is_bounding
    assert coverage.commit(np.array([0])).is_bounding


def test_pulls_must_be_for_the_whole_target():
    with pytest.raises(AssertionError):
        ExactCoverage.of(watched(D)[0]).pull(Pull(np.array([0]), N_TARGET - 1))


# -- rounding -------------------------------------------------------------------------------------


def large(dtype, n_columns, n_target=CHUNK + 500, n_source=60):
    target = brute.normal(n_target, n_columns, seed=5, dtype=dtype)
    return brute.normal(n_source, n_columns, seed=6, dtype=dtype), target


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [3, 30])
@pytest.mark.parametrize("weights", [None, uneven(CHUNK + 500)], ids=["equal", "unequal"])
def test_gains_never_grow_even_by_rounding(dtype, n_columns, weights):
    problem = pose(*large(dtype, n_columns), k=1, weights=weights)
    oracle = Oracle(problem, n_jobs=1)
    oracle.keep()
    all_arms = np.arange(60)
    with oracle.at_work():
        pulled(ExactCoverage.of(oracle), all_arms)
        before = np.full(60, np.inf)
        for coverage in list(advance(ExactCoverage.of(oracle), range(0, 60, 4)))[1:]:
            gains = pulled(coverage, all_arms).mean
            assert (gains <= before).all()
            assert (gains[coverage.prototypes] == 0).all()
            few = np.array([7, 50, 3])
            np.testing.assert_array_equal(pulled(coverage, few).mean, gains[few])
            before = gains


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_kept_distances_by_differences_give_the_same_bits(dtype, metric):
    problem = pose(*large(dtype, 3), k=1, metric=metric)
    answers = []
    for is_kept in (False, True):
        oracle = Oracle(problem, n_jobs=2)
        if is_kept:
            oracle.keep()
        coverages = list(advance(ExactCoverage.of(oracle), [5, 17, 40]))
        answers.append([pulled(c, np.arange(60)).mean.tolist() for c in coverages])
        answers[-1].append(coverages[-1].costs)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kept_distances_by_products_agree_up_to_rounding(dtype):
    problem = pose(*large(dtype, 30), k=1)
    gains = []
    for is_kept in (False, True):
        oracle = Oracle(problem, n_jobs=2)
        if is_kept:
            oracle.keep()
        with oracle.at_work():
            pulled(ExactCoverage.of(oracle), np.arange(60))
            coverage = ExactCoverage.of(oracle).commit(np.array([5, 17]))
            gains.append(pulled(coverage, np.arange(60)).mean)
    np.testing.assert_allclose(*gains, rtol=0, atol=1e-6 * coverage.costs[-1])


def test_message_if_the_metric_overflows():
    metric = named_metric("seuclidean", {"V": [1e-320]})
    coverage = ExactCoverage.of(Oracle(pose([[-1.0], [1.0]], k=1, metric=metric), n_jobs=1))
    with np.errstate(over="ignore"), pytest.raises(InvalidInput, match="overflows float64"):
        pulled(coverage, [0, 1])
