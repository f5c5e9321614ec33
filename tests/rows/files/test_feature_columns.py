"""The compared columns of frames: vectors, and what stands beside them."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import protobandit as pb
from protobandit import InvalidInput, Preparation
from protobandit.foundation.run_warning import WarningKind

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 40
ROWS = np.random.default_rng(0).normal(size=(N, 3))
TEXTS = [f"text {i}" for i in range(N)]
DAY = datetime.date(2024, 2, 29)
LISTS = pa.array(ROWS.tolist())
OTHERS = {"id": np.arange(N), "text": TEXTS}
FRAMES = {
    "pandas arrays": pd.DataFrame({**OTHERS, "v": list(ROWS)}),
    "pandas lists": pd.DataFrame({**OTHERS, "v": ROWS.tolist()}),
    "pandas arrow": pd.DataFrame(
        {**OTHERS, "v": pd.Series(LISTS, dtype=pd.ArrowDtype(LISTS.type))}
    ),
    "polars list": pl.DataFrame({**OTHERS, "v": ROWS.tolist()}),
    "polars array": pl.DataFrame({**OTHERS, "v": ROWS}),
    "pyarrow list": pa.table({**OTHERS, "v": LISTS}),
    "pyarrow fixed": pa.table({**OTHERS, "v": LISTS.cast(pa.list_(pa.float64(), 3))}),
    "pyarrow chunks": pa.concat_tables(
        [pa.table({**OTHERS, "v": LISTS}).slice(at, 20) for at in (0, 20)]
    ),
    "pyarrow batch": pa.record_batch({**OTHERS, "v": LISTS}),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


def select(*rows, k=3, **options):
    return pb.select(*rows, k=k, method="lazygreedy", random_state=0, **options)


@every_frame
@pytest.mark.parametrize("preparation", [None, Preparation(standardize=True)])
def test_vectors_are_the_rows(frame, preparation):
    truth = select(ROWS, preparation=preparation)
    found = select(frame, preparation=preparation)
    assert found.indices.tolist() == truth.indices.tolist()
    assert found.cost == truth.cost
    assert found.columns == ("v",)
    beside = "beside the vectors of 'v'"
    assert found.columns_left_out == {"id": beside, "text": beside}
    assert "Compared columns: 'v'. Left out: 'id', 'text' (beside the vectors" in found.status
    assert found.warnings == ()
    loaded = pb.Selection.from_json(found.to_json())
    assert loaded.columns_left_out == found.columns_left_out
    for rows in (frame, ROWS):
        labels = truth.assign(ROWS).labels
        np.testing.assert_array_equal(found.assign(rows).labels, labels)
        np.testing.assert_array_equal(loaded.assign(rows).labels, labels)


@every_frame
def test_a_target_of_another_library_and_order(frame):
    target = pl.DataFrame({"v": ROWS[5:], "more": TEXTS[5:]})
    assert select(frame, target).cost == select(ROWS, ROWS[5:]).cost


def test_a_fitted_preparation_finds_its_vectors():
    frame = FRAMES["pandas lists"]
    fitted = select(frame, preparation=Preparation(standardize=True)).preparation
    np.testing.assert_array_equal(fitted.transform(frame), fitted.transform(ROWS))
    again = select(frame, preparation=fitted)
    assert again.columns_left_out["id"] == "not used by the preparation"


def test_vectors_beside_dates_and_several_vectors():
    frame = pl.DataFrame({"day": [DAY] * N, "v": ROWS, "w": ROWS[:, :1]})
    found = select(frame)
    assert found.columns == ("v", "w")
    assert found.columns_left_out == {"day": "beside the vectors of 'v', 'w'"}
    assert found.cost == select(np.hstack([ROWS, ROWS[:, :1]])).cost


def test_texts_as_categories_are_compared_too():
    frame = pd.DataFrame({"v": list(ROWS), "city": ["a", "b"] * (N // 2), "n": ROWS[:, 0]})
    found = select(frame, preparation=Preparation(categories="one-hot"))
    assert found.columns == ("v", "city", "n")
    assert found.preparation.names == ("v[0]", "v[1]", "v[2]", "n")
    assert list(found.preparation.levels) == ["city"]


def test_estimators_take_vectors():
    frame = FRAMES["pandas lists"]
    fitted = pb.KMedoids(3, random_state=0).fit(frame)
    assert fitted.n_features_in_ == 3
    np.testing.assert_array_equal(fitted.predict(frame), fitted.predict(ROWS))


BAD = {
    "ragged": ([[1.0], [1.0, 2.0]], "a vector of 2 number(s) in column 'v' at row 1"),
    "missing": ([[1.0], None], "no vector in column 'v' at row 1"),
    "first missing": ([None, [1.0]], "no vector, or an empty one, in column 'v' at row 0"),
    "empty": ([[], [1.0]], "no vector, or an empty one, in column 'v' at row 0"),
    "a number is missing": ([[1.0, 2.0], [3.0, None]], "1 in 'v[1]'"),
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("vectors", "message"), BAD.values(), ids=BAD)
def test_bad_vectors_raise(make, vectors, message):
    with pytest.raises(InvalidInput) as caught:
        select(make({"v": vectors}), k=1)
    assert message in str(caught.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_lists_of_texts_are_not_vectors(make):
    with pytest.raises(InvalidInput, match=r"not numbers: 'v' \(.*Pass the frame without \['v'\]"):
        select(make({"x": [1.0, 2.0], "v": [["a"], ["b"]]}), k=1)


def test_names_that_are_positions_are_reported_if_columns_are_left_out():
    frame = pd.DataFrame({0: np.arange(N), 1: list(ROWS)})
    found = select(frame)
    assert found.columns == ("1",)
    assert found.columns_left_out == {"0": "beside the vectors of '1'"}
    assert found.assign(ROWS).labels.tolist() == found.assign(frame).labels.tolist()


def test_warnings_name_the_option_of_python():
    frame = pd.DataFrame({"id": np.arange(N), "x": ROWS[:, 0] * 1e5})
    found = select(frame)
    kinds = [warning.kind for warning in found.warnings]
    assert kinds == [WarningKind.ID_COLUMN, WarningKind.UNEQUAL_SCALES]
    assert "pass the frame without ['id']" in found.status
    assert "Pass preparation=Preparation(standardize=True)" in found.status
    prepared = select(frame, preparation=Preparation(standardize=True))
    assert [warning.kind for warning in prepared.warnings] == [WarningKind.ID_COLUMN]
    assert select(frame, metric="canberra").warnings == found.warnings[:1]
    assert select(frame.to_numpy()).warnings == ()
    by_class = select(frame, k=2, by=np.arange(N) % 2)
    assert by_class.warnings == found.warnings


def test_columns_that_the_source_lacks_are_ignored():
    source = pd.DataFrame(ROWS, columns=list("abc"))
    more = source.assign(note="text")
    assert select(source, more).cost == select(source).cost
    found = select(source)
    np.testing.assert_array_equal(found.assign(more).labels, found.assign(source).labels)


def test_row_numbers_of_pandas_are_left_out():
    frame = pd.DataFrame({"Unnamed: 0": np.arange(N), "x": ROWS[:, 0]})
    assert select(frame).columns == ("x",)
