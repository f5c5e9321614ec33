from __future__ import annotations

from collections import deque
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from protobandit import InvalidInput
from protobandit.rows import convert
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opening import as_opened
from protobandit.rows.rows import DenseRows, ObjectRows, SparseRows

TABLE = [[1, 0, 3], [0, 5, 0], [7, 0, 9], [2, 2, 2]]
NUMBERS = np.array(TABLE, dtype=np.float64)


def rows_of(data, name="source", **options):
    return as_rows(as_opened(data, name=name, **options), name=name, **options)


def whole(rows):
    block = rows.take(slice(0, len(rows)))
    return block.toarray() if sp.issparse(block) else block


def mapped(folder, array):
    path = folder / "rows.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


DENSE = {
    "C order": NUMBERS,
    "F order": np.asfortranarray(NUMBERS),
    "strided": np.repeat(np.repeat(NUMBERS, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": NUMBERS[::-1].copy()[::-1],
    "big-endian": NUMBERS.astype(">f8"),
    "read-only": np.frombuffer(NUMBERS.tobytes()).reshape(NUMBERS.shape),
    "matrix": np.asmatrix(NUMBERS),
    "masked, nothing hidden": np.ma.array(NUMBERS, mask=np.zeros(NUMBERS.shape, dtype=bool)),
    "objects": NUMBERS.astype(object),
    "decimals": [[Decimal(value) for value in row] for row in TABLE],
    "list": TABLE,
    "tuple of tuples": tuple(map(tuple, TABLE)),
    "list of arrays": list(NUMBERS),
    "deque": deque(TABLE),
    "pandas": pd.DataFrame(TABLE),
    "pandas, odd index": pd.DataFrame(TABLE, index=[9, 9, 1, 0], columns=["a", "a", "b"]),
    "pandas, int and float": pd.DataFrame(NUMBERS).astype({0: np.int64, 2: np.float32}),
    "pandas, nullable": pd.DataFrame(TABLE).astype({0: "Int64", 1: "Float64", 2: "Int8"}),
    "pandas, sparse": pd.DataFrame(NUMBERS).astype(pd.SparseDtype("float64", 0)),
    "polars": pl.DataFrame(TABLE, orient="row"),
    "polars, int and float": pl.DataFrame(
        {"a": NUMBERS[:, 0], "b": [0, 5, 0, 2], "c": NUMBERS[:, 2].astype(np.float32)}
    ),
    "polars, decimal": pl.DataFrame(TABLE, orient="row").with_columns(
        pl.col("column_0").cast(pl.Decimal(10, 2))
    ),
}


@pytest.mark.parametrize("data", DENSE.values(), ids=DENSE)
def test_tables_of_numbers_become_the_same_rows(data):
    rows = rows_of(data)
    assert isinstance(rows, DenseRows)
    assert (len(rows), rows.n_columns, rows.kind, rows.name) == (4, 3, "dense", "source")
    assert type(whole(rows)) is np.ndarray
    np.testing.assert_array_equal(whole(rows), NUMBERS)
    assert rows.fingerprint() == rows_of(NUMBERS).fingerprint()


BOOLS = {
    "numpy": NUMBERS > 2,
    "pandas": pd.DataFrame(NUMBERS > 2),
    "pandas, with numbers": pd.DataFrame(NUMBERS > 2).astype({1: np.float32}),
    "pandas, nullable": pd.DataFrame(NUMBERS > 2).astype("boolean"),
    "polars": pl.DataFrame(NUMBERS > 2),
    "polars, with numbers": pl.DataFrame(NUMBERS > 2).with_columns(
        pl.col("column_1").cast(pl.Int8)
    ),
}


@pytest.mark.parametrize("data", BOOLS.values(), ids=BOOLS)
def test_booleans_are_zeros_and_ones(data):
    np.testing.assert_array_equal(whole(rows_of(data)), NUMBERS > 2)
    assert rows_of(data).dtype == np.float32


WORKING = {
    "bool": "float32",
    "int8": "float32",
    "uint8": "float32",
    "int16": "float32",
    "uint16": "float32",
    "float16": "float32",
    "float32": "float32",
    "int32": "float64",
    "uint32": "float64",
    "int64": "float64",
    "uint64": "float64",
    "float64": "float64",
    "longdouble": "float64",
}


@pytest.mark.parametrize(("given", "working"), WORKING.items(), ids=WORKING)
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_are_read_in_a_type_that_represents_them(given, working, order):
    is_integer = np.dtype(given).kind in "iu"
    least, most = (np.iinfo(given).min, np.iinfo(given).max) if is_integer else (0, 1)
    values = np.array([[least, 0, 1], [most, 1, 1]], dtype=given, order=order)
    rows = rows_of(values)
    block = rows.take(np.array([1, 0]))
    assert rows.dtype == block.dtype == np.dtype(working)
    np.testing.assert_array_equal(block, values[::-1].astype(working))


@pytest.mark.parametrize(
    ("data", "working"),
    [
        (pd.DataFrame(NUMBERS.astype(np.float32)), "float32"),
        (pd.DataFrame(TABLE, dtype="int16"), "float32"),
        (pd.DataFrame(TABLE, dtype="Float32"), "float32"),
        (pd.DataFrame(TABLE, dtype="Int16"), "float32"),
        (pd.DataFrame(TABLE, dtype="Int32"), "float64"),
        (pd.DataFrame(TABLE).astype({0: "Float32", 1: "int8", 2: "float32"}), "float32"),
        (pl.DataFrame(NUMBERS.astype(np.float32)), "float32"),
        (pl.DataFrame(NUMBERS.astype(np.uint8)), "float32"),
    ],
)
def test_frames_keep_narrow_types(data, working):
    assert rows_of(data).dtype == np.dtype(working)
    np.testing.assert_array_equal(whole(rows_of(data)), NUMBERS)


def test_float32_is_read_without_a_copy():
    narrow = NUMBERS.astype(np.float32)
    assert np.shares_memory(rows_of(narrow).take(slice(1, 3)), narrow)
    frame = pd.DataFrame(narrow)
    assert np.shares_memory(rows_of(frame).take(slice(1, 3)), frame.to_numpy())


SPARSE = {
    f"{kind} {flavour}": getattr(sp, f"{kind}_{flavour}")(NUMBERS)
    for kind in ("csr", "csc", "coo", "lil", "bsr")
    for flavour in ("array", "matrix")
}


@pytest.mark.parametrize("data", SPARSE.values(), ids=SPARSE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
def test_sparse_kinds_become_the_same_rows(data, dtype):
    rows = rows_of(data.astype(dtype))
    assert isinstance(rows, SparseRows)
    assert rows.take(slice(0, 4)).format == "csr"
    assert rows.dtype == rows.take(slice(0, 2)).dtype == WORKING[dtype]
    assert (len(rows), rows.n_columns, rows.kind) == (4, 3, "sparse")
    np.testing.assert_array_equal(whole(rows), NUMBERS.astype(dtype))
    assert rows.fingerprint() == rows_of(sp.csr_array(NUMBERS.astype(dtype))).fingerprint()


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_duplicates_are_summed_and_columns_sorted_in_a_copy(make):
    data, columns, starts = [9.0, 4.0, 3.0, 0.0, 5.0], [2, 0, 0, 1, 1], [0, 3, 5]
    given = make((data, columns, starts), shape=(2, 3))
    rows = rows_of(given)
    np.testing.assert_array_equal(whole(rows), [[7, 0, 9], [0, 5, 0]])
    assert rows.matrix.has_canonical_format
    np.testing.assert_array_equal(given.indices, columns)
    assert rows.fingerprint() == rows_of(sp.csr_array(NUMBERS[[2, 1]])).fingerprint()


def refusal(data, name="source", **options):
    with pytest.raises(InvalidInput) as caught:
        rows_of(data, name, **options)
    return str(caught.value)


def spoilt(bad, dtype=np.float64):
    array = NUMBERS.astype(dtype)
    array[2, 1] = bad
    return array


BAD_HOLDERS = {
    "C order": lambda bad: spoilt(bad),
    "F order": lambda bad: np.asfortranarray(spoilt(bad)),
    "float16": lambda bad: spoilt(bad, np.float16),
    "float32": lambda bad: spoilt(bad, np.float32),
    "list": lambda bad: spoilt(bad).tolist(),
    "objects": lambda bad: spoilt(bad).astype(object),
    "csr": lambda bad: sp.csr_array(spoilt(bad)),
    "csc": lambda bad: sp.csc_matrix(spoilt(bad)),
    "coo": lambda bad: sp.coo_array(spoilt(bad, np.float32)),
    "pandas": lambda bad: pd.DataFrame(spoilt(bad)),
    "pandas nullable": lambda bad: pd.DataFrame(spoilt(bad)).astype("Float64"),
    "pandas of named columns": lambda bad: pd.DataFrame(spoilt(bad), columns=[*"abc"]),
    "polars": lambda bad: pl.DataFrame(spoilt(bad), schema=[*"abc"]),
}
NAMED = ("pandas of named columns", "polars")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("holder", BAD_HOLDERS)
@pytest.mark.parametrize("name", ["source", "target"])
def test_numbers_that_are_not_finite_raise_with_their_position(holder, bad, name):
    message = refusal(BAD_HOLDERS[holder](bad), name)
    if np.isnan(bad) and holder in NAMED:
        assert message.startswith(f"{name} has missing values (4 rows checked): 1 in 'b'")
    else:
        assert message.startswith(f"{name} contains {bad} at row 2, column 1")
    is_advised = "Preparation(impute='median')" in message
    assert is_advised == (np.isnan(bad) and holder not in ("csr", "csc", "coo"))


MISSING = {
    "pandas NaN among integers": pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, None]}),
    "pandas NA": pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, None]}, dtype="Int64"),
    "pandas NA among booleans": pd.DataFrame({"a": [1, 2, 3], "b": [True, False, None]}).astype(
        {"b": "boolean"}
    ),
    "polars null": pl.DataFrame({"a": [1, 2, 3], "b": [1, 2, None]}),
    "polars null among booleans": pl.DataFrame({"a": [1, 2, 3], "b": [True, False, None]}),
    "arrow null": pa.table({"a": [1, 2, 3], "b": [1, 2, None]}),
}
MISSING_UNNAMED = {
    "pandas columns by number": pd.DataFrame({0: [1, 2, 3], 1: [1, 2, None]}),
    "pandas columns of one name": pd.DataFrame([[1, 1], [2, 2], [3, None]], columns=["a", "a"]),
    "None in a list": [[1, 1], [2, 2], [3, None]],
    "masked": np.ma.array([[1, 1], [2, 2], [3, 3]], mask=[[0, 0], [0, 0], [0, 1]]),
}


