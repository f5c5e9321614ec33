"""The table of file formats."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from protobandit.data import open_rows
from protobandit.rows.files.formats import (
    BY_SUFFIX,
    FORMATS,
    TABLE_FORMATS,
    format_of,
    listed_suffixes,
)
from protobandit.rows.files.opening import READERS
from rows.files import files


def test_every_format_has_a_reader():
    assert list(READERS) == [each.name for each in FORMATS]


def test_a_suffix_stands_for_one_format():
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes) == len(BY_SUFFIX)
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in suffixes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.npy", "npy"),
        ("A.CSV", "csv"),
        ("a.b.csv.gz", "csv"),
        ("a.ndjson.gz", "jsonl"),
        ("a.JPEG", "images"),
        ("a.parquet.gz", None),
        ("a.gz", None),
        ("a.xlsx", None),
        ("csv", None),
    ],
)
def test_the_suffix_decides_the_format(name, expected):
    found = format_of(Path(name))
    assert (found and found.name) == expected


def test_tables_are_the_formats_read_by_pyarrow(tmp_path):
    for name in files.WRITERS:
        opened = open_rows(files.write(tmp_path, name), without=_text_columns(name))
        assert (opened.format in TABLE_FORMATS) == (name in files.TABLES)


def _text_columns(name):
    return ["id", "label"] if name in files.NAMED else []


def test_help_and_docstring_name_every_suffix():
    for suffix, form in BY_SUFFIX.items():
        if form.name != "images":
            assert f"{suffix}," in f"{listed_suffixes()},"
            assert f"``{suffix}``" in open_rows.__doc__


def test_the_table_needs_no_library():
    code = (
        "import sys, protobandit.rows.files.formats\n"
        "sys.exit(bool({'numpy', 'pyarrow', 'PIL', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
