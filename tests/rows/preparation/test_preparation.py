"""Preparation: compared with scikit-learn and a loop, invariants, and errors."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler, normalize

import protobandit as pb
from protobandit import FittedPreparation, InvalidInput, Preparation
from protobandit.data import open_rows
from protobandit.rows.columns import Columns
from protobandit.rows.files.opening import as_opened
from protobandit.rows.preparation import column_statistics
from protobandit.rows.preparation import preparation as fitting
from protobandit.rows.preparation.prepared_rows import PreparedRows, prepare_sides
from protobandit.rows.preparation.tables import as_table
from protobandit.rows.rows import Rows

RANDOM = np.random.default_rng(20)
NUMBERS = RANDOM.normal(size=(200, 6)) * [1, 10, 100, 0.01, 5, 1] + [0, 5, -300, 0, 0, 7]
NUMBERS[:, 5] = 7.3  # constant
WITH_MISSING = NUMBERS.copy()
WITH_MISSING[RANDOM.random(NUMBERS.shape) < 0.1] = np.nan
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 90, 120),
        "colour": RANDOM.choice(["red", "green", "blue"], 120),
        "income": RANDOM.lognormal(10, 1, 120),
        "city": RANDOM.choice(["Ulm", "Köln"], 120),
    }
)


def with_missing(frame):
    """Return a frame with missing values in a column of numbers and in one of texts."""
    frame = frame.astype({"age": float, "colour": object})
    frame.loc[[3, 50, 51], "age"] = np.nan
    frame.loc[[7], "colour"] = None
    return frame


def select(*rows, k=4, **options):
    return pb.select(*rows, k=k, method="lazygreedy", random_state=0, **options)


# -- compared with scikit-learn -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standardize_equals_scikit_learn(dtype):
    rows = NUMBERS.astype(dtype)
    prepared = Preparation(standardize=True).fit(rows).transform(rows)
    expected = StandardScaler().fit(NUMBERS).transform(NUMBERS)
    assert prepared.dtype == dtype
    np.testing.assert_allclose(prepared, expected, atol=1e-4 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(prepared[:, 5], 0)


def test_a_constant_column_is_zero_for_any_rows():
    fitted = Preparation(standardize=True).fit(NUMBERS)
    assert fitted.transform(NUMBERS + 1.0)[:, 5].tolist() == [0.0] * 200


@pytest.mark.parametrize("asked", [3, 0.9, 0.999999])
def test_components_equal_scikit_learn_up_to_sign(asked):
    rows = RANDOM.normal(size=(150, 8)) @ RANDOM.normal(size=(8, 8)) + 3
    fitted = Preparation(pca=asked).fit(rows)
    expected = PCA(asked, svd_solver="full").fit(rows)
    prepared, others = fitted.transform(rows), expected.transform(rows)
    assert prepared.shape == others.shape == (150, fitted.n_columns)
    signs = np.sign((prepared * others).sum(axis=0))
    np.testing.assert_allclose(prepared, others * signs, atol=1e-10)
    assert fitted.variance_share == pytest.approx(expected.explained_variance_ratio_.sum())


@pytest.mark.parametrize("n", [40, 80])
def test_components_of_very_wide_rows(n, monkeypatch):
    monkeypatch.setattr(column_statistics, "_MOST_BY_COVARIANCE", 60)
    monkeypatch.setattr(column_statistics, "_MOST_BY_SVD", 50)
    rows = RANDOM.normal(size=(n, 90)) * np.r_[1000, 300, 100, 30, np.full(86, 0.1)]
    fitted = Preparation(pca=4).fit(rows)
    expected = PCA(4, svd_solver="full").fit(rows)
    np.testing.assert_allclose(
        np.abs(fitted.transform(rows)), np.abs(expected.transform(rows)), atol=1e-3
    )
    assert fitted.variance_share == pytest.approx(expected.explained_variance_ratio_.sum())
    assert fitted.to_document() == Preparation(pca=4).fit(rows).to_document()


def test_components_of_identical_rows():
    fitted = Preparation(pca=0.95).fit(np.ones((5, 3)))
    assert fitted.n_columns == 1
    assert fitted.variance_share == 1.0
    np.testing.assert_array_equal(fitted.transform(np.ones((2, 3))), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normalize_equals_scikit_learn(dtype):
    rows = np.vstack([NUMBERS, np.zeros(6)]).astype(dtype)
    prepared = Preparation(normalize=True).fit(rows).transform(rows)
    assert prepared.dtype == dtype
    np.testing.assert_allclose(prepared, normalize(rows), rtol=1e-6)
    np.testing.assert_array_equal(prepared[-1], 0)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_lengths_neither_overflow_nor_underflow(size):
    rows = np.array([[3.0, 4.0], [0.0, 2.0]])
    prepared = Preparation(normalize=True).fit(rows * size).transform(rows * size)
    np.testing.assert_allclose(prepared, [[0.6, 0.8], [0.0, 1.0]])


@pytest.mark.parametrize("impute", ["mean", "median", "most-frequent"])
def test_impute_equals_scikit_learn(impute):
    rows = np.round(WITH_MISSING, 1)
    fitted = Preparation(impute=impute).fit(rows)
    expected = SimpleImputer(strategy=impute.replace("-", "_")).fit(rows)
    np.testing.assert_allclose(fitted.transform(rows), expected.transform(rows))


def test_one_hot_equals_scikit_learn():
    fitted = Preparation(categories="one-hot").fit(FRAME)
    expected = OneHotEncoder(sparse_output=False).fit_transform(FRAME[["colour", "city"]])
    prepared = fitted.transform(FRAME)
    np.testing.assert_array_equal(prepared[:, :2], FRAME[["age", "income"]])
    np.testing.assert_array_equal(prepared[:, 2:], expected)
    assert fitted.levels == {"colour": ("blue", "green", "red"), "city": ("Köln", "Ulm")}
    assert fitted.features == ("age", "income", "colour", "city")


def test_missing_categories_are_replaced_by_the_most_frequent():
    frame = pd.DataFrame({"c": ["b", "a", None, "b", "a"], "x": np.arange(5.0)})
    fitted = Preparation(categories="one-hot", impute="mean").fit(frame)
    assert fitted.commonest == {"c": "a"}  # the first of two alphabetically
    np.testing.assert_array_equal(fitted.transform(frame)[2], [2, 1, 0])


def test_all_steps_equal_a_pipeline_of_scikit_learn():
    frame = with_missing(FRAME)
    asked = Preparation(
        impute="median", categories="one-hot", standardize=True, pca=3, normalize=True
    )
    prepared = asked.fit(frame).transform(frame)
    numbers = SimpleImputer(strategy="median").fit_transform(frame[["age", "income"]])
    texts = SimpleImputer(strategy="most_frequent", missing_values=None).fit_transform(
        frame[["colour", "city"]].astype(object).where(frame[["colour", "city"]].notna(), None)
    )
    encoded = OneHotEncoder(sparse_output=False).fit_transform(texts)
    scaled = np.hstack([StandardScaler().fit_transform(numbers), encoded])
    expected = normalize(PCA(3, svd_solver="full").fit_transform(scaled))
    signs = np.sign((prepared * expected).sum(axis=0))
    np.testing.assert_allclose(prepared, expected * signs, atol=1e-9)


# -- Gower ----------------------------------------------------------------------------------------


def gower(one, other, fitted_on):
    """Return Gower's distance, feature by feature."""
    parts = []
    for name, column in fitted_on.items():
        if column.dtype.kind in "if":
            parts.append(abs(one[name] - other[name]) / (column.max() - column.min()))
        else:
            parts.append(float(one[name] != other[name]))
    return sum(parts) / len(parts)