@pytest.mark.parametrize("data", MISSING.values(), ids=MISSING)
def test_missing_values_raise_with_counts_by_column(data):
    assert refusal(data) == (
        "source has missing values (3 rows checked): 1 in 'b'. Drop these rows, or pass "
        "Preparation(impute='median') (--impute median on the command line)."
    )


@pytest.mark.parametrize("data", MISSING_UNNAMED.values(), ids=MISSING_UNNAMED)
def test_missing_values_raise_with_their_position_where_columns_have_no_names(data):
    message = refusal(data)
    assert "nan at row 2, column 1 (1 such value(s)" in message
    assert "Preparation(impute='median')" in message


def test_the_error_gives_the_first_bad_value_and_their_number():
    array = NUMBERS.copy()
    array[1, 2], array[3, 0], array[1, 0] = np.inf, np.nan, -np.inf
    assert "-inf at row 1, column 0 (3 such" in refusal(array)


def test_the_scan_numbers_rows_beyond_its_first_block(monkeypatch):
    monkeypatch.setattr(convert, "_SCAN_CELLS", 6)
    array = np.ones((9, 3))
    array[7, 2] = np.nan
    assert "row 7, column 2" in refusal(array)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_numbers_are_finite(dtype):
    largest = np.finfo(dtype).max
    rows = rows_of(np.array([[largest, largest], [largest, -largest]], dtype=dtype))
    assert rows.take(slice(0, 1))[0, 0] == largest


