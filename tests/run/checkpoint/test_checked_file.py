"""Files under a digest: read completely or not at all."""

from __future__ import annotations

import json

import numpy as np
import pytest

from protobandit.run.checkpoint import checked_file
from protobandit.run.checkpoint.checked_file import Damaged

ARRAYS = {
    "ids": np.arange(5),
    "none": np.empty((0, 3)),
    "one": np.array(2.5, dtype=np.float32),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "flags": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path):
    checked_file.write(tmp_path / "file", {"k": 3, "text": "é"}, ARRAYS)
    return tmp_path / "file"


def test_header_and_arrays_are_read_as_written(path):
    header, arrays = checked_file.read(path)
    assert header == {"k": 3, "text": "é"}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_every_single_byte_is_checked(path):
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(Damaged):
            checked_file.read(path)


def test_a_file_that_is_too_short_or_too_long_is_damaged(path):
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(Damaged):
            checked_file.read(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(Damaged):
        checked_file.read(path)


def test_a_large_foreign_file_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "film"
    with path.open("wb") as file:
        file.truncate(1 << 34)
    monkeypatch.setattr(checked_file, "_require_digest", lambda *_: pytest.fail("it was read"))
    with pytest.raises(Damaged):
        checked_file.read(path)


def test_objects_are_not_written(tmp_path):
    with pytest.raises((TypeError, ValueError)):
        checked_file.write(tmp_path / "file", {}, {"pickle": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arrays",
    [
        None,
        5,
        [["a"]],
        [["a", "|O", [3]]],
        [["a", "<U9", [1]]],
        [["a", "odd", [3]]],
        [["a", "<f8", [10**12]]],
        [["a", "<f8", [-1]]],
        [["a", "<f8", "3"]],
        [[[], "<f8", [1]]],
    ],
    ids=repr,
)
def test_a_made_up_header_with_a_right_digest_is_damaged(tmp_path, monkeypatch, arrays):
    path = tmp_path / "saved"
    dumps = json.dumps
    monkeypatch.setattr(json, "dumps", lambda header: dumps({**header, "arrays": arrays}))
    checked_file.write(path, {"k": 1}, {"a": np.arange(3.0)})
    with pytest.raises(checked_file.Damaged):
        checked_file.read(path)