def test_manhattan_distance_of_prepared_rows_is_gowers():
    selection = select(
        FRAME[:50], FRAME, metric="manhattan", preparation=Preparation(categories="gower")
    )
    rows = FRAME.to_dict("records")
    expected = [[gower(j, rows[i], FRAME) for i in selection.indices] for j in rows]
    np.testing.assert_allclose(selection.distances(FRAME), expected, atol=1e-12)


def test_gowers_distance_of_an_unseen_category_is_that_of_any_other():
    fitted = Preparation(categories="gower").fit(FRAME)
    unseen = FRAME[:1].assign(colour="mauve")
    apart = np.abs(fitted.transform(unseen) - fitted.transform(FRAME)).sum(axis=1)
    expected = [gower(unseen.iloc[0], FRAME.iloc[j], FRAME) for j in range(len(FRAME))]
    np.testing.assert_allclose(apart, expected, atol=1e-12)


def test_a_constant_column_does_not_count_in_gowers_distance():
    frame = FRAME.assign(age=40)
    fitted = Preparation(categories="gower").fit(frame)
    np.testing.assert_array_equal(fitted.transform(FRAME)[:, 0], 0)


# -- invariants -----------------------------------------------------------------------------------


def test_it_is_fitted_on_the_target():
    source, target = NUMBERS[:50, :5] * 3 + 1, NUMBERS[50:, :5]
    preparation = Preparation(standardize=True)
    selection = select(source, target, preparation=preparation)
    scaler = StandardScaler().fit(target)
    by_hand = select(scaler.transform(source), scaler.transform(target))
    assert selection.indices.tolist() == by_hand.indices.tolist()
    np.testing.assert_allclose(selection.costs, by_hand.costs, rtol=1e-9)
    np.testing.assert_allclose(selection.prototypes, by_hand.prototypes, atol=1e-9)
    assert selection.preparation.n_rows == 150


PREPARATIONS = {
    "standardize": Preparation(standardize=True),
    "normalize": Preparation(normalize=True),
    "pca": Preparation(pca=3),
    "all": Preparation(standardize=True, pca=0.95, normalize=True),
}
prepared = pytest.mark.parametrize("preparation", PREPARATIONS.values(), ids=PREPARATIONS)


@prepared
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_prototype_is_its_own_nearest(preparation, dtype):
    source = NUMBERS[:80].astype(dtype)
    selection = select(source, NUMBERS.astype(dtype), preparation=preparation)
    labels, distances = selection.assign(source[selection.indices])
    assert labels.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(distances, 0)
    assert selection.prototypes.dtype == dtype


