"""Prototypes as a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray
from scipy import sparse

import brute
import protobandit as pb

ROWS = brute.normal(30, 2)
TABLE = {
    "x": ROWS[:, 0],
    "y": ROWS[:, 1],
    "name": [f"n{i}" for i in range(30)],
    "cost": np.arange(30),
}


@pytest.fixture
def selection():
    numbers = pd.DataFrame({"x": ROWS[:, 0], "y": ROWS[:, 1]})
    constraints = pb.Constraints(fixed=[7])
    return pb.select(numbers, k=4, constraints=constraints, random_state=0)


def test_own_columns(selection):
    frame = selection.to_frame()
    names = ["rank", "row", "mass", "gain", "cost", "is_fixed", "x", "y"]
    assert frame.columns.tolist() == names
    assert frame["row"].tolist() == selection.indices.tolist()
    assert frame["is_fixed"].tolist() == [i == 7 for i in selection.indices]
    np.testing.assert_allclose(frame[["x", "y"]], ROWS[selection.indices])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_frame_is_of_the_library_of_the_rows(selection, make):
    frame = selection.to_frame(make(TABLE))
    assert isinstance(frame, type(make({"a": [1]})))
    columns = frame.to_pydict() if make is pa.table else {n: list(frame[n]) for n in frame.columns}
    assert columns["name"] == [f"n{i}" for i in selection.indices]
    assert columns["source_cost"] == selection.indices.tolist()
    assert columns["cost"] == selection.costs.tolist()


def test_arrays_and_lists(selection):
    assert selection.to_frame(ROWS)["column 1"].tolist() == ROWS[selection.indices, 1].tolist()
    words = [f"word {i}" for i in range(30)]
    assert selection.to_frame(words)["value"].tolist() == [words[i] for i in selection.indices]
    with pytest.raises(pb.InvalidInput, match="rows has 29 rows but the source has 30"):
        selection.to_frame(ROWS[:29])


def test_labels_of_classes():
    chosen = pb.select(ROWS, k=4, by=["a", "b"] * 15)
    assert chosen.to_frame()["label"].tolist() == list(chosen.prototype_labels)


def test_sparse_rows_and_repeated_names(selection):
    frame = selection.to_frame(sparse.csr_array(ROWS))
    np.testing.assert_allclose(frame["column 1"], ROWS[selection.indices, 1])
    with pytest.raises(pb.InvalidInput, match="several columns of one name"):
        selection.to_frame(pd.DataFrame(ROWS, columns=["a", "a"]))


def test_a_column_of_vectors_is_one_column():
    frame = pl.DataFrame({"id": range(30), "v": ROWS})
    selection = pb.select(frame, k=3, random_state=0)
    found = selection.to_frame()
    assert found.columns.tolist() == ["rank", "row", "mass", "gain", "cost", "v"]
    np.testing.assert_allclose(np.stack(found["v"]), ROWS[selection.indices])


def _dicts():
    return [{name: values[i] for name, values in TABLE.items()} for i in range(30)]


def _file(folder):
    path = folder / "rows.parquet"
    pl.DataFrame(TABLE).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda folder: _dicts(), id="dicts"),
        pytest.param(lambda folder: pl.DataFrame(TABLE).lazy(), id="lazy"),
        pytest.param(_file, id="path"),
        pytest.param(lambda folder: str(_file(folder)), id="text"),
        pytest.param(lambda folder: TABLE, id="columns"),
        pytest.param(
            lambda folder: xarray.Dataset({n: ("row", np.array(v)) for n, v in TABLE.items()}),
            id="dataset",
        ),
    ],
)
def test_rows_from_anywhere(selection, tmp_path, make):
    frame = selection.to_frame(make(tmp_path))
    assert list(frame["name"]) == [f"n{i}" for i in selection.indices]
    assert selection.report(tmp_path / "page.html", rows=make(tmp_path), labels="name").exists()
    loaded = pb.Selection.from_json(selection.to_json())
    assert list(loaded.to_frame(make(tmp_path))["name"]) == [f"n{i}" for i in selection.indices]


def test_too_few_rows_are_refused(selection):
    with pytest.raises(pb.InvalidInput, match="rows has 29 rows but the source has 30"):
        selection.to_frame(_dicts()[1:])
    with pytest.raises(pb.InvalidInput, match="rows has 0 rows"):
        selection.to_frame(5)
