"""The rigorous bound: its formulas, recomputed from all distances and from the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from protobandit.certificate import rigorous
from protobandit.certificate.rigorous import Assignment, assign_target, rigorous_bound
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose

N_SOURCE, N_TARGET, N_ROWS = 9, 300, 40
PROTOTYPES = np.array([4, 0, 7])


@pytest.fixture(params=[False, True], ids=["equal weights", "weights"])
def problem(request):
    random = np.random.default_rng(0)
    target = random.normal(size=(N_TARGET, 2)) ** 3
    weights = random.exponential(size=N_TARGET) if request.param else None
    return pose(target[:N_SOURCE], target, k=3, weights=weights)


@pytest.fixture
def distances(problem):
    target = problem.target.take(np.arange(N_TARGET))
    return cdist(target, target[:N_SOURCE])


def shares(problem):
    return np.full(N_TARGET, 1 / N_TARGET) if problem.weights is None else problem.target_weights


def assignment_of(problem):
    with Oracle(problem).at_work():
        return assign_target(Oracle(problem), PROTOTYPES)


def test_the_assignment_of_a_target(problem, distances):
    own, found = distances[:, PROTOTYPES], assignment_of(problem)
    weights = shares(problem) / shares(problem).sum()
    np.testing.assert_allclose(found.nearest, own.min(axis=1), atol=1e-12)
    np.testing.assert_array_equal(found.labels, own.argmin(axis=1))
    np.testing.assert_allclose(found.contrast, own[:, ::2].min(axis=1) - own[:, 1], atol=1e-12)
    np.testing.assert_allclose(found.weights, weights)
    assert found.cost == pytest.approx(weights @ own.min(axis=1))
    np.testing.assert_allclose(found.units, (own.min(axis=1) + found.cost) / 2, atol=1e-12)
    squares = np.minimum((found.contrast / found.units) ** 2, 1)
    expected = (weights * found.units * squares).sum() / (weights * found.units).sum() / 3
    assert found.variance == pytest.approx(expected)


def test_drawn_rows_have_equal_weights(problem, distances):
    oracle, rows = Oracle(problem), np.array([5, 5, 2])
    with oracle.at_work():
        found = assign_target(oracle, PROTOTYPES[:1], rows)
    np.testing.assert_allclose(found.nearest, distances[rows, 4], atol=1e-12)
    np.testing.assert_allclose(found.weights, [1 / 3] * 3)
    assert found.contrast is None


@pytest.mark.parametrize("n", [2, 6])
def test_the_contrast_of_even_and_odd_prototypes(problem, distances, n):
    oracle = Oracle(problem)
    with oracle.at_work():
        found = assign_target(oracle, np.arange(n))
    even, odd = (distances[:, start:n:2].min(axis=1) for start in (0, 1))
    np.testing.assert_allclose(found.contrast, even - odd, atol=1e-12)


def assignment(nearest, contrast):
    n = len(nearest)
    labels = np.zeros(n, dtype=np.int64)
    return Assignment(
        weights=np.full(n, 1 / n), nearest=np.array(nearest), labels=labels, contrast=contrast
    )


def test_the_guess_at_the_variance_is_never_too_small():
    assert assignment([1.0, 2.0], None).variance == rigorous.DEFAULT_VARIANCE
    assert assignment([1.0, 2.0], np.zeros(2)).variance == rigorous.LEAST_VARIANCE
    assert assignment([1.0, 2.0], np.full(2, 9.0)).variance == pytest.approx(1 / 3)
    assert 0 < rigorous.LEAST_VARIANCE < rigorous.DEFAULT_VARIANCE < 1 / 3


def test_one_row_is_drawn_from_each_stratum(problem):
    """A row is drawn with the probability q s / c, and rows of a stratum are alike."""
    found, random = assignment_of(problem), np.random.default_rng(1)
    probabilities = found.weights * found.units / found.cost
    assert probabilities.sum() == pytest.approx(1)
    n_draws = 400
    counts = np.zeros(N_TARGET)
    for _ in range(n_draws):
        rows = found.draw(N_ROWS, random)
        counts += np.bincount(rows, minlength=N_TARGET)
        drawn = found.labels[rows]
        assert (np.diff(drawn) >= 0).all(), "sorted by prototype"
        assert all((np.diff(found.nearest[rows][drawn == label]) >= 0).all() for label in range(3))
    expected = n_draws * N_ROWS * probabilities
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1).all()
    for label in range(3):  # the strata of a prototype have its probability, up to one row each
        is_own = found.labels == label
        error = counts[is_own].sum() / n_draws - N_ROWS * probabilities[is_own].sum()
        assert abs(error) < 0.2


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_bound_is_that_of_the_theory(problem, distances, confidence, monkeypatch):
    """No set reaches less than the dual bound on the drawn rows; the rest are formulas."""
    seen = {}

    def least_mean(bound, bet, penalty):
        seen.update(bound=bound, bet=bet, penalty=penalty)
        return -0.2

    monkeypatch.setattr(rigorous, "least_mean", least_mean)
    oracle = Oracle(problem)
    with oracle.at_work():
        random = np.random.default_rng(3)
        found = rigorous_bound(oracle, PROTOTYPES, N_ROWS, confidence, random)
    made = assignment_of(problem)
    assert seen["penalty"] == pytest.approx(math.log(1 / (1 - confidence)) / N_ROWS)
    bet = min(math.sqrt(2 * seen["penalty"] / made.variance), 0.45)
    assert seen["bet"] == pytest.approx(bet)
    drawn = made.draw(N_ROWS, np.random.default_rng(3))
    units = made.units[drawn, None]
    values = np.log1p(bet * (distances[drawn] - made.nearest[drawn, None]) / units) / bet
    sets = [(a, b, c) for a in range(9) for b in range(a) for c in range(b)]
    least = min(values[:, each].min(axis=1).mean() for each in sets)
    assert seen["bound"] <= least + 1e-9, "no set reaches less than the dual bound"
    assert seen["bound"] > least - 0.1
    assert (found.kind, found.confidence) == ("rigorous", confidence)
    assert (found.margin, found.conditions) == (0, ())
    assert found.cost == pytest.approx(made.cost)
    assert found.best == pytest.approx(0.8 * made.cost)
    assert found.ratio == pytest.approx(1.25)
    assert found.n_rows == len(np.unique(drawn)) < N_ROWS
    assert oracle.evaluations.total() == 3 * N_TARGET + N_SOURCE * found.n_rows


@pytest.mark.parametrize("mean", [-1.0, -1.5])
def test_a_lower_bound_of_nothing_proves_nothing(problem, mean, monkeypatch):
    monkeypatch.setattr(rigorous, "least_mean", lambda bound, bet, penalty: mean)
    oracle = Oracle(problem)
    with oracle.at_work():
        found = rigorous_bound(oracle, PROTOTYPES, N_ROWS, 0.9, np.random.default_rng(0))
    assert found.ratio == math.inf


def test_a_selection_that_costs_nothing_needs_no_draw():
    oracle = Oracle(pose(np.zeros((4, 1)), np.zeros((6, 1)), k=2))
    with oracle.at_work():
        found = rigorous_bound(oracle, np.array([0, 1]), 3, 0.9, np.random.default_rng(0))
    assert (found.kind, found.ratio, found.n_rows) == ("exact", 1, 6)


def test_no_row_of_the_target_can_lose_its_stake():
    """X > -2, so a bet of at most half of 0.9 leaves at least a tenth of the stake."""
    made = assignment([0.0, 1.0, 100.0], None)
    assert (-made.nearest / made.units >= -2).all()


def test_the_constants_of_the_bet():
    """They decide how tight bounds are: a change makes certificates of a seed differ."""
    assert (rigorous.DEFAULT_VARIANCE, rigorous.LEAST_VARIANCE) == (0.05, 1e-3)