TEXT = pd.DataFrame(
    {"size": [1.0, 2.0], "name": ["x", "y"], "when": pd.to_datetime(["2020", "2021"])}
)
WRONG = {
    "none": (None, "source=None is not a set of rows"),
    "text": ("rows", "source: rows does not exist"),
    "bytes": (b"rows", "is not a set of rows"),
    "number": (3, "source=3 is not a set of rows"),
    "numpy number": (np.float32(3), "is not a set of rows"),
    "complex": (3j, "is not a set of rows"),
    "dict": ({"a": [1]}, "is not a set of rows. Pass pandas.DataFrame(source)."),
    "batches": (pa.table({"a": [1]}).to_reader(), "Pass source.read_all(), or Stream(source)"),
    "set": ({1, 2}, "source is a set, which"),
    "generator": (
        (row for row in TABLE),
        "Pass list(source), or Stream(source)",
    ),
    "0-D": (np.array(3.0), "0 dimension(s)"),
    "1-D": (NUMBERS[0], "reshape(-1, 1)"),
    "flat list": ([1, 2, 3], "reshape(-1, 1)"),
    "series": (pd.Series([1, 2]), "source is a pandas Series of numbers, with 1 dimension"),
    "3-D": (np.ones((2, 3, 4)), "reshape(len(X), -1)"),
    "complex array": (NUMBERS + 1j, "complex"),
    "complex sparse": (sp.csr_array(NUMBERS + 1j), "complex128"),
    "1-D sparse": (sp.coo_array([1.0, 2.0]), "2-D"),
    "text array": (np.array([["a", "b"]]), "does not hold numbers"),
    "no columns of text": (np.empty((2, 0), dtype="U3"), "does not hold numbers"),
    "texts": (["a", "b"], "first value 'a'"),
    "numbers as text": (np.array([["1", 2.0]], dtype=object), "does not hold numbers"),
    "dates": (np.zeros((2, 2), dtype="M8[s]"), "does not hold numbers"),
    "dicts of lists": ([{"a": {1}}, {"a": 2}], "'a' (struct<set: null>)"),
    "dicts and others": ([{"a": 1}, 2], "does not hold numbers"),
    "empty dicts": ([{}, {}], "list of empty dicts"),
    "ragged": ([[1, 2], [3]], "rows of different lengths (1 to 2)"),
    "ragged pictures": ([np.ones((2, 2)), np.ones((2, 3))], "does not hold numbers"),
    "no rows": (np.empty((0, 3)), "source has 0 rows"),
    "empty list": ([], "source has 0 rows"),
    "empty frame": (pd.DataFrame({"a": np.array([])}), "source has 0 rows"),
    "no sparse rows": (sp.csr_array((0, 3)), "source has 0 rows"),
    "no columns": (np.empty((3, 0)), "no columns"),
    "no pandas columns": (pd.DataFrame(index=[1, 2]), "0 columns"),
    "no sparse columns": (sp.csr_array((3, 0)), "(3, 0)"),
    "pandas texts": (TEXT, "not numbers: 'name' (string), 'when' (timestamp["),
    "pandas category": (pd.DataFrame({"a": pd.Categorical([1, 2])}), "'a'"),
    "polars texts": (pl.DataFrame({"size": [1.0], "name": ["x"]}), "not numbers: 'name'"),
    "many text columns": (pd.DataFrame([list("abcdefghi")]), "'4' (string), … (9 in all)"),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_input_that_is_not_a_table_of_numbers_raises_with_a_reason(data, message):
    assert message in refusal(data)


PICTURES = [np.zeros((2, 2)), np.ones((2, 3))]
OBJECTS = {
    "list of texts": (["ab", "c"], ["ab", "c"]),
    "array of texts": (np.array(["ab", "c"]), ["ab", "c"]),
    "pandas series": (pd.Series(["ab", "c"]), ["ab", "c"]),
    "polars series": (pl.Series(["ab", "c"]), ["ab", "c"]),
    "deque": (deque(["ab", "c"]), ["ab", "c"]),
    "ragged": ([[1, 2], [3]], [[1, 2], [3]]),
    "ragged within": ([[[1, 2], [3]], [[4], [5, 6]]], [[[1, 2], [3]], [[4], [5, 6]]]),
    "rows of words": ([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "d"]]),
    "sets": ([{1}, {2, 3}], [{1}, {2, 3}]),
    "numbers": ([1, 2], [1, 2]),
    "1-D array": (np.array([1.5, 2.5]), [1.5, 2.5]),
}


