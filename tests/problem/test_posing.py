from __future__ import annotations

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import protobandit as pb
from protobandit import InvalidInput, Target, block_metric
from protobandit.problem.posing import pose

N = 10
ROWS = np.random.default_rng(0).normal(size=(N, 3))


def error_of(*args, **options):
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
def test_k_is_a_count_or_a_fraction_of_the_source_rows(k, count):
    assert pose(ROWS, k=k).k == count
    assert type(pose(ROWS, k=k).k) is int


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k=0 is less than 1. Pass an int from 1 to 10."),
        (-3, "k=-3 is less than 1"),
        (11, "k=11 exceeds the 10 source rows"),
        (5.0, "k=5.0 is neither an integer nor a fraction"),
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
def test_invalid_k_raises(k, message):
    assert message in error_of(ROWS, k=k)


# -- weights --------------------------------------------------------------------------------------

WEIGHTS = np.arange(N, dtype=np.float64)


@pytest.mark.parametrize(
    "weights",
    [
        WEIGHTS,
        WEIGHTS.tolist(),
        tuple(WEIGHTS),
        WEIGHTS.astype(np.int8),
        WEIGHTS.astype(object),
        pd.Series(WEIGHTS),
        pd.Series(WEIGHTS).astype("Float64"),
        np.repeat(WEIGHTS, 3)[::3],
    ],
    ids=lambda weights: type(weights).__name__,
)
def test_weights_of_any_type_become_float64(weights):
    problem = pose(ROWS, k=1, weights=weights)
    np.testing.assert_array_equal(problem.weights, WEIGHTS)
    assert problem.weights.dtype == np.float64
    assert problem.weights.flags.c_contiguous
    assert problem.total == WEIGHTS.sum()


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
        (-WEIGHTS, "weights[1]=-1.0 is not allowed"),
        (np.where(WEIGHTS == 4, np.nan, WEIGHTS), "weights[4]=nan is not allowed"),
        (np.where(WEIGHTS == 4, np.inf, WEIGHTS), "weights[4]=inf is not allowed"),
        ([1] * (N - 1) + [None], "weights[9]=nan is not allowed"),
        (np.zeros(N), "weights are all 0"),
        (["1"] * N, "are not numbers"),
        (np.array(["1"] * N, dtype=object), "are not numbers"),
        (WEIGHTS + 1j, "are not numbers"),
        ([[1], [1, 2]], "are not numbers"),
        ({"a": 1}, "are not numbers"),
        ("uniform", "weights='uniform' names a column, but target has no named columns"),
    ],
)
def test_invalid_weights_raise(weights, message):
    assert message in error_of(ROWS, weights=weights)


# -- target ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "weights"),
    [(Target(ROWS), WEIGHTS), (Target(ROWS, weights=WEIGHTS), None), (ROWS.copy(), WEIGHTS)],
)
def test_weights_are_part_of_the_target_or_an_argument(target, weights):
    problem = pose(ROWS[:4], target, k=1, weights=weights)
    np.testing.assert_array_equal(problem.weights, WEIGHTS)
    assert (len(problem.source), len(problem.target)) == (4, N)


def test_weights_given_twice_raise():
    assert "twice" in error_of(ROWS, Target(ROWS, weights=WEIGHTS), weights=WEIGHTS)


@pytest.mark.parametrize("target", [None, ROWS, Target(ROWS)])
def test_the_target_defaults_to_the_source(target):
    problem = pose(ROWS, target, k=1)
    assert problem.target is problem.source


def test_a_target_object_as_source_raises():
    assert "source is a Target" in error_of(Target(ROWS))


# -- source and target------------------------------------------------------------------------------


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
def test_source_and_target_that_do_not_match_raise(source, target, metric, message):
    assert message in error_of(source, target, metric=metric)


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
def test_source_and_target_share_the_wider_dtype(wrap, source, target, both):
    rows = np.arange(6).reshape(2, 3)
    problem = pose(wrap(rows.astype(source)), wrap(rows.astype(target)), k=1, metric="manhattan")
    for side in (problem.source, problem.target):
        block = side.take(slice(0, 2))
        assert block.dtype == side.dtype == np.dtype(both)
        np.testing.assert_array_equal(block.toarray() if sp.issparse(block) else block, rows)


def test_a_memory_mapped_target_is_checked_when_read(tmp_path):
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
def test_dtype_of_the_dissimilarities(rows, dtype):
    assert pose(rows, k=1).dtype == np.dtype(dtype)