@settings(max_examples=25, deadline=None)
@given(
    arrays(np.float64, (12, 3), elements=st.integers(-50, 50)),
    arrays(np.float64, (3,), elements=st.sampled_from([0.125, 2.0, 1024.0])),
    arrays(np.float64, (3,), elements=st.sampled_from([0.0, 16.0, -32.0])),
)
def test_standardized_rows_do_not_depend_on_units(rows, factors, offsets):
    one = Preparation(standardize=True).fit(rows).transform(rows)
    rescaled = rows * factors + offsets
    other = Preparation(standardize=True).fit(rescaled).transform(rescaled)
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(
    ("preparation", "metric"),
    [
        (Preparation(categories="gower"), "manhattan"),
        (Preparation(categories="one-hot", standardize=True), "euclidean"),
    ],
)
def test_the_order_of_columns_changes_nothing(preparation, metric):
    shuffled = FRAME[["city", "income", "colour", "age"]]
    one = select(FRAME, preparation=preparation, metric=metric)
    other = select(shuffled, preparation=preparation, metric=metric)
    assert one.indices.tolist() == other.indices.tolist()
    assert one.cost == pytest.approx(other.cost)
    for mine, others in zip(one.assign(FRAME), one.assign(shuffled), strict=True):
        np.testing.assert_array_equal(mine, others)


def test_source_and_target_are_matched_by_name_and_other_columns_are_ignored():
    own = FRAME[["income", "age"]].assign(note="not a feature")
    target = FRAME[["age", "income"]]
    preparation = Preparation(standardize=True)
    one = select(own, target, preparation=preparation)
    other = select(target, target.copy(), preparation=preparation)
    assert one.indices.tolist() == other.indices.tolist()


TABLES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame),
    "columns": lambda frame: as_opened(frame, name="rows", has_categories=True).rows,
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_of_all_libraries_give_the_same_result(make):
    preparation = Preparation(categories="one-hot", standardize=True, impute="median")
    frame = with_missing(FRAME)
    expected = select(frame, preparation=preparation)
    found = select(make(frame), preparation=preparation)
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.cost == expected.cost
    assert found.fingerprints == expected.fingerprints
    np.testing.assert_array_equal(
        expected.assign(make(frame)).distances, expected.assign(frame).distances
    )


def test_arrays_lists_and_frames_give_the_same_result():
    preparation = Preparation(standardize=True)
    expected = select(NUMBERS, preparation=preparation)
    for rows in (NUMBERS.tolist(), pd.DataFrame(NUMBERS), pl.DataFrame(NUMBERS)):
        found = select(rows, preparation=preparation)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.cost == expected.cost
        assert (expected.assign(rows).labels == expected.assign(NUMBERS).labels).all()


def test_small_integers_become_float32():
    pixels = RANDOM.integers(0, 256, (50, 9)).astype(np.uint8)
    prepared = Preparation(standardize=True).fit(pixels).transform(pixels)
    assert prepared.dtype == np.float32
    np.testing.assert_allclose(prepared, StandardScaler().fit_transform(pixels), atol=1e-5)


def test_both_sides_get_the_wider_type():
    selection = select(
        NUMBERS[:50].astype(np.float32), NUMBERS, preparation=Preparation(standardize=True)
    )
    assert selection.prototypes.dtype == np.float64
    assert selection.problem.target.dtype == np.float64


def test_rows_of_another_precision_are_assigned():
    for own, other in ((np.float32, np.float64), (np.float64, np.float32)):
        selection = select(NUMBERS.astype(own), preparation=Preparation(standardize=True))
        labels, _ = selection.assign(NUMBERS.astype(other))
        assert (labels == selection.assign(NUMBERS.astype(own)).labels).all()


def test_without_a_step_rows_are_unchanged():
    np.testing.assert_array_equal(Preparation().fit(NUMBERS).transform(NUMBERS), NUMBERS)


def test_the_rows_of_the_user_are_not_modified():
    rows = NUMBERS.copy()
    select(rows, preparation=Preparation(standardize=True, normalize=True))
    np.testing.assert_array_equal(rows, NUMBERS)


# -- combined with other options ------------------------------------------------------------------


def test_weights_classes_constraints_and_goals_work_with_preparation():
    preparation = Preparation(standardize=True)
    scaled = StandardScaler().fit_transform(NUMBERS)
    labels = np.arange(200) % 3
    cases = (
        {"k": 4, "weights": np.arange(200.0)},
        {"k": 6, "by": labels},
        {"k": 4, "constraints": pb.Constraints(fixed=[5, 7])},
        {"until": pb.MinGain(0.01)},
    )
    for options in cases:
        found = pb.select(NUMBERS, preparation=preparation, random_state=0, **options)
        expected = pb.select(scaled, random_state=0, **options)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.cost == pytest.approx(expected.cost)
        assert isinstance(found.preparation, FittedPreparation)
        assert "Rows were prepared (standardize=True)" in found.status


def test_queries_accept_unprepared_rows():
    selection = select(NUMBERS, preparation=Preparation(standardize=True))
    scaled = StandardScaler().fit_transform(NUMBERS)
    plain = select(scaled)
    np.testing.assert_allclose(selection.distances(NUMBERS), plain.distances(scaled), atol=1e-9)
    assert (selection.explain(NUMBERS).indices == plain.explain(scaled).indices).all()
    assert selection.members(1).tolist() == plain.members(1).tolist()
    assert selection.take(NUMBERS).tolist() == NUMBERS[selection.indices].tolist()
    assert selection.silhouette().mean == pytest.approx(plain.silhouette().mean)
    assert selection.certify().cost_ratio == pytest.approx(plain.certify().cost_ratio)


def test_parts_and_extensions_keep_the_preparation():
    selection = select(NUMBERS, preparation=Preparation(standardize=True))
    for other in (selection.at(2), selection.extended(6)):
        assert other.preparation is selection.preparation
        assert other.assign(NUMBERS[other.indices]).labels.tolist() == list(range(other.k))


