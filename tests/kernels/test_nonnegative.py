"""Non-negative coefficients against every active set, and against SciPy's least squares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import dense
from protobandit.kernels.nonnegative import fit_nonnegative

EPS = np.finfo(np.float64).eps


def instance(seed, n, rank=None):
    random = np.random.default_rng(seed)
    root = random.normal(size=(rank or n, n))
    matrix = root.T @ root
    return matrix, matrix @ random.normal(size=n)  # within the range, as means are


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_equals_the_best_of_all_active_sets(seed, n):
    matrix, vector = instance(seed, n)
    found = fit_nonnegative(matrix, vector, np.zeros(n), EPS)
    assert (found >= 0).all()
    np.testing.assert_allclose(found, dense.best_coefficients(matrix, vector), atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_singular_matrix(seed):
    matrix, vector = instance(seed, 7, rank=3)
    found = fit_nonnegative(matrix, vector, np.zeros(7), EPS)
    assert (found >= 0).all()
    best = dense.value(matrix, vector, dense.best_coefficients(matrix, vector))
    assert dense.value(matrix, vector, found) == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [30, 120])
def test_many_rows_against_least_squares(seed, n):
    random = np.random.default_rng(seed)
    root = random.normal(size=(2 * n, n))
    matrix, vector = root.T @ root, root.T @ random.normal(size=2 * n)
    found = fit_nonnegative(matrix, vector, np.zeros(n), EPS)
    factor = np.linalg.cholesky(matrix)
    expected, _ = nnls(factor.T, np.linalg.solve(factor, vector))
    assert 0 < np.count_nonzero(found) < n
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_start_does_not_change_the_result(seed):
    matrix, vector = instance(seed, 8)
    start = np.zeros(8)
    start[:7] = fit_nonnegative(matrix[:7, :7], vector[:7], np.zeros(7), EPS)
    before = start.copy()
    found = fit_nonnegative(matrix, vector, start, EPS)
    np.testing.assert_allclose(found, dense.best_coefficients(matrix, vector), atol=1e-9)
    assert (start == before).all()


def test_equal_rows():
    matrix, vector = np.ones((4, 4)), np.full(4, 0.5)
    assert fit_nonnegative(matrix, vector, np.zeros(4), EPS).sum() == pytest.approx(0.5)
    noisy = vector + 1e-9 * np.arange(4)
    found = fit_nonnegative(matrix, noisy, np.zeros(4), np.finfo(np.float32).eps)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(0.5, rel=1e-6)


def test_rounding_that_makes_a_matrix_indefinite():
    """In float32, the similarity of two close rows can exceed their norms."""
    matrix = np.array([[1.0, 1 + 6e-8, 0.5], [1 + 6e-8, 1.0, 0.5], [0.5, 0.5, 1.0]])
    vector = np.array([0.7, 0.7 + 1e-7, 0.6])
    found = fit_nonnegative(matrix, vector, np.zeros(3), float(np.finfo(np.float32).eps))
    assert (found >= 0).all()
    exact = dense.best_coefficients(matrix[1:, 1:], vector[1:])
    assert found[0] + found[1] == pytest.approx(exact[0], rel=1e-5)
    assert found[2] == pytest.approx(exact[1], rel=1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_nearly_equal_rows_lose_no_more_than_rounding(seed):
    """Rows are added one by one, as in a search, to a kernel matrix rounded to float32."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(3, 4))
    spread = 10.0 ** random.uniform(-5, -1)
    rows = centres[random.integers(0, 3, size=7)] + spread * random.normal(size=(7, 4))
    kernel = dense.rbf(0.2)
    matrix = dense.matrix(kernel, rows, rows)
    vector = dense.matrix(kernel, random.normal(size=(30, 4)), rows).mean(axis=0)
    eps = float(np.finfo(np.float32).eps)
    noise = 1 + 2 * eps * random.normal(size=(7, 7))
    noisy, found = matrix * (noise + noise.T) / 2, np.empty(0)
    for n in range(1, 8):
        found = fit_nonnegative(noisy[:n, :n], vector[:n], np.append(found, 0.0), eps)
    assert (found >= 0).all()
    best = dense.value(matrix, vector, dense.best_coefficients(matrix, vector))
    assert dense.value(matrix, vector, found) == pytest.approx(best, rel=1e-8)


def test_terminates_on_an_indefinite_matrix():
    found = fit_nonnegative(np.array([[1.0, 9.0], [9.0, 1.0]]), np.ones(2), np.zeros(2), EPS)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_zero_if_no_coefficient_helps():
    assert fit_nonnegative(np.eye(3), np.array([-1.0, 0.0, -2.0]), np.zeros(3), EPS).sum() == 0
    assert fit_nonnegative(np.zeros((2, 2)), np.zeros(2), np.zeros(2), EPS).sum() == 0
