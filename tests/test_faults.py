"""The fault layer fails exactly the operation that it is asked to fail."""

from __future__ import annotations

import errno
import os
import zipfile
from contextlib import suppress

import numpy as np
import pytest

import faults


def save(folder, content=b"x" * 10):
    with (folder / "part").open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    (folder / "part").replace(folder / "whole")


def names(layer):
    return [name for name, _ in layer.calls]


def test_operations_are_listed_with_their_paths(tmp_path):
    with faults.injected(tmp_path) as layer:
        save(tmp_path)
        (tmp_path.parent / "elsewhere").write_bytes(b"")
    assert layer.calls == [
        ("open", "part"),
        ("write", "part"),
        ("fsync", "part"),
        ("replace", "part whole"),
    ]


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_the_nth_operation_fails(tmp_path, at):
    with faults.injected(tmp_path, faults.BROKEN_DISK, at) as layer:
        with pytest.raises(OSError, match="part") as caught:
            save(tmp_path)
        assert caught.value.errno == errno.EIO
        assert len(layer.calls) >= at
    assert not (tmp_path / "whole").exists()
    save(tmp_path)


def test_a_full_disk_stays_full_and_takes_half_of_a_write(tmp_path):
    with faults.injected(tmp_path, faults.FULL_DISK, 2) as layer:
        with pytest.raises(OSError, match="No space"):
            save(tmp_path)
        with pytest.raises(OSError, match="No space"):
            (tmp_path / "other").touch()
        assert (tmp_path / "part").read_bytes() == b"x" * 5
        (tmp_path / "part").unlink()
    assert names(layer)[:2] == ["open", "write"]


def test_only_a_sync_fails(tmp_path):
    with faults.injected(tmp_path, faults.FAILED_SYNC, 1), pytest.raises(OSError, match="part"):
        save(tmp_path)
    assert (tmp_path / "part").read_bytes() == b"x" * 10


def test_a_short_write_is_not_an_error(tmp_path):
    with faults.injected(tmp_path, faults.SHORT_WRITE, 1) as layer:
        fd = os.open(tmp_path / "raw", os.O_CREAT | os.O_WRONLY)
        assert os.write(fd, b"12345") == 3
        os.close(fd)
        save(tmp_path, b"abc")
    assert (tmp_path / "whole").read_bytes() == b"abc"
    assert layer.is_reached
    with faults.injected(tmp_path, faults.SHORT_WRITE, 1):
        save(tmp_path, b"abcd")
    assert (tmp_path / "whole").read_bytes() == b"abcd", "buffered files write the rest"


def test_archives_are_seen(tmp_path):
    with faults.injected(tmp_path) as layer:
        np.savez(tmp_path / "a.npz", rows=np.zeros((40, 50)))
        np.save(tmp_path / "b.npy", np.zeros((40, 50)))
    assert {path for name, path in layer.calls if name == "write"} == {"a.npz", "b.npy"}
    with faults.injected(tmp_path, faults.FULL_DISK, 2), suppress(OSError):
        np.savez(tmp_path / "a.npz", rows=np.zeros((40, 50)))
    assert not zipfile.is_zipfile(tmp_path / "a.npz")


def test_each_yields_every_operation_of_every_kind(tmp_path):
    found = [(str(fault.kind), fault.at) for fault in faults.each(tmp_path, lambda: save(tmp_path))]
    assert found == [
        ("ENOSPC from then on", 1),
        ("ENOSPC from then on", 2),
        *(("EIO", at) for at in (1, 2, 3, 4)),
        ("EIO", 1),
        ("short", 1),
    ]


def test_everything_is_restored(tmp_path):
    before = os.open, os.write, open, os.replace
    with faults.injected(tmp_path), suppress(RuntimeError):
        raise RuntimeError
    assert (os.open, os.write, open, os.replace) == before