def test_a_fitted_preparation_is_not_fitted_again():
    fitted = Preparation(standardize=True).fit(NUMBERS * 2)
    selection = select(NUMBERS, preparation=fitted)
    assert selection.preparation is fitted
    np.testing.assert_array_equal(
        selection.prototypes, fitted.transform(NUMBERS[selection.indices])
    )


def test_a_plan_uses_the_prepared_rows():
    planned = pb.plan(NUMBERS, k=3, preparation=Preparation(pca=2))
    assert planned.evaluations == pb.plan(NUMBERS[:, :2], k=3).evaluations
    by_class = pb.plan(
        FRAME,
        k=4,
        by=FRAME["city"],
        metric="manhattan",
        preparation=Preparation(categories="gower"),
    )
    assert 0 < by_class.evaluations < len(FRAME) ** 2


def test_the_status_describes_the_preparation():
    selection = select(NUMBERS, preparation=Preparation(standardize=True, pca=2))
    share = selection.preparation.variance_share
    assert (
        f"Rows were prepared (standardize=True, pca=2), as fitted on 200 target rows; 2 components "
        f"hold {100 * share:.1f} % of the variance." in selection.status
    )


def test_the_status_counts_unseen_categories():
    source = FRAME.assign(colour=["mauve", "teal", *FRAME["colour"][2:]])
    selection = select(source, FRAME, preparation=Preparation(categories="one-hot"))
    assert (
        "Categories of source that are missing from the fitted sample are all zeros: 2 in 'colour'"
    ) in selection.status
    np.testing.assert_array_equal(selection.preparation.transform(source)[:2, 2:5], 0)
    by_shares = select(
        source, FRAME, metric="manhattan", preparation=Preparation(categories="gower")
    )
    assert "count as one other category: 2 in 'colour'" in by_shares.status


def test_a_user_metric_receives_prepared_rows():
    def own(one, other):
        return float(np.abs(one - other).sum())

    preparation = Preparation(standardize=True)
    found = select(NUMBERS[:40], metric=own, preparation=preparation)
    expected = select(NUMBERS[:40], metric="manhattan", preparation=preparation)
    assert found.indices.tolist() == expected.indices.tolist()


# -- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@prepared
def test_a_loaded_selection_gives_the_same_bits(preparation, dtype):
    rows = NUMBERS.astype(dtype)
    selection = select(rows, preparation=preparation)
    loaded = pb.Selection.from_json(selection.to_json())
    assert loaded.preparation.parameters == selection.preparation.parameters
    np.testing.assert_array_equal(loaded.distances(rows), selection.distances(rows))
    assert loaded.to_json() == selection.to_json()


def test_a_loaded_selection_prepares_categories_and_missing_values():
    frame = with_missing(FRAME)
    preparation = Preparation(categories="gower", impute="mean")
    selection = select(frame, preparation=preparation, metric="manhattan")
    loaded = pb.Selection.from_json(selection.to_json())
    np.testing.assert_array_equal(loaded.distances(frame), selection.distances(frame))


def test_a_selection_without_preparation_stores_none():
    assert pb.Selection.from_json(select(NUMBERS).to_json()).preparation is None


def test_the_document_survives_json():
    fitted = Preparation(standardize=True, pca=2, impute="mean", categories="one-hot").fit(
        with_missing(FRAME)
    )
    loaded = FittedPreparation.from_document(json.loads(json.dumps(fitted.to_document())))
    np.testing.assert_array_equal(loaded.transform(FRAME), fitted.transform(FRAME))
    assert loaded.to_document() == fitted.to_document()


def broken_documents():
    """Yield invalid documents and the expected errors."""
    whole = Preparation(standardize=True, pca=2).fit(NUMBERS).to_document()
    yield {**whole, "version": 99}, "version 99, but this release reads 1"
    yield [], "version None"
    yield {k: v for k, v in whole.items() if k != "levels"}, "is incomplete .*levels"
    yield {**whole, "offsets": [1.0]}, r"offsets has shape \(1,\), not \(6,\)"
    yield {**whole, "components": [[1.0] * 5] * 2}, "components has shape"
    yield {**whole, "divisors": [None] * 6}, "divisors"
    yield {**whole, "parameters": {}}, "is incomplete"


@pytest.mark.parametrize(("document", "message"), list(broken_documents()))
def test_broken_documents_raise(document, message):
    with pytest.raises(InvalidInput, match=message):
        FittedPreparation.from_document(document)


# -- missing values -------------------------------------------------------------------------------


def test_missing_values_raise_with_their_counts():
    message = (
        r"source has missing values \(120 rows checked\): 3 in 'age', 1 in 'colour'\. Drop these "
        r"rows, or pass Preparation\(impute='median'\) \(--impute median on the command line\)\."
    )
    with pytest.raises(InvalidInput, match=message):
        select(with_missing(FRAME), preparation=Preparation(categories="one-hot"))


def test_missing_values_of_arrays_are_counted_by_position():
    rows = NUMBERS.copy()
    rows[[1, 2], 3] = np.nan
    with pytest.raises(InvalidInput, match=r"missing values \(200 rows checked\): 2 in column 3"):
        Preparation(standardize=True).fit(rows)


def test_a_long_list_of_columns_is_shortened():
    with pytest.raises(InvalidInput, match=r"1 in column 7, … \(20 in all\)"):
        Preparation().fit(np.full((1, 20), np.nan))


