"""Tables of any library as columns of numbers and of categories."""

from __future__ import annotations

import datetime

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import protobandit as pb
from protobandit import InvalidInput
from protobandit.data import open_rows
from protobandit.rows import frames
from protobandit.rows.files.opening import as_opened
from protobandit.rows.preparation.tables import as_table

pa = pytest.importorskip("pyarrow")


class Wanted:
    """What `as_opened` asks of a preparation."""

    def __init__(self, features=(), levels=()):
        self.features, self.levels = features, levels


def as_columns(data, *, name="rows", only=(), categories=()):
    wanted = Wanted(only, categories)
    opened = as_opened(data, name=name, preparation=wanted, has_categories=True)
    return as_table(opened, name=name)


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
    with pytest.raises(InvalidInput, match=r"target: .* has column\(s\).*'when' \(date32"):
        as_columns(frame, name="target")


def test_columns_are_returned_unchanged():
    columns = as_columns(as_pandas())
    assert as_columns(columns) is columns


BAD_TABLES = {
    "a number": (3, "target is a int, not a table"),
    "one dimension": (np.arange(3.0), r"shape \(3,\) and type float64"),
    "complex": (np.eye(2) * 1j, "type complex128"),
    "ragged": ([[1.0], [1.0, 2.0]], "rows of different lengths"),
    "lists of texts": (pa.table({"v": [["a"], ["b"]]}), r"'v' \(list<"),
    "polars lists of texts": (pl.DataFrame({"v": [["a"], ["b"]]}), r"'v' \(large_list<"),
    "dates": (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), r"'d' \(timestamp"),
    "objects": (pd.DataFrame({"o": [{1}, {2}]}), r"'o' \(struct<set"),
    "twice": (pd.DataFrame([[1, "b"]], columns=["a", "a"]), "the column 'a' more than once"),
}


@pytest.mark.parametrize(("data", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_input_that_is_not_a_table_raises(data, message):
    with pytest.raises(InvalidInput, match=message):
        as_columns(data, name="target")


# -- vectors, Series, lists of dicts --------------------------------------------------------------

VECTORS = np.random.default_rng(1).normal(size=(30, 3)).astype(np.float32)
FRAMES_OF_VECTORS = {
    "pandas lists": lambda: pd.DataFrame({"v": VECTORS.tolist()}),
    "pandas arrays": lambda: pd.DataFrame({"v": list(VECTORS)}),
    "pandas arrow": lambda: pa.table({"v": VECTORS.tolist()}).to_pandas(types_mapper=pd.ArrowDtype),
    "polars lists": lambda: pl.DataFrame({"v": VECTORS.tolist()}),
    "polars arrays": lambda: pl.DataFrame({"v": VECTORS}),
    "lazy polars": lambda: pl.LazyFrame({"v": VECTORS}),
    "arrow": lambda: pa.table({"v": VECTORS.tolist()}),
    "dicts": lambda: [{"v": vector} for vector in VECTORS],
    "pandas series": lambda: pd.Series(list(VECTORS), name="v"),
    "polars series": lambda: pl.Series("v", VECTORS),
    "arrow array": lambda: pa.array(VECTORS.tolist()),
    "arrow chunks": lambda: pa.chunked_array([VECTORS[:4].tolist(), VECTORS[4:].tolist()]),
}


@pytest.mark.parametrize("make", FRAMES_OF_VECTORS.values(), ids=FRAMES_OF_VECTORS)
def test_vectors_in_frames_are_rows_as_in_files(make):
    selection = pb.select(make(), k=3)
    expected = pb.select(VECTORS, k=3)
    assert selection.indices.tolist() == expected.indices.tolist()
    assert selection.cost == pytest.approx(expected.cost, rel=1e-6)
    labels = selection.assign(make()).labels
    np.testing.assert_array_equal(labels, expected.assign(VECTORS).labels)


@pytest.mark.parametrize("make", FRAMES_OF_VECTORS.values(), ids=FRAMES_OF_VECTORS)
def test_a_preparation_reads_vectors(make):
    preparation = pb.Preparation(standardize=True)
    selection = pb.select(make(), k=3, preparation=preparation)
    expected = pb.select(VECTORS, k=3, preparation=preparation)
    assert selection.indices.tolist() == expected.indices.tolist()
    np.testing.assert_array_equal(selection.assign(make()).labels, expected.assign(VECTORS).labels)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0]], [[1.0], None]])
def test_vectors_of_other_lengths_raise_with_their_row(rows):
    for data in (pd.Series(rows), pl.DataFrame({"values": rows}), pa.array(rows)):
        with pytest.raises(InvalidInput, match=r"column 'values' at row 1, where others have"):
            pb.select(data, k=1)


def test_rows_of_a_lazy_frame_are_collected():
    frame = pl.DataFrame(VECTORS, schema=["a", "b", "c"])
    assert pb.select(frame.lazy(), k=3).fingerprints == pb.select(frame, k=3).fingerprints


