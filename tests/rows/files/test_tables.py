"""Tables whose files are damaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from protobandit import InvalidInput
from protobandit.data import open_rows


def damaged_table(path, offsets):
    """Write an Arrow file in which texts have these offsets instead of 0, 3, 6, 9."""
    table = pa.table({"x": [1.0, 2.0, 3.0], "name": ["one", "two", "six"]})
    pyarrow.feather.write_feather(table, path, compression="uncompressed")
    content, right = path.read_bytes(), np.int32([0, 3, 6, 9]).tobytes()
    assert content.count(right) == 1
    path.write_bytes(content.replace(right, np.int32(offsets).tobytes()))
    return path


@pytest.mark.parametrize("offsets", [[0, 3, 2, 9], [0, 3, 6, 10**9], [-5, 3, 6, 9]])
def test_offsets_are_checked_before_texts_are_read(tmp_path, offsets):
    """Otherwise pyarrow would read memory beyond the file."""
    opened = open_rows(damaged_table(tmp_path / "rows.arrow", offsets), columns=["x"])
    for read in (lambda: opened.column("name"), lambda: opened.records([1])):
        with pytest.raises(InvalidInput, match=r"rows\.arrow cannot be read as arrow: .*offset"):
            read()


def test_texts_that_are_not_utf8_are_one_sentence(tmp_path):
    texts = pa.StringArray.from_buffers(
        3, pa.py_buffer(np.int32([0, 1, 2, 3])), pa.py_buffer(b"a\xe7b")
    )
    pyarrow.feather.write_feather(pa.table({"x": [1.0, 2, 3], "t": texts}), tmp_path / "rows.arrow")
    opened = open_rows(tmp_path / "rows.arrow", columns=["x"])
    with pytest.raises(InvalidInput, match=r"rows\.arrow cannot be read as arrow: .*UTF8"):
        opened.column("t")


def test_a_file_with_fewer_rows_than_it_declares(tmp_path):

    pyarrow.feather.write_feather(
        pa.table({"x": [1.0, 2.0], "t": ["a", "b"]}), tmp_path / "r.arrow"
    )
    opened = open_rows(tmp_path / "r.arrow", columns=["x"])
    table = opened.other_columns.table
    (piece,) = table.pieces
    more = replace(table, pieces=(replace(piece, n_rows=3),))
    with pytest.raises(InvalidInput, match=r"declares 3 rows of which 2 were found"):
        list(more.batches(["t"], None, name="source"))