def test_missing_values_of_the_source_raise():
    with pytest.raises(InvalidInput, match=r"source has missing values \(120 .*\): 3 in 'age'"):
        select(with_missing(FRAME), FRAME, preparation=Preparation(categories="one-hot"))


def test_missing_values_of_later_rows_raise():
    selection = select(FRAME, preparation=Preparation(categories="one-hot"))
    with pytest.raises(InvalidInput, match=r"rows do not fit this selection: rows has missing val"):
        selection.assign(with_missing(FRAME))


def test_infinity_is_never_imputed():
    rows = WITH_MISSING.copy()
    rows[9, 2] = np.inf
    with pytest.raises(InvalidInput, match=r"contains inf .*column 2.*never imputed"):
        select(rows, preparation=Preparation(impute="mean"))
    with pytest.raises(InvalidInput, match=r"source contains inf at row 9 in column 2"):
        select(rows, WITH_MISSING, preparation=Preparation(impute="mean"))


def test_a_column_without_any_value_cannot_be_imputed():
    rows = WITH_MISSING.copy()
    rows[:, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"rows has no values in column 1 \(200 rows"):
        Preparation(impute="median").fit(rows)
    frame = FRAME.assign(city=None).astype({"city": "category"})
    with pytest.raises(InvalidInput, match=r"no values in 'city'"):
        Preparation(impute="median", categories="one-hot").fit(frame)


# -- large targets --------------------------------------------------------------------------------


