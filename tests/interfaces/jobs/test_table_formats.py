"""Tables as CSV and Parquet."""

import csv
import io

import numpy as np
import pytest

from protobandit.interfaces.jobs.table_formats import WRITERS, csv_text, table_bytes


def read(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_csv_writes_values_unchanged():
    table = {
        "text": ["=1+1", 'a "quoted", one', "two\nlines", "naïve 漢", None],
        "number": np.array([1, 2, 3, 4, 5]),
        "float": [0.1, float("nan"), None, 1e-20, 2.0],
    }
    rows = read(table_bytes(table, "csv"))
    assert rows[0] == ["text", "number", "float"]
    assert [row[0] for row in rows[1:]] == ["=1+1", 'a "quoted", one', "two\nlines", "naïve 漢", ""]
    assert [row[2] for row in rows[1:]] == ["0.1", "", "", "1e-20", "2.0"]


def test_float32_is_written_with_its_own_digits():
    assert csv_text({"d": np.array([0.1], dtype=np.float32)}) == "d\n0.1\n"
    assert csv_text({"d": np.array([0.1])}) == "d\n0.1\n"


def test_a_file_name_that_is_not_unicode():
    assert table_bytes({"file": ["caf\udce9.png"]}, "csv") == b"file\ncaf\\udce9.png\n"


def test_blocks_have_one_header():
    file = io.BytesIO()
    WRITERS["csv"](iter([{"a": [1]}, {"a": [2]}]), file)
    assert file.getvalue() == b"a\n1\n2\n"


def test_parquet_holds_the_same_values():
    parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    blocks = [
        {"a": np.array([1, 2]), "b": [None, None], "mixed": [1, "two"]},
        {"a": np.array([3]), "b": ["y"], "mixed": ["three"]},
    ]
    WRITERS["parquet"](iter(blocks), file)
    table = parquet.read_table(io.BytesIO(file.getvalue()))
    assert table.to_pydict() == {
        "a": [1, 2, 3],
        "b": [None, None, "y"],
        "mixed": ["1", "two", "three"],
    }