@pytest.mark.parametrize("metric", [distance, block_metric(lambda A, B: np.ones((len(A), len(B))))])
def test_strings_are_compared_by_a_metric_of_the_user(metric):
    problem = pose(["a", "bc"], ["def"], k=1, metric=metric)
    assert (problem.source.kind, problem.target.kind, problem.dtype) == (
        "objects",
        "objects",
        float,
    )
    assert "does not hold numbers" in error_of(["a", "bc"], metric="euclidean")


# -- precomputed ----------------------------------------------------------------------------------

MATRIX = np.abs(np.random.default_rng(1).normal(size=(4, 7)))
WITH_NAN = np.where(np.arange(28).reshape(4, 7) == 9, np.nan, MATRIX)


@pytest.mark.parametrize("target", [None, MATRIX])
def test_a_precomputed_matrix_has_one_row_per_target_row(target):
    problem = pose(MATRIX, target, k=7, metric="precomputed", weights=[1, 2, 3, 4])
    assert (len(problem.target), len(problem.source), problem.k) == (4, 7, 7)
    assert pose(MATRIX, k=0.5, metric="precomputed").k == 4


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (MATRIX, ROWS, "target is given together with metric='precomputed'"),
        (MATRIX, Target(ROWS), "target is given together with metric='precomputed'"),
        (sp.csr_array(MATRIX), None, "got sparse rows"),
        (WITH_NAN, None, "nan at row 1, column 2"),
        (MATRIX[0], None, "1 dimension"),
        (["a"], None, "does not hold numbers"),
    ],
)
def test_invalid_precomputed_matrices_raise(source, target, message):
    assert message in error_of(source, target, metric="precomputed")
    assert "exceeds the 7 source rows" in error_of(MATRIX, k=8, metric="precomputed")


# -- guesses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [pb.select, pb.plan])
@pytest.mark.parametrize("k", [10, 0.5, np.int64(3)])
def test_k_in_the_place_of_the_target_is_explained(call, k):
    with pytest.raises(InvalidInput, match=rf"target={k} is a number, not rows. Pass k={k}\."):
        call(np.eye(12), k)


MONTHS = ["may", "june"] * 10


def monthly(library):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    table = {"a": rows[:, 0], "month": MONTHS, "b": rows[:, 1]}
    return pytest.importorskip(library).DataFrame(table), rows


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_classes_in_a_column_of_a_frame(library):
    frame, rows = monthly(library)
    found = pb.select(frame, k=4, by="month", random_state=0)
    truth = pb.select(rows, k=4, by=MONTHS, random_state=0)
    assert found.indices.tolist() == truth.indices.tolist()
    assert found.prototype_labels.tolist() == truth.prototype_labels.tolist()
    assert found.columns == ("a", "b")
    assert found.columns_left_out == {"month": "classes, by="}
    assert pb.plan(frame, k=4, by="month") == pb.plan(rows, k=4, by=MONTHS)
    target = pb.select(frame, pb.Target(frame[:10], weights=range(1, 11)), k=4, by="month")
    assert target.columns_left_out == {"month": "classes, by="}
    assert len(target.problem.target) == 10


def test_classes_in_a_column_of_a_file(tmp_path):
    frame, rows = monthly("pandas")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = pb.select(tmp_path / "rows.csv", k=4, by="month", random_state=0)
    assert (
        found.indices.tolist() == pb.select(rows, k=4, by=MONTHS, random_state=0).indices.tolist()
    )
    assert found.columns == ("a", "b")


def test_classes_that_are_dates_can_be_saved():
    frame, _ = monthly("pandas")
    frame["month"] = [datetime.date(2024, 1 + i % 2, 1) for i in range(20)]
    found = pb.select(frame, k=4, by="month")
    assert set(found.prototype_labels) == {"2024-01-01", "2024-02-01"}
    assert pb.Selection.from_json(found.to_json()).prototype_labels is not None


def test_classes_in_a_missing_column_are_explained():
    frame, rows = monthly("pandas")
    with pytest.raises(InvalidInput, match=r"has no column 'mont'. Did you mean 'month'"):
        pb.select(frame, k=4, by="mont")
    with pytest.raises(InvalidInput, match="by='month' names a column, but source has no named"):
        pb.select(rows, k=4, by="month")


def test_a_matrix_has_no_compared_columns_in_its_status():
    frame = pytest.importorskip("pandas").DataFrame(1 - np.eye(4), columns=list("abcd"))
    assert "Compared columns" not in pb.select(frame, k=2, metric="precomputed").status


