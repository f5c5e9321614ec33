from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import brute
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.posing import pose
from protobandit.run.assessment import assess
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 60, 10
D = table(N_TARGET, N_SOURCE, seed=3)
PROTOTYPES = np.array([7, 2, 9, 0])
WEIGHTS = {"even": None, "uneven": uneven(N_TARGET)}

weighted = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def assessed(weights, n_rows, seed=0, prototypes=PROTOTYPES):
    oracle, metric = watched(D, weights)
    result = assess(oracle, prototypes, n_rows=n_rows, random=np.random.default_rng(seed))
    return result, oracle, metric


@weighted
@pytest.mark.parametrize("n_rows", [N_TARGET, N_TARGET + 1, 10**6])
def test_all_rows_give_the_exact_costs_and_mass(weights, n_rows):
    result, oracle, metric = assessed(weights, n_rows)
    plain = np.ones(N_TARGET) if weights is None else weights
    np.testing.assert_allclose(result.costs, brute.costs(D, plain, PROTOTYPES), rtol=1e-12)
    np.testing.assert_allclose(result.mass, brute.mass(D, plain, PROTOTYPES), atol=1e-12)
    assert (result.error, result.n_rows) == (0.0, N_TARGET)
    assert oracle.evaluations == {"assign": N_TARGET * 4}
    assert metric.pairs.total() == N_TARGET * 4


def test_many_chunks_give_the_same_as_few(monkeypatch):
    few, *_ = assessed(WEIGHTS["uneven"], N_TARGET)
    monkeypatch.setattr("protobandit.oracle.oracle._BLOCK_CELLS", 1)
    monkeypatch.setattr("protobandit.oracle.oracle._PARTS", 7)
    many, *_ = assessed(WEIGHTS["uneven"], N_TARGET)
    np.testing.assert_allclose(many.costs, few.costs, rtol=1e-12)
    np.testing.assert_allclose(many.mass, few.mass, rtol=1e-12)


@weighted
@pytest.mark.parametrize("n_rows", [2, 17, N_TARGET - 1])
def test_a_sample_is_judged_by_its_own_rows(weights, n_rows):
    result, oracle, metric = assessed(weights, n_rows, seed=5)
    rows = draw_rows(N_TARGET, weights, n_rows, np.random.default_rng(5))
    nearest = D[np.ix_(rows, PROTOTYPES)].min(axis=1)
    even = np.ones(n_rows)
    np.testing.assert_allclose(result.costs, brute.costs(D[rows], even, PROTOTYPES), rtol=1e-12)
    np.testing.assert_allclose(result.mass, brute.mass(D[rows], even, PROTOTYPES), atol=1e-12)
    left = 1 - n_rows / N_TARGET if weights is None else 1
    error = np.sqrt(nearest.var(ddof=1) / n_rows * left) or np.nan
    assert result.error == pytest.approx(error, nan_ok=True)
    assert result.n_rows == n_rows
    assert oracle.evaluations == {"assign": n_rows * 4}
    assert metric.pairs.total() == n_rows * 4


def test_the_error_of_one_row_is_unknown():
    result, *_ = assessed(None, 1)
    assert np.isnan(result.error)
    assert len(result.costs) == 4


def test_equal_distances_of_a_sample_do_not_make_its_cost_exact():
    oracle, _ = watched(np.full((N_TARGET, 2), np.sqrt(2)))  # the rounded variance is not 0
    for n_rows, is_exact in ((20, False), (N_TARGET, True)):
        result = assess(oracle, np.array([0]), n_rows=n_rows, random=np.random.default_rng(0))
        assert result.costs == pytest.approx(np.sqrt(2))
        assert result.error == 0 if is_exact else np.isnan(result.error)


def test_the_error_of_a_target_of_one_row_is_zero():
    oracle, _ = watched(D[:1])
    result = assess(oracle, PROTOTYPES, n_rows=1, random=np.random.default_rng(0))
    assert result.error == 0.0
    np.testing.assert_array_equal(result.costs, np.minimum.accumulate(D[0, PROTOTYPES]))


def test_one_prototype_has_all_the_mass():
    result, *_ = assessed(None, N_TARGET, prototypes=np.array([4]))
    assert result.mass.tolist() == [1.0]
    assert result.costs == pytest.approx([D[:, 4].mean()])


def test_a_tie_goes_to_the_earlier_prototype():
    oracle, _ = watched(np.ones((5, 3)))
    result = assess(oracle, np.array([2, 0]), n_rows=5, random=np.random.default_rng(0))
    assert result.mass.tolist() == [1, 0]


@weighted
def test_the_error_has_the_nominal_coverage(weights):
    """About 95 % of intervals of 1.96 errors hold the true cost; few rows and skew cost some."""
    n_seeds, n_rows = 400, 30
    plain = np.ones(N_TARGET) if weights is None else weights
    truth = brute.cost(D, plain, PROTOTYPES)
    oracle, _ = watched(D, weights)
    hits, costs = 0, []
    for seed in range(n_seeds):
        result = assess(oracle, PROTOTYPES, n_rows=n_rows, random=np.random.default_rng(seed))
        hits += abs(result.costs[-1] - truth) <= 1.96 * result.error
        costs.append(result.costs[-1])
    low, high = stats.binom(n_seeds, 0.92).ppf(0.001), stats.binom(n_seeds, 0.97).ppf(0.999)
    assert low <= hits <= high
    assert abs(np.mean(costs) - truth) < 4 * np.std(costs) / np.sqrt(n_seeds)


@pytest.mark.parametrize("n_target", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
@pytest.mark.parametrize("n_rows", [CHUNK + 1, 10**6])
def test_any_number_of_threads_and_chunks_gives_the_same_bits(n_target, n_rows):
    source = brute.normal(20, 40, seed=1, dtype=np.float32)
    target = brute.normal(n_target, 40, seed=2, dtype=np.float32)
    results = []
    for n_jobs in (1, 2, 3):
        oracle = Oracle(pose(source, target, k=1), n_jobs=n_jobs)
        with oracle.at_work():
            random = np.random.default_rng(0)
            results.append(assess(oracle, np.arange(20)[::-1], n_rows=n_rows, random=random))
    for other in results[1:]:
        assert other.costs.tolist() == results[0].costs.tolist()
        assert other.mass.tolist() == results[0].mass.tolist()
        assert other.error == results[0].error
