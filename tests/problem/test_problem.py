from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from protobandit import InvalidInput, Target, block_metric
from protobandit.problem.posing import pose

N = 10
ROWS = np.random.default_rng(0).normal(size=(N, 3))


def refusal(*args, **options):
    with pytest.raises(InvalidInput) as caught:
        pose(*args, **{"k": 1, **options})
    return str(caught.value)


# -- k --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "count"),
    [
        (1, 1),
        (N, N),
        (np.int8(3), 3),
        (np.uint64(3), 3),
        (np.array(3), 3),
        (0.5, 5),
        (np.float32(0.5), 5),
        (0.001, 1),
        (0.999, N),
        (0.25, 2),
        (0.35, 4),
        ([3, 7, 5], 7),
        ((2,), 2),
        (np.array([3, 4]), 4),
    ],
)
def test_k_is_a_count_or_a_fraction_of_the_source(k, count):
    assert pose(ROWS, k=k).k == count
    assert type(pose(ROWS, k=k).k) is int


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k=0 is less than 1. Pass an int from 1 to 10."),
        (-3, "k=-3 is less than 1"),
        (11, "k=11 exceeds the 10 source rows"),
        (5.0, "k=5.0 is neither a whole number nor a fraction"),
        (1.0, "k=1.0 is neither"),
        (0.0, "k=0.0 is neither"),
        (-0.5, "k=-0.5 is neither"),
        (float("nan"), "k=nan is neither"),
        (np.float64(2.5), "k=2.5 is neither"),
        (True, "k=True is not a number of prototypes"),
        (np.True_, "is not a number of prototypes"),
        ("3", "k='3' is not a number of prototypes"),
        (None, "k=None is not a number of prototypes"),
        ([], "k=[] is not a number of prototypes"),
        ([3, 0], "k=0 is less than 1"),
        ([3, True], "k=True is not a number of prototypes"),
        ([3, 11], "k=11 exceeds the 10 source rows"),
        (np.array([[3, 4]]), "is not a number of prototypes"),
        ({"a": 3}, "is not a number of prototypes"),
        (Fraction(1, 2), "is not a number of prototypes"),
    ],
)
def test_any_other_k_is_refused(k, message):
    assert message in refusal(ROWS, k=k)


# -- weights --------------------------------------------------------------------------------------

UNEVEN = np.arange(N, dtype=np.float64)


@pytest.mark.parametrize(
    "weights",
    [
        UNEVEN,
        UNEVEN.tolist(),
        tuple(UNEVEN),
        UNEVEN.astype(np.int8),
        UNEVEN.astype(object),
        pd.Series(UNEVEN),
        pd.Series(UNEVEN).astype("Float64"),
        np.repeat(UNEVEN, 3)[::3],
    ],
    ids=lambda weights: type(weights).__name__,
)
def test_weights_are_kept_as_given(weights):
    problem = pose(ROWS, k=1, weights=weights)
    np.testing.assert_array_equal(problem.weights, UNEVEN)
    assert problem.weights.dtype == np.float64
    assert problem.weights.flags.c_contiguous
    assert problem.total == UNEVEN.sum()


@pytest.mark.parametrize("weights", [None, np.ones(N), np.full(N, 7), [0.1] * N, [True] * N])
def test_equal_weights_are_none(weights):
    problem = pose(ROWS, k=1, weights=weights)
    assert problem.weights is None
    assert problem.total == N


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(N - 1), "weights have shape (9,) but target has 10 rows"),
        (np.ones((N, 1)), "weights have shape (10, 1)"),
        (1.0, "weights have shape ()"),
        ([], "weights have shape (0,)"),
        (-UNEVEN, "weights[1]=-1.0 is not allowed"),
        (np.where(UNEVEN == 4, np.nan, UNEVEN), "weights[4]=nan is not allowed"),
        (np.where(UNEVEN == 4, np.inf, UNEVEN), "weights[4]=inf is not allowed"),
        ([1] * (N - 1) + [None], "weights[9]=nan is not allowed"),
        (np.zeros(N), "weights are all 0"),
        (np.where(UNEVEN > 2, 1e308, 0), "weights sum to infinity"),
        (["1"] * N, "are not numbers"),
        (np.array(["1"] * N, dtype=object), "are not numbers"),
        (UNEVEN + 1j, "are not numbers"),
        ([[1], [1, 2]], "are not numbers"),
        ({"a": 1}, "are not numbers"),
        ("uniform", "weights='uniform' are not numbers"),
    ],
)
def test_other_weights_are_refused(weights, message):
    assert message in refusal(ROWS, weights=weights)


# -- target ---------------------------------------------------------------------------------------


def test_a_target_has_no_length_and_says_what_it_holds():
    target = Target(ROWS, weights=UNEVEN)
    with pytest.raises(TypeError):
        len(target)
    assert not hasattr(target, "shape")
    assert repr(target) == "Target(rows=ndarray(10, 3))"
    assert repr(Target(["a"])) == "Target(rows=list)"