# -- columns that arguments name ------------------------------------------------------------------


def named(library):
    rows = np.random.default_rng(1).normal(size=(20, 2))
    table = {
        "x": rows[:, 0],
        "kind": ["a", "b"] * 10,
        "y": rows[:, 1],
        "w": np.arange(1.0, 21.0),
        "id": [f"n{i}" for i in range(20)],
    }
    return pytest.importorskip(library).DataFrame(table), table, rows


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_groups_ids_and_weights_in_columns_of_a_frame(library):
    frame, table, rows = named(library)
    asked = {"at_least": 2, "fixed": ["n7"]}
    found = pb.select(
        frame,
        k=4,
        weights="w",
        constraints=pb.Constraints(groups="kind", ids="id", **asked),
        random_state=0,
    )
    truth = pb.select(
        rows,
        k=4,
        weights=table["w"],
        constraints=pb.Constraints(groups=table["kind"], fixed=[7], at_least=2),
        random_state=0,
    )
    assert found.indices.tolist() == truth.indices.tolist()
    assert found.indices[0] == 7
    assert found.columns == ("x", "y")
    assert found.columns_left_out == {
        "kind": "groups, Constraints(groups=)",
        "w": "weights, weights=",
        "id": "ids, Constraints(ids=)",
    }


def test_costs_in_a_column_and_weights_beside_classes():
    frame, table, rows = named("pandas")
    prices = pb.Constraints(costs="w", budget=9)
    found = pb.select(frame[["x", "y", "w"]], constraints=prices)
    truth = pb.select(rows, constraints=pb.Constraints(costs=table["w"], budget=9))
    assert found.indices.tolist() == truth.indices.tolist()
    found = pb.select(frame.drop(columns="id"), k=4, by="kind", weights="w", random_state=0)
    truth = pb.select(rows, k=4, by=table["kind"], weights=table["w"], random_state=0)
    assert found.indices.tolist() == truth.indices.tolist()


def test_named_columns_of_each_side():
    frame, table, _ = named("pandas")
    quotas = pb.Constraints(groups="kind", at_most={"a": 0})
    found = pb.select(
        frame[["x", "y", "kind"]], frame[["x", "y", "w"]], k=3, weights="w", constraints=quotas
    )
    assert all(table["kind"][i] == "b" for i in found.indices)
    np.testing.assert_array_equal(found.problem.weights, table["w"])


def test_named_columns_that_do_not_exist_are_explained():
    frame, _, rows = named("pandas")
    numbers = frame[["x", "y"]]
    with pytest.raises(InvalidInput, match="has no column 'knd'"):
        pb.select(numbers, k=2, constraints=pb.Constraints(groups="knd", at_least=1))
    with pytest.raises(InvalidInput, match="weights='w' names a column, but target has no named"):
        pb.select(rows, k=2, weights="w")


def test_rows_of_anndata_in_another_array():
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    rows = np.random.default_rng(2).normal(size=(30, 2))
    index = [str(i) for i in range(30)]
    obs = pd.DataFrame({"kind": ["a", "b", "c"] * 10}, index=index)
    data = anndata.AnnData(np.ones((30, 4)), obs=obs, obsm={"X_pca": rows})
    found = pb.select(data, obsm="X_pca", k=3, random_state=0)
    assert found.indices.tolist() == pb.select(rows, k=3, random_state=0).indices.tolist()
    assert found.columns == ("X_pca",)
    assert pb.plan(data, obsm="X_pca", k=3).evaluations == 900
    np.testing.assert_array_equal(found.assign(data).labels, found.assign(rows).labels)
    both = pb.select(data[:20], data[20:], obsm="X_pca", k=3, random_state=0)
    truth = pb.select(rows[:20], rows[20:], k=3, random_state=0)
    assert both.indices.tolist() == truth.indices.tolist()
    classes = pb.select(data, obsm="X_pca", k=3, by="kind", random_state=0)
    assert set(classes.prototype_labels) == {"a", "b", "c"}
    loaded = pb.Selection.from_json(found.to_json())
    assert loaded.attached(data).members(0)[0] == found.indices[0]
    assert list(found.to_frame(data)["kind"]) == [["a", "b", "c"][i % 3] for i in found.indices]
    with pytest.raises(InvalidInput, match="obsm='X_pca' is given with"):
        pb.select(pd.DataFrame(rows), obsm="X_pca", k=3)
