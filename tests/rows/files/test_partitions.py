"""Folders whose names hold columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import protobandit as pb
from protobandit.data import open_rows

ROWS = np.random.default_rng(0).normal(size=(12, 2))
TABLE = pa.table(
    {
        "x": ROWS[:, 0],
        "y": ROWS[:, 1],
        "year": [2023, 2024] * 6,
        "city": ["Ulm", "Bad Ems", None] * 4,
    }
)


@pytest.fixture
def folder(tmp_path):
    pyarrow.dataset.write_dataset(
        TABLE, tmp_path, format="parquet", partitioning=["year", "city"], partitioning_flavor="hive"
    )
    return tmp_path


def test_folders_of_a_partitioned_table_are_columns(folder):
    found = open_rows(folder)
    assert found.features == ("x", "y")  # and not the year
    assert found.names == ("x", "y", "year", "city")
    assert found.left_out == {"year": "named by folders", "city": "named by folders"}
    rows = zip(
        *(found.column(name).tolist() for name in ("x", "year", "city")),
        strict=True,
    )
    expected = zip(*(TABLE[name].to_pylist() for name in ("x", "year", "city")), strict=True)
    assert sorted(rows, key=str) == sorted(expected, key=str)
    assert set(found.records([0])) == {"x", "y", "year", "city"}
    assert pb.select(folder, k=2).columns == ("x", "y")


def test_such_columns_are_features_on_request(folder):
    found = open_rows(folder, columns=["x", "year"])
    assert set(found.rows[:, 1]) == {2023, 2024}
    assert open_rows(folder, columns="year").rows.shape == (12, 1)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("year=*/city=*/*.parquet", ("x", "y", "year", "city")),
        ("year=2024/*/*.parquet", ("x", "y", "city")),
        ("**/*.parquet", ("x", "y", "year", "city")),
    ],
)
def test_patterns(folder, pattern, names):
    assert open_rows(str(folder / pattern)).names == names


def test_a_single_file_is_not_partitioned(folder):
    path = next(folder.rglob("*.parquet"))
    assert open_rows(path).names == ("x", "y")


def test_text_tables(tmp_path):
    for year in (2023, 2024):
        part = tmp_path / f"year={year}"
        part.mkdir()
        (part / "rows.csv").write_text(f"x,y\n1,{year}\n2,{year}\n")
    found = open_rows(tmp_path)
    assert found.column("year").tolist() == found.rows[:, 1].tolist()
    assert found.records([3]) == {"x": [2], "y": [2024], "year": [2024]}


def test_a_column_of_the_file_wins_over_its_folder(tmp_path):
    part = tmp_path / "x=7"
    part.mkdir()
    (part / "rows.csv").write_text("x,y\n1,2\n")
    assert open_rows(tmp_path, columns="x").rows.tolist() == [[1]]


def test_other_subfolders_are_not_part_of_a_table(tmp_path):
    part = tmp_path / "old"
    part.mkdir()
    (part / "rows.csv").write_text("x,y\n1,2\n")
    with pytest.raises(pb.InvalidInput, match=r"a pattern such as .*\*\*"):
        open_rows(tmp_path)


def test_files_with_other_columns_raise(folder):
    other = folder / "year=2025" / "city=Ulm"
    other.mkdir(parents=True)
    pyarrow.parquet.write_table(pa.table({"x": [1.0], "z": [2.0]}), other / "rows.parquet")
    with pytest.raises(pb.InvalidInput, match=r"has no column 'y', but .* has one"):
        open_rows(folder)