@pytest.mark.parametrize(
    ("target", "weights"),
    [(Target(ROWS), UNEVEN), (Target(ROWS, weights=UNEVEN), None), (ROWS.copy(), UNEVEN)],
)
def test_weights_come_with_the_target_or_beside_it(target, weights):
    problem = pose(ROWS[:4], target, k=1, weights=weights)
    np.testing.assert_array_equal(problem.weights, UNEVEN)
    assert (len(problem.source), len(problem.target)) == (4, N)


def test_weights_given_twice_are_refused():
    assert "twice" in refusal(ROWS, Target(ROWS, weights=UNEVEN), weights=UNEVEN)


@pytest.mark.parametrize("target", [None, ROWS, Target(ROWS)])
def test_the_source_may_be_its_own_target(target):
    problem = pose(ROWS, target, k=1)
    assert problem.target is problem.source


def test_a_target_is_not_a_source():
    assert "source is a Target" in refusal(Target(ROWS))


def test_a_problem_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        pose(ROWS, k=1).k = 2


# -- two sides ------------------------------------------------------------------------------------


def distance(a, b):
    return abs(len(a) - len(b))


@pytest.mark.parametrize(
    ("source", "target", "metric", "message"),
    [
        (ROWS, ROWS[:, :2], "euclidean", "target has 2 columns but source has 3"),
        (sp.csr_array(ROWS), sp.csr_array(ROWS[:, :2]), "cosine", "target has 2 columns"),
        (ROWS, sp.csr_array(ROWS), "euclidean", "source holds dense rows and target sparse rows"),
        (sp.csr_array(ROWS), ROWS, distance, "source holds sparse rows and target dense rows"),
        (ROWS, ["a", "b"], distance, "source holds dense rows and target objects rows"),
        (sp.csr_array(ROWS), None, "chebyshev", "source holds sparse rows, which metric="),
        (ROWS, [["a"]], "euclidean", "target does not hold numbers"),
        (ROWS, np.full((1, 3), np.nan), "euclidean", "target contains nan at row 0, column 0"),
        (ROWS, np.empty((0, 3)), "euclidean", "target has 0 rows"),
    ],
)
def test_sides_that_do_not_match_are_refused(source, target, metric, message):
    assert message in refusal(source, target, metric=metric)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("source", "target", "both"),
    [
        ("float32", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float64", "float32", "float64"),
        ("uint8", "float32", "float32"),
        ("int16", "int8", "float32"),
        ("float32", "int32", "float64"),
    ],
)
def test_both_sides_are_read_in_the_wider_type(wrap, source, target, both):
    rows = np.arange(6).reshape(2, 3)
    problem = pose(wrap(rows.astype(source)), wrap(rows.astype(target)), k=1, metric="manhattan")
    for side in (problem.source, problem.target):
        block = side.take(slice(0, 2))
        assert block.dtype == side.dtype == np.dtype(both)
        np.testing.assert_array_equal(block.toarray() if sp.issparse(block) else block, rows)


def test_a_mapped_target_stays_unchecked_when_widened(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[1, 2, np.nan]], dtype=np.float32))
    target = np.load(tmp_path / "rows.npy", mmap_mode="r")
    rows = pose(ROWS, target, k=1).target
    with pytest.raises(InvalidInput, match="row 0, column 2"):
        rows.take(slice(0, 1))


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        (ROWS.astype(np.float32), "float32"),
        (ROWS, "float64"),
        (sp.csr_array(ROWS.astype(np.float32)), "float64"),
        (ROWS.astype(np.int8), "float32"),
    ],
)
def test_dissimilarities_are_kept_in_the_type_of_dense_rows(rows, dtype):
    assert pose(rows, k=1).dtype == np.dtype(dtype)


@pytest.mark.parametrize("metric", [distance, block_metric(lambda A, B: np.ones((len(A), len(B))))])
def test_texts_pass_with_a_metric_of_ones_own(metric):
    problem = pose(["a", "bc"], ["def"], k=1, metric=metric)
    assert (problem.source.kind, problem.target.kind, problem.dtype) == (
        "objects",
        "objects",
        float,
    )
    assert "does not hold numbers" in refusal(["a", "bc"])


# -- precomputed ----------------------------------------------------------------------------------

MATRIX = np.abs(np.random.default_rng(1).normal(size=(4, 7)))
SPOILT = np.where(np.arange(28).reshape(4, 7) == 9, np.nan, MATRIX)


@pytest.mark.parametrize("target", [None, MATRIX])
def test_a_precomputed_matrix_has_a_row_a_target_row(target):
    problem = pose(MATRIX, target, k=7, metric="precomputed", weights=[1, 2, 3, 4])
    assert (len(problem.target), len(problem.source), problem.k) == (4, 7, 7)
    assert pose(MATRIX, k=0.5, metric="precomputed").k == 4


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (MATRIX, ROWS, "target is given together with metric='precomputed'"),
        (MATRIX, Target(ROWS), "target is given together with metric='precomputed'"),
        (sp.csr_array(MATRIX), None, "got sparse rows"),
        (SPOILT, None, "nan at row 1, column 2"),
        (MATRIX[0], None, "1 dimension"),
        (["a"], None, "does not hold numbers"),
    ],
)
def test_other_precomputed_matrices_are_refused(source, target, message):
    assert message in refusal(source, target, metric="precomputed")
    assert "exceeds the 7 source rows" in refusal(MATRIX, k=8, metric="precomputed")
