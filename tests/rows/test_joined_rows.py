"""Two sets of rows as one."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from protobandit.rows.convert import as_rows
from protobandit.rows.joined_rows import joined_rows
from protobandit.rows.rows import ObjectRows


def test_dense_rows():
    narrow = as_rows(np.ones((2, 3), dtype=np.float32), name="a")
    wide = as_rows(np.zeros((1, 3)), name="b")
    found = joined_rows(narrow, wide)
    assert found.dtype == np.float64
    assert found.take(slice(0, 3)).tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]
    assert found.name == "a"


def test_sparse_rows():
    matrix = sparse.csr_array(np.eye(3))
    found = joined_rows(as_rows(matrix, name="a"), as_rows(matrix * 2, name="b"))
    assert found.kind == "sparse"
    assert found.take(np.array([1, 5])).toarray().tolist() == [[0, 1, 0], [0, 0, 2]]


def test_objects():
    found = joined_rows(ObjectRows(["x"], name="a"), ObjectRows(("y", "z"), name="b"))
    assert found.take(slice(0, 3)) == ["x", "y", "z"]
