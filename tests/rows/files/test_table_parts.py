"""Parquet files that are read by parts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.files import table_parts

ROWS = np.random.default_rng(0).normal(size=(5000, 4)).astype(np.float32)


@pytest.fixture
def folder(tmp_path):
    for number, rows in enumerate(np.split(ROWS, 2)):
        table = {f"c{i}": rows[:, i] for i in range(4)}
        names = [f"{number}-{i}" for i in range(len(rows))]
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(pa.table({**table, "name": names}), path, row_group_size=400)
    return tmp_path


def test_parts_hold_all_rows_of_the_files(folder, monkeypatch):
    monkeypatch.setattr(table_parts, "_LEAST_BYTES", 800 * 16)
    opened = open_rows(str(folder / "*.parquet"), exclude="name", in_parts=True)
    parts = opened.rows
    assert len(opened) == 5000
    assert [part.n_rows for part in parts.parts] == [800, 800, 800, 100] * 2
    read = [
        table_parts.read_table_part(part, parts.layout, parts.shown, "source")
        for part in parts.parts
    ]
    assert np.concatenate(read).tolist() == ROWS.tolist()


def test_select_from_parts_of_files(folder):
    dask = pytest.importorskip("dask")
    opened = open_rows(str(folder / "*.parquet"), exclude="name", in_parts=True)
    with dask.config.set(scheduler="synchronous"):
        found = pb.select(opened, k=5, random_state=0)
        assert pb.plan(opened, k=5).parts == 2
    assert found.columns == ("c0", "c1", "c2", "c3")
    assert found.columns_left_out == {"name": "excluded"} or "name" in found.columns_left_out
    assert found.prototypes.tolist() == ROWS[found.indices].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"where": "c0 > 0"}, "cannot be read in parts"),
        ({"sample": 10}, "cannot be read in parts"),
    ],
)
def test_what_parts_do_not_support(folder, options, message):
    with pytest.raises(pb.InvalidInput, match=message):
        open_rows(str(folder / "*.parquet"), exclude="name", in_parts=True, **options)


def test_other_formats_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    with pytest.raises(pb.InvalidInput, match="not read in parts"):
        open_rows(tmp_path / "a.npy", in_parts=True)
