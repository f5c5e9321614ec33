from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.slices import as_slice, cuts, cuts_of, equal_runs


@pytest.mark.parametrize(("n", "size"), [(0, 3), (2, 3), (3, 3), (10, 3), (9, 3)])
def test_slices_cover_all_rows_in_order(n, size):
    parts = [np.arange(n)[cut] for cut in cuts(n, size)]
    assert np.concatenate([[], *parts]).tolist() == list(range(n))
    assert all(len(part) == size for part in parts[:-1])


def test_slices_of_a_slice():
    assert list(cuts_of(slice(4, 9), 2)) == [slice(4, 6), slice(6, 8), slice(8, 9)]


def test_equal_runs():
    values = np.array([5, 2, 5, 7, 2, 5])
    runs, others = equal_runs(values, 2)
    assert [run.tolist() for run in runs] == [[1, 4], [0, 2, 5]]
    assert others.tolist() == [3]


@pytest.mark.parametrize(
    ("ids", "expected"), [([3, 4, 5], slice(3, 6)), ([3], slice(3, 4)), ([3, 5], None), ([], None)]
)
def test_consecutive_ids_become_a_slice(ids, expected):
    ids = np.array(ids, dtype=np.int64)
    assert as_slice(ids) is ids if expected is None else as_slice(ids) == expected
    assert as_slice(np.array([5, 4, 3])).tolist() == [5, 4, 3]