def test_a_list_of_dicts_is_a_table():
    rows = [{"a": 1, "b": 2.5}, {"b": 1.5, "a": 3}, {"a": 5, "b": 0.5}]
    selection = pb.select(rows, k=2)
    assert selection.columns == ("a", "b")
    assert selection.cost == pb.select([[1, 2.5], [3, 1.5], [5, 0.5]], k=2).cost
    with pytest.raises(InvalidInput, match=r"missing values .*: 1 in 'b'"):
        pb.select([*rows, {"a": 4}], k=2)
    mixed = [{**row, "t": text} for row, text in zip(rows, "xyx", strict=True)]
    with pytest.raises(InvalidInput, match=r"list of dicts has column.*'t'"):
        pb.select(mixed, k=2)
    assert pb.select(mixed, k=2, preparation=pb.Preparation(categories="gower")).k == 2


def test_a_user_metric_gets_the_dicts():
    rows = [{"a": 1}, {"a": 2}, {"a": 9}]
    assert pb.select(rows, k=1, metric=lambda x, y: abs(x["a"] - y["a"])).indices.tolist() == [1]


def test_a_named_index_is_not_a_column():
    frame = pd.DataFrame({"a": [1.0, 2.0], "n": [1, 2]}, index=pd.Index([7, 8], name="id"))
    assert pb.select(frame, k=1).columns == ("a", "n")


def test_columns_of_a_frame_are_chosen_as_those_of_a_file():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "t": ["x", "y"]})
    opened = open_rows(frame, columns=["b", "a"])
    assert opened.features == ("b", "a")
    assert opened.rows.tolist() == [[3, 1], [4, 2]]
    assert opened.column("t").tolist() == ["x", "y"]
    assert opened.records([1]) == {"a": [2.0], "b": [4.0], "t": ["y"]}
    assert open_rows(frame, without="t").features == ("a", "b")


def test_a_frame_of_one_type_is_not_copied():
    for dtype in (np.float32, np.int64):
        array = np.arange(6, dtype=dtype).reshape(3, 2)
        frame = pd.DataFrame(array, columns=["a", "b"])
        assert np.shares_memory(open_rows(frame).rows, frame.to_numpy())


def test_other_columns_of_later_frames_are_ignored():
    frame = pd.DataFrame(VECTORS, columns=["a", "b", "c"])
    selection = pb.select(frame, k=3)
    later = frame.assign(day=pd.Timestamp("2024-01-01"), id="x")[["id", "c", "day", "b", "a"]]
    np.testing.assert_array_equal(selection.assign(later).labels, selection.assign(frame).labels)
    assert pb.select(frame, later, k=3).cost == selection.cost


EMPTY = {
    "pandas": pd.DataFrame(),
    "pandas columns": pd.DataFrame({"a": [], "b": []}),
    "polars": pl.DataFrame(),
    "lazy": pl.LazyFrame({"a": []}),
    "arrow": pa.table({"a": []}),
    "series": pd.Series([], dtype=float),
    "series of objects": pd.Series([], dtype=object),
    "series of lists": pl.Series([], dtype=pl.List(pl.Float64)),
    "arrow array": pa.array([], pa.list_(pa.float32())),
}


@pytest.mark.parametrize("data", EMPTY.values(), ids=EMPTY)
def test_frames_without_rows_raise(data):
    with pytest.raises(InvalidInput, match="source has 0 rows"):
        pb.select(data, k=1)


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="requires a newer polars")
def test_numbers_that_numpy_does_not_have():
    frame = pl.DataFrame({"a": pl.Series([1, 2, 9], dtype=pl.Int128)})
    assert open_rows(frame).rows.tolist() == [[1], [2], [9]]


def test_columns_of_one_name():
    numbers = pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 5.0])], names=["a", "a"])
    assert open_rows(numbers).rows.tolist() == [[1, 3], [2, 5]]
    assert pb.select(numbers, k=1).columns is None
    texts = pa.table([pa.array([1.0, 2.0]), pa.array(["x", "y"])], names=["a", "a"])
    with pytest.raises(InvalidInput, match="the column 'a' more than once"):
        pb.select(texts, k=1)


def test_frames_of_narwhals_are_frames():
    frame = nw.from_native(pd.DataFrame(VECTORS, columns=["a", "b", "c"]))
    assert pb.select(frame, k=3).columns == ("a", "b", "c")
    assert pb.select(frame.lazy(), k=3).columns == ("a", "b", "c")


def test_a_query_that_fails_is_one_sentence():
    for query in (pl.col("nowhere"), pl.col("a").cast(pl.Int32)):
        with pytest.raises(InvalidInput, match=r"a lazy frame that cannot be collected: [^\n]*$"):
            pb.select(pl.LazyFrame({"a": ["x"]}).select(query), k=1)


def test_a_lazy_frame_of_another_machine_is_refused():
    class Lazy:
        class implementation:  # noqa: N801
            value = "pyspark"
            is_polars = is_duckdb = staticmethod(lambda: False)

    with pytest.raises(InvalidInput, match="lazy frame of pyspark, which is not read into memory"):
        frames._collected(Lazy, "source")


def test_numbers_and_texts_in_one_column_are_categories():
    frame = pd.DataFrame({"a": [1, "x", 1, "x"], "b": [1.0, 2.0, 3.0, 4.0]})
    selection = pb.select(frame, k=1, preparation=pb.Preparation(categories="one-hot"))
    assert selection.preparation.levels == {"a": ("1", "x")}
