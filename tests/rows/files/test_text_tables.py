"""Variants of CSV, TSV and JSON files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from protobandit import InvalidInput
from protobandit.data import open_rows
from protobandit.rows.files import text_tables
from rows.files import files


def test_columns_of_a_file_without_header_are_numbered(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1.5,2\n3,4\n")
    found = open_rows(path)
    assert found.names == ("0", "1")
    assert found.rows.tolist() == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("most_held", [0, 1 << 20])
def test_texts_are_kept_as_written(tmp_path, monkeypatch, most_held):
    monkeypatch.setattr(text_tables, "_MOST_HELD", most_held)
    path = tmp_path / "rows.csv"
    path.write_text("a,b,x\n007,2024-01-01,1\n7,,2\n08,x,3\n")
    found = open_rows(path, without=["a", "b"], texts=["a", "b", "nowhere"])
    assert found.column("a").tolist() == ["007", "7", "08"]
    assert found.column("b").tolist() == ["2024-01-01", None, "x"]
    assert found.records([2])["a"] == ["08"]
    assert open_rows(path, without=["b"]).rows[:, 0].tolist() == [7, 7, 8]


@pytest.mark.parametrize("most_held", [0, 1 << 20])
def test_texts_of_json_are_not_converted_to_dates(tmp_path, monkeypatch, most_held):
    monkeypatch.setattr(text_tables, "_MOST_HELD", most_held)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"d": "2024-01-01", "x": 1}\n{"d": "2024-02-01 10:00", "x": 2.5}\n')
    found = open_rows(path, without="d")
    assert found.column("d").tolist() == ["2024-01-01", "2024-02-01 10:00"]
    assert found.rows.tolist() == [[1], [2.5]]


def test_a_header_of_positions_is_a_header(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("0,1\n3,4\n")
    assert open_rows(path).rows.tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("1.5,,2", ("0", "1", "2")),
        (",2019,2020", ("", "2019", "2020")),
        (",0,1", ("", "0", "1")),
        ('"a;b",c,d', ("a;b", "c", "d")),
    ],
)
def test_which_first_line_is_a_header(tmp_path, first, names):
    path, messages = tmp_path / "rows.csv", []
    path.write_text(f"{first}\n3,4,5\n")
    found = open_rows(path, tell=messages.append)
    assert found.names == names
    assert len(found) == 1 + (names[0] == "0")
    is_reported = f"{path} has no header: its first line holds numbers." in messages
    assert is_reported == (names[0] == "0")


def test_one_column_may_have_any_name(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"what; if, not"\n1.5\n2\n')
    assert open_rows(path).features == ("what; if, not",)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_all_line_ends_are_read(tmp_path, end):
    path = tmp_path / "rows.csv"
    path.write_bytes(end.join(["a,b", "1,2", "3,4", ""]).encode())
    assert open_rows(path).rows.tolist() == [[1, 2], [3, 4]]


def test_quotes_byte_order_marks_and_line_ends(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\xef\xbb\xbf"a,b",t\r\n1,"one\ntwo"\r\n2,"say ""x"""\r\n')
    found = open_rows(path, without=["t"])
    assert found.features == ("a,b",)
    assert found.records([0, 1])["t"] == ["one\ntwo", 'say "x"']


def test_integers_may_be_followed_by_fractions(tmp_path, monkeypatch):
    monkeypatch.setattr(text_tables, "_BLOCK", 64)
    lines = ["x,y", *(f"{i},1" for i in range(100)), "0.5,2"]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    assert open_rows(path).rows[-1].tolist() == [0.5, 2]
    monkeypatch.setattr(text_tables, "_MOST_HELD", 0)
    assert open_rows(path).rows[-1].tolist() == [0.5, 2]


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.tsv", "rows.jsonl"])
def test_large_files_are_read_in_blocks(tmp_path, monkeypatch, name):
    path = files.write(tmp_path, name)
    small = open_rows(path, without=["id", "label"])
    monkeypatch.setattr(text_tables, "_MOST_HELD", 0)
    monkeypatch.setattr(text_tables, "_BLOCK", 400)
    messages = []
    large = open_rows(path, without=["id", "label"], tell=messages.append)
    assert f"Counting the rows of {path}." in messages
    assert large.n_total == files.N
    np.testing.assert_array_equal(large.rows, small.rows)
    assert large.column("label").tolist() == files.LABELS
    assert large.records([7, 3]) == small.records([7, 3])