@pytest.mark.parametrize(("data", "items"), OBJECTS.values(), ids=OBJECTS)
def test_a_user_metric_accepts_any_objects(data, items):
    rows = rows_of(data, takes_objects=True)
    assert isinstance(rows, ObjectRows)
    assert (len(rows), rows.n_columns, rows.kind) == (2, None, "objects")
    assert rows.take(slice(0, 2)) == items
    assert rows.take(np.array([1, 0, 1])) == [items[1], items[0], items[1]]


@pytest.mark.parametrize("data", [PICTURES, np.ones((2, 3, 4)), np.array([["a", "b"], ["c", "d"]])])
def test_rows_of_several_values_are_passed_as_arrays(data):
    rows = rows_of(data, takes_objects=True)
    assert rows.kind == "objects"
    for got, expected in zip(rows.take(slice(0, 2)), data, strict=True):
        assert isinstance(got, np.ndarray)
        assert (got == expected).all()


@pytest.mark.parametrize(
    "data", [TEXT, pl.DataFrame(TEXT.to_dict("list"))], ids=["pandas", "polars"]
)
def test_rows_of_a_mixed_frame_are_passed_as_tuples(data):
    rows = rows_of(data, takes_objects=True)
    assert rows.kind == "objects"
    assert [row[:2] for row in rows.take(slice(0, 2))] == [(1.0, "x"), (2.0, "y")]
    assert rows.take(np.array([1]))[0][2] > rows.take(np.array([0]))[0][2]


