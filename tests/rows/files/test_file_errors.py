"""A file that cannot be read raises an error of one line."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import protobandit as pb
from locking import unprivileged
from protobandit.data import open_rows
from protobandit.rows.files import text_tables
from protobandit.rows.files.file_errors import reading
from rows.files import files


def error_of(path, **options):
    with pytest.raises(pb.InvalidInput) as caught:
        open_rows(path, **{"name": "target", **options})
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500 + len(str(path)) * 3
    return message


def text(content, name="rows.csv"):
    def write(folder):
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def table(columns, name="rows.parquet"):
    def write(folder):
        pyarrow.parquet.write_table(pa.table(columns), folder / name)
        return folder / name

    return write


def array(value, name="rows.npy"):
    def write(folder):
        np.save(folder / name, value, allow_pickle=True)
        return folder / name

    return write


def header(content, version=b"\x01\x00", size="<H"):
    """Write a `.npy` file with any header."""
    raw = content.encode().ljust(118) + b"\n"
    return text(b"\x93NUMPY" + version + struct.pack(size, len(raw)) + raw, "rows.npy")


def shaped(shape, dtype="<f8"):
    return header(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}")


def several(**contents):
    def write(folder):
        for name, content in contents.items():
            (folder / f"{name}.csv").write_text(content)
        return folder

    return write


def linked(path, to):
    path.symlink_to(to)
    return path


def npz(folder, **arrays):
    np.savez(folder / "rows.npz", **arrays)
    return folder / "rows.npz"


CASES = {
    # -- paths
    "missing": (lambda f: f / "rows.npy", "rows.npy does not exist."),
    "missing folder": (lambda f: f / "a" / "rows.npy", "and its folder cannot be read"),
    "a folder of nothing": (lambda f: f, "is a folder without images or files of a known format"),
    "no match": (lambda f: f / "*.npy", "no file matches"),
    "unknown suffix": (
        text("a", "rows.xlsx"),
        r"unknown suffix '.xlsx'. Pass pandas.read_excel\(path\) in Python, or a .csv file.",
    ),
    "no suffix": (text("a", "rows"), "unknown suffix ''"),
    "a device": (lambda f: "/dev/null", "is not a regular file"),
    "too long a name": (lambda f: f / ("a" * 9000 + ".npy"), "File name too long"),
    "unknown home": (
        lambda f: "~nobody-of-this-name/a.npy",
        "begins with ~ but names an unknown user",
    ),
    "a link to nothing": (
        lambda f: linked(f / "rows.npy", "gone.npy"),
        "rows.npy is a link to gone.npy, which does not exist",
    ),
    "below a file": (lambda f: text("a")(f) / "b.npy", "and its folder cannot be read"),
    # -- .npy
    "npy: empty": (text("", "rows.npy"), "cannot be read as .npy"),
    "npy: another format": (text("x,y\n1,2\n", "rows.npy"), "cannot be read as .npy: .*magic"),
    "npy: cut in the magic": (text(b"\x93NUM", "rows.npy"), "cannot be read as .npy"),
    "npy: cut in the header": (text(b"\x93NUMPY\x01\x00v\x00{'de", "rows.npy"), "as .npy: EOF"),
    "npy: huge header": (header(" " * 20_000), "cannot be read as .npy: Header info length"),
    "npy: header of 4 GB": (
        text(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "rows.npy"),
        "cannot be read as .npy: EOF",
    ),
    "npy: header is no dict": (header("[1, 2]"), "Header is not a dictionary"),
    "npy: header is code": (header("__import__('os')"), "as .npy: malformed"),
    "npy: huge shape": (
        shaped("(10000000000000000000000, 4)"),
        "is incomplete: its header requires",
    ),
    "npy: negative shape": (shaped("(-3, 4)"), r"the invalid shape \(-3, 4\) in its header"),
    "npy: cut short": (
        lambda f: truncated(array(files.NUMBERS)(f), 100),
        r"header requires 600 bytes .*\(shape \(50, 3\), float32\), but it has 500",
    ),
    "npy: texts": (array(np.array([["a", "b"]])), r"holds texts \(<U1\)"),
    "npy: complex": (array(np.ones((2, 2), complex)), "holds complex numbers"),
    "npy: objects": (array(np.array([[1, "a"]], object)), "are not unpickled"),
    "npy: structured": (array(np.zeros(3, [("a", "f4")])), "holds structured records"),
    "npy: a later version": (header("{}", b"\x03\x00", "<I"), r"header of version \(3, 0\)"),
    "npy: one dimension": (array(np.arange(3.0)), r"1 dimension\(s\) and shape \(3,\)"),
    "npy: three dimensions": (array(np.ones((2, 2, 2))), "3 dimensions and shape"),
    "npy: no rows": (array(np.ones((0, 2))), "no rows"),
    "npy: no columns": (array(np.ones((2, 0))), "no columns"),
    # -- .npz
    "npz: empty": (text("", "rows.npz"), "cannot be read as .npz"),
    "npz: no archive": (text("PK", "rows.npz"), "cannot be read as .npz: File is not a zip file"),
    "npz: cut short": (lambda f: truncated(npz(f, a=files.NUMBERS), 60), "as .npz"),
    "npz: damaged": (lambda f: flipped(npz(f, a=files.NUMBERS)), "as .npz: Bad CRC-32"),
    "npz: no arrays": (lambda f: npz(f), "holds nothing"),
    "npz: objects": (lambda f: npz(f, a=np.array([[None]])), "are not unpickled"),
    "npz: texts": (lambda f: npz(f, a=np.array([["a"]])), "holds texts"),
    "npz: one dimension": (lambda f: npz(f, a=np.ones(3)), r"\[a\] has 1 dimension"),
    "npz: other files": (
        lambda f: zipped(f, {"readme.txt": b"hello, this is no array"}),
        "cannot be read as .npz",
    ),
    # -- delimited
    "csv: empty": (text(""), "is empty"),
    "csv: only a line end": (text("\n"), "rows.csv"),
    "csv: header only": (text("x,y\n"), "has 2 columns and 0 rows. Pass a file with rows"),
    "csv: semicolons": (
        text("x;y\n1;2\n"),
        "'x;y', which seems to be separated by ';'",
    ),
    "tsv: commas": (text("x,y\n1,2\n", "rows.tsv"), r"separated by ','. Save it with '.t' betw"),
    "csv: a name without end": (text("x" * 200_000 + "\n1\n"), "field larger than field limit"),
    "csv: UTF-16": (text("x,y\n1,2\n".encode("utf-16")), "not valid UTF-8 at byte 0. Save it as"),
    "csv: ragged": (
        text("x,y\n1,2\n3\n"),
        "as csv: .*Row #3: Expected 2 columns, got 1: 3. Repair",
    ),
    "csv: the same name twice": (text("x,y,x\n1,2,3\n"), "has the column 'x' more than once"),
    "csv: texts": (
        text("x,t\n1,a\n"),
        r"not numbers: 't' \(string\). Pass data.open_rows\(path, exclude=\['t'\]\) to leave",
    ),
    "csv: dates": (text("x,t\n1,2024-01-01\n"), r"not numbers: 't' \(date32"),
    "csv: not UTF-8": (text(b"x,t\n1,\xff\xfe\n"), "rows.csv"),
    "csv: names not UTF-8": (text(b"x,\xff\n1,2\n"), "is not valid UTF-8 at byte 2"),
    "csv: bad gzip": (text(b"x,y\n1,2\n", "rows.csv.gz"), "cannot be read as csv"),
    "jsonl: empty": (text("", "rows.jsonl"), "is empty"),
    "jsonl: no JSON": (text("{x", "rows.jsonl"), "cannot be read as jsonl"),
    "jsonl: a list": (text("[1, 2]\n", "rows.jsonl"), "a list in its first line, not an object"),
    "jsonl: a number": (text("3\n", "rows.jsonl"), "a int in its first line, not an object"),
    "jsonl: a list later": (text('{"x": 1}\n[1]\n', "rows.jsonl"), "cannot be read as jsonl"),
    "jsonl: cut short": (text('{"x": 1}\n{"x": 2', "rows.jsonl"), "cannot be read as jsonl"),
    "jsonl: types change": (text('{"x": 1}\n{"x": "a"}\n', "rows.jsonl"), "as jsonl"),
    "jsonl: vectors of unequal length": (
        text('{"v": [1, 2]}\n{"v": [1]}\n', "rows.jsonl"),
        r"a vector of 1 number\(s\) in column 'v' at row 1, where others have 2",
    ),
    # -- Parquet and Arrow
    "parquet: empty": (text("", "rows.parquet"), "is empty"),
    "parquet: another format": (text("x" * 99, "rows.parquet"), "as parquet: Parquet magic bytes"),
    "parquet: cut short": (
        lambda f: truncated(files.write(f, "rows.parquet"), 50),
        "cannot be read as parquet",
    ),
    "parquet: damaged": (
        lambda f: scrambled(table({"x": np.arange(9999.0)})(f)),
        "cannot be read as parquet",
    ),
    "parquet: no rows": (table({"x": pa.array([], pa.float32())}), "has 1 columns and 0 rows"),
    "parquet: no columns": (table({}), "0 columns and 0 rows"),
    "parquet: structs": (table({"s": [{"a": 1}]}), r"not numbers: 's' \(struct"),
    "parquet: lists of texts": (table({"s": [["a"]]}), r"not numbers: 's' \(list"),
    "parquet: unequal vectors": (
        table({"v": [[1.0, 2.0], [3.0]]}),
        r"a vector of 1 number\(s\) in column 'v' at row 1",
    ),
    "parquet: a missing vector": (
        table({"v": [[1.0], None]}),
        "has no vector in column 'v' at row 1",
    ),
    "parquet: vectors of nothing": (table({"v": pa.array([[]], pa.list_(pa.int8()))}), "empty one"),
    "arrow: empty": (text("", "rows.arrow"), "is empty"),
    "arrow: another format": (text("x" * 99, "rows.arrow"), "cannot be read as arrow"),
    "arrow: cut short": (lambda f: truncated(files.write(f, "rows.feather"), 300), "as arrow"),
    # -- texts
    "text: empty": (text("", "rows.txt"), "is empty"),
    "text: not UTF-8": (text(b"ab\n\xff\n", "rows.txt"), "cannot be read as UTF-8 text"),
    # -- several files
    "several: other columns": (
        several(a="x,y\n1,2\n", b="x,z\n1,2\n"),
        r"a.csv has no column 'z', but .*b.csv has|b.csv has no column 'y', but .*a.csv has",
    ),
    "several: other types": (
        several(a="x\n1\n", b="x\na\n"),
        "b.csv cannot be read as a part of",
    ),
}


def truncated(path, n):
    os.truncate(path, path.stat().st_size - n)
    return path


def flipped(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 255
    path.write_bytes(raw)
    return path


def scrambled(path):
    """Damage the pages but not the footer."""
    raw = bytearray(path.read_bytes())
    raw[4:2000] = b"\xff" * 1996
    path.write_bytes(raw)
    return path


def zipped(folder, members):
    with zipfile.ZipFile(folder / "rows.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return folder / "rows.npz"


@pytest.mark.parametrize(("make", "expected"), CASES.values(), ids=CASES)
def test_errors_are_one_line(tmp_path, make, expected):
    message = error_of(make(tmp_path))
    assert message.startswith("target: ")
    assert re.search(expected, message), message


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", files.TABLES)
@pytest.mark.parametrize("asked", ["columns", "without"])
def test_unknown_columns_are_answered_with_similar_names(tmp_path, name, asked):
    message = error_of(files.write(tmp_path, name), **{asked: ["lable"]})
    assert "has no column 'lable'" in message
    assert "Did you mean 'label'?" in message
    assert "It has 'id', 'label', 'x', 'y', 'z'." in message


def test_missing_files_are_answered_with_similar_names(tmp_path):
    files.write(tmp_path, "rows.npy")
    assert "Did you mean 'rows.npy'?" in error_of(tmp_path / "row.npy")


def test_many_columns_are_not_all_listed(tmp_path):
    path = table({f"c{i}": [1.0] for i in range(500)})(tmp_path)
    message = error_of(path, columns="nothing like it")
    assert "… (500 in all)" in message


def test_a_file_without_columns_to_compare_raises(tmp_path):
    path = files.write(tmp_path, "rows.csv")
    assert "has no columns to compare: 'id', 'label', 'x', 'y', 'z' (named by exclude)" in error_of(
        path, exclude="*"
    )


@pytest.mark.parametrize("name", ["rows.npy", "sparse.npz"])
@pytest.mark.parametrize("asked", ["columns", "without"])
def test_column_names_raise_for_formats_without_names(tmp_path, name, asked):
    message = error_of(files.write(tmp_path, name), **{asked: ["id"]})
    assert "has no named columns, but 'id' was requested" in message


def test_columns_raise_for_texts(tmp_path):
    assert "no columns" in error_of(text("a\n", "rows.txt")(tmp_path), columns="x")


@pytest.mark.parametrize("without", ["y", "short"])
def test_npz_has_only_columns_of_the_rows(tmp_path, without):
    path = npz(tmp_path, rows=files.NUMBERS, label=files.IDS, short=np.ones(3))
    assert f"has no column '{without}'" in error_of(path, without=[without])


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [[], 3, None, [3], [b"a"], "a\0b", {"a"}, "", ["a.npy", ""]])
def test_invalid_paths_raise(path):
    with pytest.raises(pb.InvalidInput, match="is not a path"):
        open_rows(path)


@pytest.mark.parametrize("sample", [0, -1, 1.5, "many", True])
def test_invalid_sample_sizes_raise(tmp_path, sample):
    with pytest.raises(pb.InvalidInput, match=r"sample=.* is not allowed\. Pass an integer >= 1"):
        open_rows(tmp_path, sample=sample)


@pytest.mark.parametrize("seed", [-1, 1.5, None, "x", True])
def test_invalid_seeds_raise(tmp_path, seed):
    with pytest.raises(pb.InvalidInput, match=r"seed=.* is not allowed\. Pass an integer >= 0"):
        open_rows(tmp_path, seed=seed)


@pytest.mark.parametrize("size", [0, (3,), (1, 2, 3), "big", (4, -4), 2.5])
def test_invalid_image_sizes_raise(tmp_path, size):
    with pytest.raises(pb.InvalidInput, match=r"image_size=.* is not allowed\. Pass a number"):
        open_rows(tmp_path, image_size=size)


def test_files_of_different_formats_raise(tmp_path):
    paths = [files.write(tmp_path, name) for name in ("rows.npy", "rows.csv")]
    assert "have different formats" in error_of(paths)


def test_several_npz_raise(tmp_path):
    paths = [files.write(tmp_path, name) for name in ("rows.npz", "sparse.npz")]
    assert "several .npz" in error_of(paths)


def test_npy_of_different_widths_raise(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    np.save(tmp_path / "b.npy", np.ones((2, 4)))
    assert "rows of different shapes, (3,) and (4,)" in error_of(tmp_path)


@pytest.mark.parametrize("most_held", [0, 1 << 28])
@pytest.mark.parametrize("header", ["x,y\n", ""])
def test_the_error_gives_the_row_that_cannot_be_parsed(tmp_path, monkeypatch, most_held, header):
    monkeypatch.setattr(text_tables, "_MOST_HELD", most_held)
    monkeypatch.setattr(text_tables, "_BLOCK", 64)
    path = text(header + "1,2\n" * 100 + "1,2,3\n" + "1,2\n" * 100)(tmp_path)
    row = 102 if header else 101
    assert f"Row #{row}: Expected 2 columns, got 3: 1,2,3. Repair that line" in error_of(path)


def test_large_files_whose_types_change_raise(tmp_path, monkeypatch):
    monkeypatch.setattr(text_tables, "_MOST_HELD", 0)
    monkeypatch.setattr(text_tables, "_BLOCK", 64)
    path = tmp_path / "rows.csv"
    path.write_text("x\n" + "1.5\n" * 100 + "word\n")
    assert "cannot be read as csv" in error_of(path)
    lines = [json.dumps({"x": 1.5})] * 100 + [json.dumps({"x": "word"})]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    assert "cannot be read as jsonl" in error_of(path)


# -- errors of the system -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError(13, "Permission denied"), "cannot be read: Permission denied."),
        (IsADirectoryError(21, "Is a directory"), "cannot be read: Is a directory."),
        (OSError(5, "Input/output error"), "cannot be read: Input/output error."),
        (
            OSError("magic\nbytes"),
            "cannot be read as it should: magic. Check that the file",
        ),
        (ValueError("x" * 500), "cannot be read as it should: x+…"),
        (ValueError(), "cannot be read as it should: ValueError"),
    ],
    ids=str,
)
def test_errors_of_the_system_become_one_line(error, expected):
    attempt = reading("p", name="n", as_what="it should")
    with pytest.raises(pb.InvalidInput, match=expected), attempt:
        raise error


def test_too_little_memory_raises_not_available():
    attempt = reading("p", name="n", as_what="it should")
    with pytest.raises(pb.NotAvailable, match="does not fit into memory"), attempt:
        raise MemoryError


@pytest.mark.skipif(sys.platform == "win32", reason="files are locked otherwise there")
@pytest.mark.parametrize("name", files.WRITERS)
def test_files_without_read_permission_raise(tmp_path, name):
    path = files.write(tmp_path, name)
    open_rows(path, categories=True)  # load the libraries while this is permitted
    path.chmod(0)
    with unprivileged():
        words = error_of(path)
    assert "Permission denied" in words


def test_programming_errors_are_not_hidden():
    with pytest.raises(AttributeError), reading("p", name="n", as_what="it should"):
        io.BytesIO().nonsense  # noqa: B018
