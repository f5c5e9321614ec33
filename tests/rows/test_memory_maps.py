from __future__ import annotations

import mmap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from protobandit.data import open_rows
from protobandit.rows.memory_maps import Joined, gather, is_mapped, pages_under
from protobandit.rows.rows import DenseRows

ROWS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


class Logged(np.memmap):
    """A memory map that records which rows are read."""

    log = None

    def __getitem__(self, where):
        if self.log is not None:
            self.log.append(where)
        return super().__getitem__(where)


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def joined(tmp_path, cuts=(0, 7, 8, 40)):
    parts = []
    for at, (start, stop) in enumerate(pairwise(cuts)):
        np.save(tmp_path / f"{at}.npy", ROWS[start:stop])
        parts.append(np.load(tmp_path / f"{at}.npy", mmap_mode="r"))
    return Joined(parts)


WHERE = [
    np.array([5, 3, 5, 39, 0]),
    np.array([], dtype=np.int64),
    np.arange(40)[::-1],
    slice(0, 40),
    slice(6, 9),
    slice(3, 3),
]


@pytest.mark.parametrize("where", WHERE, ids=str)
def test_rows_are_returned_in_the_requested_order(mapped, tmp_path, where):
    for array in (mapped, joined(tmp_path)):
        np.testing.assert_array_equal(gather(array, where), ROWS[where])
        np.testing.assert_array_equal(DenseRows(array, name="t").take(where), ROWS[where])


def test_rows_on_disk_are_read_in_ascending_order(mapped):
    array = mapped.view(Logged)
    array.log = log = []
    rows = DenseRows(array, name="target")
    np.testing.assert_array_equal(rows.take(np.array([9, 2, 30, 2])), ROWS[[9, 2, 30, 2]])
    assert [where.tolist() for where in log] == [[2, 2, 9, 30]]


@pytest.mark.parametrize(
    "where",
    [
        slice(None),
        slice(5, 30, 4),
        slice(30, 5, -3),
        slice(-5, None),
        -1,
        np.int64(7),
        [1, -1, 8],
        np.arange(40) % 3 == 0,
    ],
    ids=str,
)
def test_joined_arrays_are_indexed_like_one(tmp_path, where):
    np.testing.assert_array_equal(joined(tmp_path)[where], ROWS[where])


def test_joined_arrays_look_like_one(tmp_path):
    array = joined(tmp_path)
    assert (len(array), array.shape, array.ndim, array.size) == (40, (40, 3), 2, 120)
    np.testing.assert_array_equal(np.asarray(array), ROWS)
    assert np.asarray(array, dtype=np.float64).dtype == np.float64
    assert is_mapped(array)
    with pytest.raises(IndexError):
        array[40]


def test_joined_arrays_take_the_wider_type():
    array = Joined([np.ones((2, 1), np.float32), np.full((2, 1), 1 / 3)])
    assert array.dtype == np.float64
    assert array[np.array([3])][0, 0] == 1 / 3


def test_only_parts_that_hold_the_rows_are_read():
    class Untouched:
        shape, dtype = (5, 3), np.dtype(np.float32)

        def __len__(self):
            return 5

        def __getitem__(self, where):
            raise AssertionError("these rows were not requested")

    array = Joined([ROWS[:10], Untouched(), ROWS[10:]])
    np.testing.assert_array_equal(array[np.array([3, 15])], ROWS[[3, 10]])
    np.testing.assert_array_equal(array[2:9], ROWS[2:9])


def test_views_of_maps_are_mapped(mapped):
    assert is_mapped(mapped)
    assert is_mapped(mapped[3:].reshape(-1, 1))
    assert is_mapped(np.asarray(mapped))
    assert not is_mapped(np.array(mapped))
    assert not is_mapped([1])


def test_pages_under_rows(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.ones((4096, 64), dtype=np.float32))  # 256 bytes per row, from byte 128 on
    array = np.load(path, mmap_mode="r")
    file = array._mmap
    assert pages_under(array, file) == (0, path.stat().st_size)
    for run in (array[1000:2000], array[1999:999:-1]):
        start, length = pages_under(run, file)
        assert start % mmap.PAGESIZE == 0
        assert start <= 128 + 1000 * 256 < start + mmap.PAGESIZE
        assert start + length == 128 + 2000 * 256


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="this system does not say")
def test_the_system_is_advised_that_rows_are_read_at_random(tmp_path):
    def is_random(path):
        maps = Path("/proc/self/smaps").read_text(encoding="utf-8").split(str(path))
        flags = next(line for line in maps[1].splitlines() if line.startswith("VmFlags"))
        return "rr" in flags.split()

    path = tmp_path / "rows.npy"
    np.save(path, np.ones((4096, 64), dtype=np.float32))
    plain = np.load(path, mmap_mode="r")
    assert not is_random(path)
    del plain
    rows = open_rows(path).rows
    assert is_random(path)
    np.testing.assert_array_equal(DenseRows(rows, name="t").take(slice(5, 4000)), rows[5:4000])
    assert is_random(path)