class CountingArray:
    """An array that is read in parts and counts the rows read."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype
        self.handed_out = 0

    def __getitem__(self, where):
        rows = self.array[where]
        self.handed_out += len(rows)
        return rows


class CountingRows(Rows):
    """A user class of rows."""

    kind = "dense"
    dtype = np.dtype(np.float64)

    def __init__(self, array):
        self.array = array
        self.name = "target"
        self.n_columns = array.shape[1]

    def __len__(self):
        return len(self.array)

    def take(self, where):
        return self.array[where]

    def _bytes(self, ids):
        return self.array[ids].tobytes()


@pytest.fixture
def few_to_fit_on(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_ROWS", 64)


@prepared
def test_rows_read_in_parts_give_the_same_result_as_in_memory(preparation, few_to_fit_on):
    expected = select(NUMBERS[:40], NUMBERS, preparation=preparation)
    target = CountingArray(NUMBERS)
    found = select(NUMBERS[:40], target, preparation=preparation)
    assert isinstance(found.problem.target, PreparedRows)
    assert found.indices.tolist() == expected.indices.tolist()
    np.testing.assert_array_equal(found.costs, expected.costs)
    assert found.preparation.n_rows == 64
    assert found.fingerprints == expected.fingerprints


@prepared
def test_the_bits_of_a_row_do_not_depend_on_its_neighbours(preparation):
    fitted = preparation.fit(NUMBERS)
    rows = PreparedRows(fitted.table(NUMBERS, name="rows"), fitted, name="rows")
    whole = fitted.transform(NUMBERS)
    for where in (slice(3, 4), slice(0, 77), np.array([199, 5, 5, 60])):
        np.testing.assert_array_equal(rows.take(where), whole[where])


def test_only_the_requested_rows_are_read():
    target = CountingArray(np.ones((300_000, 2), dtype=np.float32))
    sides = prepare_sides(np.eye(2, dtype=np.float32), target, Preparation(normalize=True))
    assert target.handed_out == 65_536
    sides.target.take(np.array([5, 299_999]))
    sides.target.take(slice(10, 20))
    assert target.handed_out == 65_536 + 12


def test_a_memory_map_of_a_million_rows_is_not_read_into_memory(tmp_path):
    path = tmp_path / "rows.npy"
    written = np.lib.format.open_memmap(path, "w+", np.float32, (1_000_000, 8))
    written[:] = (np.arange(8_000_000, dtype=np.float32) % 1013).reshape(-1, 8)
    written.flush()
    target = np.load(path, mmap_mode="r")
    options = {"method": "random", "preparation": Preparation(standardize=True, pca=3)}
    source = np.array(target[:500])
    pb.select(source, target[:70_000], k=2, random_state=0, **options)
    tracemalloc.start()
    try:
        selection = pb.select(source, target, k=5, random_state=0, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(selection.problem.target, PreparedRows)
    assert selection.preparation.n_rows == 16_384
    assert peak < 30e6  # a tenth of the target would be 24 MB when prepared in float64


@pytest.mark.parametrize("n_bytes", [64, 256, 3072])
def test_fitting_reads_little_of_a_file_of_five_gigabytes(n_bytes):
    n = 5 * 2**30 // n_bytes
    starts = fitting._runs(n, fitting.MOST_ON_DISK, np.random.default_rng(0)) * n_bytes
    pages = np.unique(np.concatenate([starts, starts + n_bytes - 1]) // 4096)
    assert len(starts) == 16_384
    assert len(pages) * 4096 < 0.015 * n * n_bytes
    single = fitting._drawn(10**6, 65_536, np.random.default_rng(0)) * 256
    assert len(np.unique(single // 4096)) * 4096 > 0.6 * 10**6 * 256  # of 256 MB


def test_a_file_is_read_in_runs_spread_evenly(tmp_path):
    path = tmp_path / "rows.npy"
    rows = np.arange(400_003, dtype=np.float64).reshape(-1, 1)
    np.save(path, rows)
    table = as_table(open_rows(path), name="target")
    ids = fitting.fitting_sample(table, np.random.default_rng(0)).numbers.ravel()
    assert 16_384 - 16 < len(ids) <= 16_384
    assert (np.diff(ids) >= 1).all()
    assert (np.diff(ids) == 1).sum() >= 15 * 1023
    assert np.histogram(ids, bins=100, range=(0, 400_003))[0].min() > 100
    every = np.zeros(97, dtype=int)
    for seed in range(400):
        every[fitting._runs(97, 32, np.random.default_rng(seed))] += 1
    assert (every > 0).all()
    assert fitting._runs(30, 32, np.random.default_rng(0)).tolist() == list(range(30))


@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_file_sorted_by_class_is_standardized_as_a_shuffled_one(tmp_path, is_sorted):
    random = np.random.default_rng(0)
    classes = np.repeat([0.0, 10.0, 50.0], [300_000, 90_000, 10_000])
    rows = (classes + random.normal(size=len(classes)))[:, None]
    path = tmp_path / "rows.npy"
    np.save(path, rows if is_sorted else random.permutation(rows))
    fitted = Preparation(standardize=True).fit(path)
    np.testing.assert_allclose(fitted.offsets, rows.mean(), rtol=0.05)
    np.testing.assert_allclose(fitted.divisors, rows.std(), rtol=0.05)


def test_a_missing_value_outside_the_sample_raises_when_read(few_to_fit_on):
    rows = NUMBERS.copy()
    looked_at = fitting._drawn(200, 64, np.random.default_rng(0)).tolist()
    hidden = next(i for i in range(100, 200) if i not in looked_at)
    rows[hidden, 4] = np.nan
    target = CountingArray(rows)
    with pytest.raises(InvalidInput, match=f"target has a missing value at row {hidden} in column"):
        select(NUMBERS, target, preparation=Preparation(standardize=True))
    filled = select(NUMBERS, target, preparation=Preparation(standardize=True, impute="mean"))
    assert filled.k == 4


def test_a_user_class_of_rows_chooses_its_sample(few_to_fit_on):
    target = CountingRows(NUMBERS)
    selection = select(NUMBERS[:40], target, preparation=Preparation(standardize=True))
    sample = target.sample(64)
    np.testing.assert_allclose(selection.preparation.offsets, sample.mean(axis=0))
    by_class = select(
        NUMBERS[:40],
        target,
        k=4,
        preparation=selection.preparation,
        by=(np.arange(40) % 2, np.arange(200) % 2),
    )
    assert sorted(by_class.indices % 2) == [0, 0, 1, 1]


def test_rows_in_parts_are_compared_with_prototypes_of_another_precision():
    selection = select(NUMBERS, preparation=Preparation(standardize=True))
    found = selection.assign(CountingArray(NUMBERS.astype(np.float32)))
    np.testing.assert_array_equal(found.labels, selection.assign(NUMBERS).labels)
    assert found.distances.dtype == np.float64


def test_columns_of_rows_read_in_parts_are_matched_by_name():
    names = tuple("abcdef")
    expected = select(NUMBERS, preparation=Preparation(standardize=True))
    fitted = replace(expected.preparation, names=names, is_named=True)
    backwards = Columns(numbers=CountingArray(NUMBERS[:, ::-1]), names=names[::-1])
    found = select(NUMBERS, backwards, preparation=fitted)
    assert found.indices.tolist() == expected.indices.tolist()


def test_the_sample_depends_only_on_the_seed(few_to_fit_on):
    asked = Preparation(standardize=True)
    one, same = asked.fit(NUMBERS), asked.fit(NUMBERS)
    other = asked.fit(NUMBERS, random_state=7)
    np.testing.assert_array_equal(one.offsets, same.offsets)
    assert not np.array_equal(one.offsets, other.offsets)


def test_a_fingerprint_is_that_of_the_unprepared_rows():
    asked = Preparation(standardize=True, impute="mean")
    found = select(WITH_MISSING, preparation=asked).fingerprints
    other_nan = np.where(np.isnan(WITH_MISSING), np.copysign(np.nan, -1.0), WITH_MISSING)
    assert select(other_nan, preparation=asked).fingerprints == found
    assert select(WITH_MISSING, preparation=Preparation(impute="median")).fingerprints == found
    changed = WITH_MISSING.copy()
    changed[0, 0] = 0.5
    assert select(changed, preparation=asked).fingerprints != found


def test_files_are_prepared_like_the_rows_in_them(tmp_path):
    np.save(tmp_path / "rows.npy", NUMBERS)
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    asked = Preparation(standardize=True)
    expected = asked.fit(NUMBERS).transform(NUMBERS)
    fitted = asked.fit(tmp_path / "rows.npy")
    np.testing.assert_array_equal(fitted.transform(NUMBERS), expected)
    np.testing.assert_array_equal(fitted.transform(tmp_path / "rows.npy"), expected)
    mixed = Preparation(categories="one-hot").fit(str(tmp_path / "rows.csv"))
    np.testing.assert_allclose(mixed.transform(FRAME[::-1]), mixed.transform(FRAME)[::-1])


# -- sparse rows ----------------------------------------------------------------------------------

SPARSE = sp.random(60, 12, density=0.3, random_state=3, format="csr") * 10


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.coo_matrix, sp.csc_array])
def test_sparse_rows_are_scaled_but_not_centred(make):
    rows = make(SPARSE)
    scaled = Preparation(standardize=True).fit(rows).transform(rows)
    expected = StandardScaler(with_mean=False).fit_transform(SPARSE)
    np.testing.assert_allclose(scaled.toarray(), expected.toarray(), rtol=1e-9)


def test_sparse_rows_are_normalized():
    rows = sp.vstack([SPARSE, sp.csr_matrix((1, 12))]).tocsr()
    unit = Preparation(normalize=True).fit(rows).transform(rows)
    np.testing.assert_allclose(unit.toarray(), normalize(rows).toarray(), rtol=1e-9)


def test_sparse_rows_are_selected_from():
    asked = Preparation(standardize=True, normalize=True)
    selection = select(SPARSE, preparation=asked)
    scaled = normalize(StandardScaler(with_mean=False).fit_transform(SPARSE))
    expected = select(scaled)
    assert selection.indices.tolist() == expected.indices.tolist()
    loaded = pb.Selection.from_json(selection.to_json())
    np.testing.assert_array_equal(loaded.distances(SPARSE), selection.distances(SPARSE))
    np.testing.assert_allclose(selection.distances(SPARSE), expected.distances(scaled), atol=1e-9)


REFUSED_OF_SPARSE = {
    "pca": (Preparation(pca=2), "pca=2 does not support a sparse matrix .*TruncatedSVD"),
    "impute": (Preparation(impute="mean"), "impute='mean' does not support a sparse matrix"),
    "gower": (
        Preparation(categories="gower"),
        "categories='gower' does not support a sparse",
    ),
}


@pytest.mark.parametrize(
    ("preparation", "message"), REFUSED_OF_SPARSE.values(), ids=REFUSED_OF_SPARSE
)
def test_steps_that_do_not_support_sparse_rows_raise(preparation, message):
    with pytest.raises(InvalidInput, match=message):
        select(SPARSE, preparation=preparation, metric="manhattan")


def test_invalid_sparse_rows_raise():
    with pytest.raises(InvalidInput, match=r"source is a sparse matrix, but .*toarray\(\)"):
        select(SPARSE, SPARSE.toarray(), preparation=Preparation(standardize=True))
    fitted = Preparation(normalize=True).fit(SPARSE)
    with pytest.raises(InvalidInput, match=r"rows has 5 columns, but .* fitted on 12"):
        fitted.transform(SPARSE[:, :5])
    broken = SPARSE.copy()
    broken.data[0] = np.nan
    with pytest.raises(InvalidInput, match=r"source contains nan at row 0, column"):
        select(broken, preparation=Preparation(normalize=True))
    with pytest.raises(InvalidInput, match="sparse matrix of complex128"):
        Preparation().fit(SPARSE * 1j)


# -- errors ---------------------------------------------------------------------------------------

BAD_PREPARATIONS = {
    "standardize": ({"standardize": "yes"}, "standardize='yes' is not allowed. Pass True or False"),
    "normalize": ({"normalize": 1}, "normalize=1 is not allowed"),
    "no components": ({"pca": 0}, "pca=0 is not allowed. Pass a number of components >= 1"),
    "whole share": ({"pca": 1.0}, "pca=1.0 is not allowed.*such as 0.95"),
    "true": ({"pca": True}, "pca=True is not allowed"),
    "text": ({"pca": "half"}, "pca='half' is not allowed"),
    "nan": ({"pca": float("nan")}, "pca=nan is not allowed"),
    "categories": ({"categories": "onehot"}, r"categories='onehot' is not known.*'one-hot'"),
    "impute": ({"impute": ["mean"]}, r"impute=\['mean'\] is not known.*'median'"),
    "gower": (
        {"categories": "gower", "standardize": True, "pca": 3},
        "categories='gower' is given with standardize and pca",
    ),
}


@pytest.mark.parametrize(("fields", "message"), BAD_PREPARATIONS.values(), ids=BAD_PREPARATIONS)
def test_invalid_parameters_raise(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Preparation(**fields)


@pytest.mark.parametrize("value", [np.int32(3), np.float32(0.5), np.float64(0.5)])
def test_numpy_numbers_are_accepted(value):
    assert type(Preparation(pca=value).pca) in (int, float)


MANY = pd.DataFrame({"id": [f"row {i}" for i in range(5000)], "x": np.arange(5000.0)})
BAD_CALLS = {
    "not one": (FRAME, "standardize", "euclidean", r"preparation='standardize' is not a Prep"),
    "texts": (FRAME, Preparation(), "euclidean", r"not numbers: 'colour' \(string\), 'city'"),
    "metric": (FRAME, Preparation(categories="gower"), "euclidean", r"metric='euclidean'. Pass me"),
    "matrix": (np.eye(3), Preparation(), "precomputed", r"no rows to prepare"),
    "components": (NUMBERS, Preparation(pca=7), "euclidean", r"pca=7 exceeds the 6 components"),
    "rows": (NUMBERS[:3], Preparation(pca=4), "euclidean", r"exceeds the 3 components of 3 rows"),
    "share": (np.eye(2, 5000), Preparation(pca=0.9), "euclidean", r"components of 5,000 columns"),
    "ids": (MANY, Preparation(categories="one-hot"), "euclidean", r"5,000 different texts in 'id'"),
    "no rows": (NUMBERS[:0], Preparation(), "euclidean", r"source has 0 rows"),
    "no columns": (NUMBERS[:, :0], Preparation(), "euclidean", r"source has no columns"),
    "texts only": (["a", "b"], Preparation(), "euclidean", r"source has shape \(2,\)"),
    "nothing": (None, Preparation(), "euclidean", r"source is a NoneType"),
    "huge": (
        NUMBERS * 1e200,
        Preparation(standardize=True),
        "euclidean",
        r"column 0 whose squares",
    ),
    "huge axes": (NUMBERS * 1e200, Preparation(pca=2), "euclidean", r"squares overflow.*standard"),
}


@pytest.mark.parametrize(
    ("rows", "preparation", "metric", "message"), BAD_CALLS.values(), ids=BAD_CALLS
)
def test_invalid_calls_raise(rows, preparation, metric, message):
    with pytest.raises(InvalidInput, match=message):
        pb.select(rows, k=1, preparation=preparation, metric=metric)


BAD_ROWS = {
    "missing": (
        FRAME[["age", "city"]],
        r"rows has no column\(s\) 'income', 'colour'.*'age', 'city'",
    ),
    "renamed": (
        FRAME.rename(columns={"age": "years"}),
        r"rows has no column\(s\) 'age', which .* \(it has 'years', 'income'",
    ),
    "numbers": (FRAME.assign(age="old"), r"rows has categories in column 'age', but .* on numbers"),
    "unnamed": (np.zeros((2, 4)), r"do not both have column names.*'age', 'income', 'colour'"),
    "too few": (np.zeros((2, 3)), r"rows has 3 columns, but the preparation was fitted on 4"),
    "columns": (
        Columns(numbers=np.zeros((2, 4)), names=("age", "income", "colour", "city")),
        r"rows has numbers in column 'colour', but .* on categories there",
    ),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_with_other_columns_raise(rows, message):
    selection = select(FRAME, preparation=Preparation(categories="one-hot"))
    with pytest.raises(InvalidInput, match=f"rows do not fit this selection: .*{message}"):
        selection.assign(rows)


def test_a_frame_is_matched_by_position_if_the_fitted_rows_had_no_names():
    fitted = Preparation(standardize=True).fit(NUMBERS)
    frame = pd.DataFrame(NUMBERS, columns=[f"c{at}" for at in range(NUMBERS.shape[1])])
    np.testing.assert_array_equal(fitted.transform(frame), fitted.transform(NUMBERS))


def test_rows_that_overflow_when_prepared_raise():
    fitted = Preparation(standardize=True).fit(np.float32([[0.0], [1e-30]]))
    with pytest.raises(InvalidInput, match="overflow float32 when prepared"):
        fitted.transform(np.float32([[1e30]]))


def test_rows_of_other_kinds_raise():
    from protobandit.rows.rows import ObjectRows

    with pytest.raises(InvalidInput, match="rows holds objects rows, which cannot be prepared"):
        Preparation().fit(ObjectRows(["a"], name="rows"))


# -- estimators -----------------------------------------------------------------------------------


def test_a_selector_prepares_frames():
    frame = with_missing(FRAME)
    preparation = Preparation(categories="gower", impute="median")
    selector = pb.PrototypeSelector(
        4, metric="manhattan", preparation=preparation, method="lazygreedy"
    ).fit(frame)
    expected = select(frame, metric="manhattan", preparation=preparation)
    assert selector.prototype_indices_.tolist() == expected.indices.tolist()
    assert selector.prototypes_.equals(frame.iloc[expected.indices])
    assert selector.feature_names_in_.tolist() == list(frame.columns)
    assert (selector.predict(frame) == expected.assign(frame).labels).all()
    assert (selector.labels_ == selector.predict(frame)).all()


def test_a_selector_is_cloned_and_pickled_with_its_preparation():
    preparation = Preparation(standardize=True, impute="mean")
    selector = pb.PrototypeSelector(3, preparation=preparation)
    assert clone(selector).preparation == preparation
    fitted = selector.fit(WITH_MISSING)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert (loaded.predict(WITH_MISSING) == fitted.predict(WITH_MISSING)).all()
    np.testing.assert_array_equal(loaded.transform(WITH_MISSING), fitted.transform(WITH_MISSING))


def test_a_selector_raises_for_missing_values_that_are_not_imputed():
    for preparation in (None, Preparation(standardize=True)):
        with pytest.raises(ValueError, match="contains NaN"):
            pb.PrototypeSelector(3, preparation=preparation).fit(WITH_MISSING)
    frame = pd.DataFrame(WITH_MISSING).rename(columns=str)
    with pytest.raises(InvalidInput, match="missing values"):
        pb.PrototypeSelector(3, preparation=Preparation()).fit(frame)


def test_a_selector_does_not_fit_on_rows_of_weight_zero():
    weights = np.r_[np.ones(150), np.zeros(50)]
    rows = np.vstack([NUMBERS[:150], NUMBERS[150:] * 100])
    selector = pb.PrototypeSelector(3, preparation=Preparation(standardize=True))
    selector.fit(rows, sample_weight=weights)
    alone = pb.PrototypeSelector(3, preparation=Preparation(standardize=True)).fit(rows[:150])
    assert selector.prototype_indices_.tolist() == alone.prototype_indices_.tolist()
    np.testing.assert_array_equal(selector.predict(rows), alone.predict(rows))


def test_a_selector_fits_on_a_separate_target():
    selector = pb.PrototypeSelector(3, preparation=Preparation(standardize=True))
    selector.fit(NUMBERS[:50], target=pb.Target(NUMBERS[50:] * 2))
    expected = StandardScaler().fit(NUMBERS[50:] * 2)
    np.testing.assert_allclose(selector.selection_.preparation.offsets, expected.mean_)
