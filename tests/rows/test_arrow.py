"""Conversion of Arrow arrays: all types, slices, chunks and missing values, without pandas."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from protobandit.rows.arrow import as_floats, as_indices, as_values, kind_of, lengths_of
from rows.files import files

NUMBERS = {
    "float64": pa.array([0.5, 1.5, 2.5, 3.5]),
    "float32": pa.array([0.5, 1.5, 2.5, 3.5], pa.float32()),
    "float16": pa.array(np.array([0.5, 1.5, 2.5, 3.5], np.float16)),
    "int8": pa.array([-1, 0, 1, 2], pa.int8()),
    "uint64": pa.array([0, 1, 2, 3], pa.uint64()),
    "bool": pa.array([True, False, False, True]),
    "decimal": pa.array([Decimal("0.5"), Decimal("1.5"), Decimal("2.5"), Decimal("3.5")]),
    "with missing": pa.array([0.5, None, 2.5, None]),
    "integers with missing": pa.array([None, 1, 2, None]),
    "bool with missing": pa.array([True, None, False, None]),
    "decimal with missing": pa.array([Decimal("0.5"), None, None, Decimal("3.5")]),
    "all missing": pa.array([None, None, None, None], pa.int32()),
    "null": pa.nulls(4),
}
CUTS = {
    "whole": lambda column: column,
    "sliced": lambda column: column.slice(1, 2),
    "empty": lambda column: column.slice(2, 0),
    "last": lambda column: column.slice(3),
    "chunked": lambda column: pa.chunked_array([column.slice(0, 1), column.slice(1)]),
    "taken": lambda column: column.take(as_indices(np.array([3, 0, 3]))),
}


def plain(column):
    return [np.nan if value is None else float(value) for value in column.to_pylist()]


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_become_floats(column, cut, dtype):
    some = cut(column)
    found = as_floats(some, np.dtype(dtype))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(plain(some), dtype))


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS)
def test_values_are_unchanged(column, cut):
    some = cut(column)
    found = [None if value != value else value for value in as_values(some).tolist()]
    assert found == some.to_pylist()


def test_values_keep_their_types():
    assert as_values(NUMBERS["bool"]).dtype == np.bool_
    assert as_values(NUMBERS["int8"]).dtype == np.int8
    assert as_values(NUMBERS["integers with missing"]).dtype == np.float64
    assert as_values(pa.array(["a", None])).tolist() == ["a", None]
    assert as_values(pa.array(["b", "a", "b"]).dictionary_encode()).tolist() == ["b", "a", "b"]


DAY = datetime.date(2024, 2, 29)
OTHERS = {
    "date": (pa.array([DAY, None]), ["2024-02-29", None]),
    "nanoseconds": (
        pa.array([1, None], pa.timestamp("ns")),
        ["1970-01-01 00:00:00.000000001", None],
    ),
    "a year without a date in Python": (
        pa.array([3 * 10**11], pa.timestamp("s")),
        ["11476-08-15 05:20:00"],
    ),
    "texts as bytes": (pa.array([b"a\xc3\xbc", b"\xff\x00"]), ["aü", "ff00"]),
    "records": (pa.array([{"a": 1, "b": DAY}]), ['{"a": 1, "b": "2024-02-29"}']),
    "lists of texts": (pa.array([["x", None]]), ['["x", null]']),
}


@pytest.mark.parametrize(("column", "texts"), OTHERS.values(), ids=OTHERS)
def test_what_json_cannot_hold_becomes_a_text(column, texts):
    assert as_values(column).tolist() == texts
    assert as_values(column, as_written=True).tolist() == texts


def test_decimals_are_numbers_or_keep_every_digit():
    column = pa.array([Decimal("1.50"), None])
    np.testing.assert_array_equal(as_values(column), [1.5, np.nan])
    assert as_values(column, as_written=True).tolist() == ["1.50", None]


def test_every_digit_of_an_id_is_kept():
    large = 2**53 + 1
    assert as_values(pa.array([large])).tolist() == [large]
    assert as_values(pa.array([large, None]), as_written=True).tolist() == [large, None]


@pytest.mark.parametrize("dtype", [pa.list_(pa.int8()), pa.large_list(pa.int8())])
def test_lengths_of_vectors(dtype):
    column = pa.array([[1, 2], None, [], [3]], dtype)
    assert lengths_of(column).tolist() == [2, -1, 0, 1]
    assert lengths_of(column.slice(1, 2)).tolist() == [-1, 0]
    assert lengths_of(pa.array([[1, 2], None], pa.list_(pa.int8(), 2))).tolist() == [2, -1]


def test_kinds_of_columns():
    kinds = {
        "number": [pa.bool_(), pa.uint8(), pa.float16(), pa.decimal128(5), pa.null()],
        "vector": [pa.list_(pa.int8()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())],
        "text": [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
        "other": [pa.date32(), pa.binary(), pa.list_(pa.string()), pa.struct([("x", pa.int8())])],
    }
    for kind, types in kinds.items():
        assert {kind_of(dtype) for dtype in types} == {kind}


_READ = """
import sys
from protobandit.data import open_rows
for path in sys.argv[2:]:
    found = open_rows(path, without=["id", "label"], sample=9, cache=sys.argv[1])
    for name in found.names:
        found.column(name)
    found.records([0, 5])
    assert "pandas" not in sys.modules, path
"""


def test_reading_files_does_not_import_pandas(tmp_path):
    paths = [str(files.write(tmp_path, name)) for name in files.NAMED if name != "rows.csv"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _READ, str(tmp_path / "cache"), *paths]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
