"""Tables of any library as columns of numbers and of categories."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from protobandit import InvalidInput
from protobandit.rows.frames import as_columns

pa = pytest.importorskip("pyarrow")

CELLS = {
    "age": [31, None, 45],
    "height": [1.5, 1.75, None],
    "is_member": [True, False, None],
    "colour": ["red", None, "blue"],
}


def as_pandas():
    return pd.DataFrame(CELLS)


def as_nullable_pandas():
    return pd.DataFrame(CELLS).astype(
        {"age": "Int64", "height": "Float64", "is_member": "boolean", "colour": "category"}
    )


def as_arrow():
    return pa.table(CELLS)


TABLES = {
    "pandas": as_pandas,
    "nullable pandas": as_nullable_pandas,
    "arrow-backed pandas": lambda: as_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(CELLS),
    "polars categorical": lambda: pl.DataFrame(CELLS).cast({"colour": pl.Categorical}),
    "arrow": as_arrow,
    "arrow dictionary": lambda: as_arrow().set_column(
        3, "colour", as_arrow()["colour"].dictionary_encode()
    ),
    "arrow in chunks": lambda: pa.concat_tables([as_arrow().slice(0, 1), as_arrow().slice(1)]),
    "record batch": lambda: as_arrow().to_batches()[0],
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_every_library_gives_the_same_columns(make):
    columns = as_columns(make())
    assert columns.names == ("age", "height", "is_member")
    assert columns.features == ("age", "height", "is_member", "colour")
    assert columns.is_named
    assert columns.shape == (3, 4)
    np.testing.assert_array_equal(
        columns.numbers, [[31, 1.5, 1], [np.nan, 1.75, 0], [45, np.nan, np.nan]]
    )
    assert columns.categories["colour"].tolist() == ["red", None, "blue"]


def test_rows_of_objects_have_positions_for_names():
    rows = [[1, "red", None], [2.5, None, 3]]
    for data in (rows, np.array(rows, dtype=object)):
        columns = as_columns(data)
        assert not columns.is_named
        assert columns.names == ("0", "2")
        np.testing.assert_array_equal(columns.numbers, [[1, np.nan], [2.5, 3]])
        assert columns.categories["1"].tolist() == ["red", None]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_an_array_is_not_copied(dtype):
    array = np.arange(6, dtype=dtype).reshape(3, 2)
    columns = as_columns(array)
    assert columns.numbers is array
    assert columns.names == ("0", "1")
    assert not columns.is_named


def test_masked_numbers_are_missing():
    masked = np.ma.masked_array(np.arange(4).reshape(2, 2), mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(as_columns(masked).numbers, [[0, np.nan], [2, 3]])


def test_narrow_numbers_stay_narrow():
    frame = pd.DataFrame({"a": np.float32([1, 2]), "b": np.int16([1, 2])})
    assert as_columns(frame).numbers.dtype == np.float32
    assert as_columns(pl.from_pandas(frame)).numbers.dtype == np.float32
    assert as_columns(pa.Table.from_pandas(frame)).numbers.dtype == np.float32
    assert as_columns(frame.assign(c=[1.0, 2.0])).numbers.dtype == np.float64


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_numbers_can_be_read_as_categories(make):
    columns = as_columns(make(), categories=["age"])
    assert columns.names == ("height", "is_member")
    assert columns.categories["age"].tolist() == ["31", None, "45"]


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_only_wanted_columns_are_read(make):
    assert as_columns(make(), only=["colour", "age"]).features == ("age", "colour")


def test_unwanted_columns_may_hold_anything():
    frame = pd.DataFrame({"a": [1.0], "when": [datetime.date(2020, 1, 1)], "b": [2.0]})
    assert as_columns(frame, only=["a", "b"]).names == ("a", "b")
    with pytest.raises(InvalidInput, match=r"target has column\(s\).*'when' \(date\)"):
        as_columns(frame, name="target")


def test_columns_are_returned_unchanged():
    columns = as_columns(as_pandas())
    assert as_columns(columns) is columns


BAD_TABLES = {
    "a number": (3, "target is a int, not a table"),
    "a text": ("rows.npy", "target is a str, not a table"),
    "one dimension": (np.arange(3.0), r"shape \(3,\) and type float64"),
    "complex": (np.eye(2) * 1j, "type complex128"),
    "ragged": ([[1.0], [1.0, 2.0]], "rows of different lengths"),
    "lists": (pa.table({"v": [[1.0], [2.0]]}), r"'v' \(list<"),
    "polars lists": (pl.DataFrame({"v": [[1.0], [2.0]]}), r"'v' \(List"),
    "dates": (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), r"'d' \(datetime64"),
    "objects": (pd.DataFrame({"o": [{1}, {2}]}), r"'o' \(set\)"),
    "twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the column 'a' more than once"),
}


@pytest.mark.parametrize(("data", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_input_that_is_not_a_table_raises(data, message):
    with pytest.raises(InvalidInput, match=message):
        as_columns(data, name="target")