# -- compressed files -----------------------------------------------------------------------------


def compressed(path, line, n):
    """Write a line many times; the file is a thousandth of its content."""
    path.write_bytes(gzip.compress(line * n, 1))
    return path


_PEAK = """
import sys
from pathlib import Path
import pyarrow as pa
from protobandit.data import open_rows
from protobandit.rows.files import table_rows, text_tables
text_tables._MOST_HELD = text_tables._LONGEST_LINE = table_rows.MOST_HELD = 1 << 20
text_tables._BLOCK = 1 << 16
def grown():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
open_rows(sys.argv[1], cache=sys.argv[3])
before = grown()
try:
    print(len(open_rows(sys.argv[2], cache=sys.argv[3])))
except Exception as error:
    print(type(error).__name__, str(error).replace(sys.argv[2], "FILE"))
print(grown() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("name", "line", "printed"),
    [
        ("a.csv.gz", b"1.25" + b"0" * 500 + b"\n", "60000"),
        ("a.jsonl.gz", b'{"x": 1.25}' + b" " * 500 + b"\n", "60000"),
        ("a.csv.gz", b"12345" * 100, "InvalidInput source: FILE cannot be read as csv: straddling"),
        ("a.jsonl.gz", b"12345" * 100, "InvalidInput source: FILE has a line of more than 1,048"),
    ],
)
def test_compressed_files_need_bounded_memory(tmp_path, name, line, printed):
    small = compressed(tmp_path / f"small.{name}", b"1.5\n" if "csv" in name else b'{"x": 1}\n', 9)
    path = compressed(tmp_path / name, line, 60_000)  # 30 MB
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _PEAK, small, path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    first, peak = done.stdout.splitlines()
    assert first.startswith(printed)
    assert float(peak) < 15


COMPRESSORS = {
    "rows.csv.gz": gzip.compress,
    "rows.csv.bz2": bz2.compress,
    "rows.csv.xz": lzma.compress,
    "rows.csv.zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    "rows.tsv.bz2": lambda content: bz2.compress(content.replace(b",", b"\t")),
}


@pytest.mark.parametrize("most_held", [0, 1 << 20])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_every_compression(tmp_path, monkeypatch, name, most_held):
    monkeypatch.setattr(text_tables, "_MOST_HELD", most_held)
    path = tmp_path / name
    path.write_bytes(COMPRESSORS[name](b"x,y,t\n1,2.5,a\n3,4,b\n"))
    found = open_rows(path, without="t")
    assert found.rows.tolist() == [[1, 2.5], [3, 4]]
    assert found.column("t").tolist() == ["a", "b"]


@pytest.mark.parametrize("most_held", [0, 1 << 20])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressed_files_that_were_cut(tmp_path, monkeypatch, name, most_held):
    monkeypatch.setattr(text_tables, "_MOST_HELD", most_held)
    rows = "".join(f"{i},{i * i % 97},a\n" for i in range(2000)).encode()
    content = COMPRESSORS[name](b"x,y,t\n" + rows)
    path = tmp_path / name
    for n in (5, len(content) // 2, len(content) - 3):
        path.write_bytes(content[:n])
        with pytest.raises(InvalidInput, match=rf"{path.name} cannot be read as"):
            open_rows(path, without="t")


def test_the_suffix_of_compressed_files_may_be_in_capitals(tmp_path):
    path = compressed(tmp_path / "A.CSV.GZ", b"1.5,2\n", 3)
    assert open_rows(path).rows.tolist() == [[1.5, 2]] * 3
