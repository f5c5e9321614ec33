"""Embeddings under every kernel of the table against dense matrices, and under users' kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import brute
import dense
from protobandit import InvalidInput
from protobandit.metrics.similarities import KERNELS, similarity
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.objectives.embedding import Embedding, median_evaluations, median_gamma

PARAMETERS = {"gamma": 0.3, "degree": 3, "coef0": 0.5}
DEFINITIONS = {
    "rbf": dense.rbf(0.3),
    "linear": dense.linear,
    "polynomial": dense.polynomial(0.3, 3, 0.5),
}
every = pytest.mark.parametrize("name", sorted(KERNELS))
MAKERS = {"dense": np.asarray, "sparse": sparse.csr_array}


def embedding(source, target=None, weights=None, kernel="rbf", metric="euclidean", **parameters):
    oracle = Oracle(pose(source, target, k=1, weights=weights, metric=metric), n_jobs=2)
    return Embedding.of(oracle, similarity(kernel, **(PARAMETERS | parameters)))


@every
@pytest.mark.parametrize("columns", [3, 20])
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("weights", [None, np.arange(30.0)], ids=["equal", "weighted"])
def test_means_norms_columns_and_sums_equal_those_of_matrices(name, columns, kind, weights):
    source, target = brute.normal(12, columns) / 2, brute.normal(30, columns, seed=1) / 2
    seen = embedding(MAKERS[kind](source), MAKERS[kind](target), weights, kernel=name)
    across = dense.matrix(DEFINITIONS[name], target, source)
    within = dense.matrix(DEFINITIONS[name], source, source)
    np.testing.assert_allclose(seen.means, np.average(across, axis=0, weights=weights), rtol=1e-10)
    np.testing.assert_allclose(seen.norms, np.diag(within), rtol=1e-10)
    np.testing.assert_allclose(seen.column(5), within[5], rtol=1e-9, atol=1e-12)
    chosen = np.array([3, 7, 1])
    np.testing.assert_allclose(seen.sums(chosen), across[:, chosen].sum(axis=1), rtol=1e-10)
    n_source, n_target = 12, 30
    expected = n_source * n_target + n_source + n_source + 3 * n_target
    assert seen.across.evaluations == {"build": expected}


@every
def test_a_users_function_gives_the_same_values_and_counts(name):
    source, target = brute.normal(12), brute.normal(30, seed=1)
    counted = brute.CountedBlocks(DEFINITIONS[name])
    mine, named = embedding(source, target, kernel=counted), embedding(source, target, kernel=name)
    for one in (mine, named):
        assert one.norms.shape == one.column(4).shape == (12,)
    np.testing.assert_allclose(mine.means, named.means, rtol=1e-12)
    np.testing.assert_allclose(mine.norms, named.norms, rtol=1e-12)
    np.testing.assert_allclose(mine.column(4), named.column(4), rtol=1e-12)
    assert mine.across.evaluations["build"] == counted.calls == named.across.evaluations["build"]


@every
def test_float32_rows_are_compared_in_float32(name):
    source, target = brute.normal(40, 30) / 3, brute.normal(90, 30, seed=1) / 3
    wide = embedding(
        source.astype(np.float32).astype(float),
        target.astype(np.float32).astype(float),
        kernel=name,
    )
    narrow = embedding(source.astype(np.float32), target.astype(np.float32), kernel=name)
    assert narrow.column(0).dtype == np.float32
    np.testing.assert_allclose(narrow.means, wide.means, rtol=2e-6, atol=2e-6)


def test_rows_far_from_the_origin():
    source, target = brute.normal(20, 30) / 4, brute.normal(50, 30, seed=1) / 4
    near = embedding(source, target)
    far = embedding(source + 1e6, target + 1e6)
    np.testing.assert_allclose(far.means, near.means, rtol=1e-7)


# -- the bandwidth ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_gamma_by_the_median_distance(seed, is_weighted):
    random = np.random.default_rng(seed)
    source, target = random.normal(size=(11, 3)), random.normal(size=(17, 3))
    target[:4] = source[:4]
    weights = random.integers(0, 4, size=17) if is_weighted else np.ones(17)
    weights[0] = 1
    oracle = Oracle(pose(source, target, k=1, weights=weights))
    expected = dense.median_gamma(source, target, weights)
    assert median_gamma(oracle) == pytest.approx(expected, rel=1e-12)
    assert oracle.evaluations["build"] == 11 * np.count_nonzero(weights)
    assert oracle.evaluations["build"] == median_evaluations(11, np.count_nonzero(weights))


def test_long_sides_are_sampled():
    source, target = brute.normal(700), brute.normal(3000, seed=1)
    oracle = Oracle(pose(source, target, k=1))
    gamma = median_gamma(oracle)
    assert oracle.evaluations["build"] == 512 * 512 == median_evaluations(700, 3000)
    squares = ((source[:, None] - target[None]) ** 2).sum(axis=2)
    assert gamma == pytest.approx(1 / (2 * np.median(squares)), rel=0.05)


def test_only_rows_with_a_weight_are_sampled():
    weights = np.zeros(3000)
    weights[[7, 1234]] = 1.0
    rows = brute.normal(3000)
    oracle = Oracle(pose(rows[:5], rows, k=1, weights=weights))
    assert median_gamma(oracle) == pytest.approx(
        dense.median_gamma(rows[:5], rows[[7, 1234]], [1, 1]), rel=1e-12
    )


def test_gamma_of_identical_rows_is_one():
    assert median_gamma(Oracle(pose(np.ones((5, 2)), k=1))) == 1.0


@pytest.mark.parametrize(("scale", "verb"), [(1e30, "overflows"), (1e-21, "underflows")])
def test_squares_that_overflow_or_underflow(scale, verb):
    rows = (brute.normal(30) * scale).astype(np.float32)
    with pytest.raises(InvalidInput, match=rf"kernel='rbf' {verb} float32.* pass float64"):
        median_gamma(Oracle(pose(rows, k=1, metric="hamming")))  # which leaves them float32
    assert median_gamma(Oracle(pose(rows.astype(np.float64), k=1))) > 0


# -- overflow --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "polynomial"])
def test_overflow_is_an_error(name):
    rows = (brute.normal(30) * 1e30).astype(np.float32)
    with pytest.raises(InvalidInput, match=rf"kernel='{name}' overflows float32.*float64"):
        embedding(rows, kernel=name, metric="hamming")  # which leaves them float32


# -- kernels of users ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: 1.0, r"kernel='<lambda>' returned an array of shape \(\)"),
        (lambda a, b: np.ones((len(b), len(a) + 1)), r"returned an array of shape"),
        (lambda a, b: np.full((len(a), len(b)), "x"), r"dtype <U1"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), r"kernel='<lambda>' gave nan"),
        (lambda a, b: np.full((len(a), len(b)), np.inf), r"gave inf .*finite"),
    ],
)
def test_a_users_function_must_return_finite_numbers_of_the_right_shape(kernel, message):
    with pytest.raises(InvalidInput, match=message):
        embedding(brute.normal(4), kernel=kernel)


def test_a_users_function_may_return_negative_numbers_and_integers():
    seen = embedding(brute.whole(4), kernel=lambda a, b: -np.ones((len(a), len(b)), dtype=int))
    assert seen.means.tolist() == [-1.0] * 4


def test_every_kernel_has_a_definition():
    assert set(DEFINITIONS) == set(KERNELS)