@pytest.mark.parametrize("data", [NUMBERS, TABLE, pd.DataFrame(TABLE), sp.csr_array(NUMBERS)])
def test_a_user_metric_receives_tables_of_numbers_as_arrays(data):
    assert rows_of(data, takes_objects=True).kind in {"dense", "sparse"}


@pytest.mark.parametrize("data", [[], np.empty(0), pd.Series([], dtype=object), np.empty((0, 3))])
def test_a_user_metric_needs_at_least_one_row(data):
    assert refusal(data, takes_objects=True) == "source has 0 rows. Pass at least one."


@pytest.mark.parametrize("data", ["text", 3, None, np.array(3.0), np.array("text")])
def test_a_single_value_is_not_a_set_of_rows_for_a_user_metric(data):
    assert refusal(data, takes_objects=True)


def test_long_texts_are_not_padded_to_one_length():
    texts = ["a" * 10**7] + ["b"] * 2000  # padded: 80 GB
    assert len(rows_of(texts, takes_objects=True)) == 2001


def test_rows_are_returned_unchanged():
    rows = rows_of(TABLE)
    assert rows_of(rows, "target") is rows
    assert "0 rows" in refusal(ObjectRows([], name="source"))


# -- rows that are not scanned: too many, or mapped -----------------------------------------------


class Touched(np.ndarray):
    """An array that records which rows are read."""

    def __array_finalize__(self, parent):
        self.log = getattr(parent, "log", None)

    def __getitem__(self, where):
        if self.log is not None and self.ndim == 2:
            self.log.append(where)
        return super().__getitem__(where)


@pytest.mark.parametrize(
    "view", [lambda a: a, np.asarray, lambda a: np.asarray(a)[:], lambda a: a[:].T.T]
)
def test_a_mapped_target_is_checked_as_it_is_read(tmp_path, view):
    rows = rows_of(view(mapped(tmp_path, spoilt(np.nan))), "target")
    assert not rows.is_checked
    np.testing.assert_array_equal(rows.take(slice(0, 2)), NUMBERS[:2])
    np.testing.assert_array_equal(rows.take(np.array([3, 0])), NUMBERS[[3, 0]])
    with pytest.raises(InvalidInput, match="target contains nan at row 2, column 1"):
        rows.take(slice(1, 3))
    with pytest.raises(InvalidInput, match="target contains nan at row 2, column 1"):
        rows.take(np.array([3, 2]))


def test_a_mapped_source_is_scanned(tmp_path):
    assert "row 2, column 1" in refusal(mapped(tmp_path, spoilt(np.nan)))
    assert rows_of(mapped(tmp_path, NUMBERS)).is_checked


@pytest.mark.parametrize("name", ["source", "target"])
def test_more_cells_than_are_scanned_are_checked_as_they_are_read(monkeypatch, name):
    monkeypatch.setattr(convert, "_MOST_CELLS_SCANNED", NUMBERS.size - 1)
    rows = rows_of(spoilt(np.inf), name)
    assert len(rows.take(slice(3, 4))) == 1
    with pytest.raises(InvalidInput, match=f"{name} contains inf at row 2, column 1"):
        rows.take(slice(2, 4))
    assert rows_of(NUMBERS.astype(np.int8), name).is_checked


def test_only_requested_rows_of_an_unscanned_array_are_read(monkeypatch):
    monkeypatch.setattr(convert, "_MOST_CELLS_SCANNED", 1)
    array = np.ones((1000, 2)).view(Touched)
    array.log = log = []
    rows = rows_of(array, "target")
    assert log == []
    rows.take(slice(3, 5))
    rows.take(np.array([7, 9]))
    assert log[0] == slice(3, 5)
    np.testing.assert_array_equal(log[1], [7, 9])
    assert len(log) == 2


def test_a_map_larger_than_memory_is_opened_and_sampled(tmp_path):
    shape = 10**10, 4  # 160 GB in a sparse file
    path = tmp_path / "holes.bin"
    try:
        with path.open("wb") as file:
            file.truncate(4 * shape[0] * shape[1])
        array = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
    except OSError:
        pytest.skip("this file system keeps no holes")
    rows = rows_of(array, "target")
    assert len(rows) == shape[0]
    assert not rows.sample(5).any()
