"""A file of cached rows is complete, undamaged and private, or it is not used."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

import faults
from protobandit.rows.files import row_file
from protobandit.rows.files.row_file import (
    is_abandoned,
    mapped,
    open_row_file,
    read_header,
    unfinished_rows,
)

ROWS = np.arange(3000, dtype=np.float32).reshape(1000, 3)
PAGE = 4096


def write(path, rows=ROWS, *, mode=0o600, source="rows.csv"):
    with unfinished_rows(path.parent, rows.shape, rows.dtype, mode) as unfinished:
        unfinished.array[:] = rows
        unfinished.finish(source)
        unfinished.keep_as(path)
    return unfinished.array


def found(path, rows=ROWS):
    return mapped(path, rows.shape, rows.dtype)


def test_rows_are_mapped_as_written(tmp_path):
    path = tmp_path / "a.rows"
    written = write(path)
    for array in (written, found(path)):
        np.testing.assert_array_equal(array, ROWS)
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
    assert os.listdir(tmp_path) == ["a.rows"]


def test_the_header_says_what_the_file_holds(tmp_path):
    path = tmp_path / "a.rows"
    write(path, source="📁" * 3000 + ".csv")
    with open_row_file(path) as file:
        header = read_header(file)
    assert (header.shape, header.dtype) == (ROWS.shape, ROWS.dtype.str)
    assert header.source.startswith("…📁")
    assert header.source.endswith("📁.csv")
    assert found(path) is not None


@pytest.mark.parametrize(
    ("shape", "dtype"), [((1000, 4), np.float32), ((1000, 3), np.int32), ((3000,), np.float32)]
)
def test_other_shapes_and_types_are_not_used(tmp_path, shape, dtype):
    write(tmp_path / "a.rows")
    assert mapped(tmp_path / "a.rows", shape, np.dtype(dtype)) is None


@pytest.mark.parametrize("at", [0, 20, 30, 60, PAGE - 1, PAGE, PAGE + 6001, PAGE + ROWS.nbytes - 1])
def test_one_flipped_bit_is_found(tmp_path, at):
    path = tmp_path / "a.rows"
    write(path)
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)
    assert found(path) is None


@pytest.mark.parametrize("size", [0, 100, PAGE, PAGE + 1, PAGE + ROWS.nbytes - 1, 1 << 16])
def test_a_file_of_another_size_is_not_used(tmp_path, size):
    path = tmp_path / "a.rows"
    write(path)
    os.truncate(path, size)
    assert found(path) is None


def test_zeros_are_not_rows(tmp_path):
    path = tmp_path / "a.rows"
    write(path, np.zeros_like(ROWS))
    os.truncate(path, 0)
    os.truncate(path, PAGE + ROWS.nbytes)
    assert found(path, np.zeros_like(ROWS)) is None


def test_links_folders_and_files_of_other_users_are_not_used(tmp_path):
    path = tmp_path / "a.rows"
    write(path)
    (tmp_path / "link.rows").symlink_to(path)
    (tmp_path / "folder.rows").mkdir()
    for name in ("link.rows", "folder.rows", "missing.rows"):
        assert found(tmp_path / name) is None
    assert found(path) is not None
    if os.geteuid() == 0:
        os.chown(path, 65534, -1)
        assert found(path) is None


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_permissions_do_not_depend_on_the_umask(tmp_path, mode):
    before = os.umask(0)
    try:
        with unfinished_rows(tmp_path, ROWS.shape, ROWS.dtype, mode) as unfinished:
            assert stat.S_IMODE(unfinished.path.stat().st_mode) == mode
            os.umask(0o777)
            unfinished.array[:] = ROWS
            unfinished.finish("rows.csv")
            unfinished.keep_as(tmp_path / "a.rows")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.rows").stat().st_mode) == mode


def test_names_of_unfinished_files_are_random_and_never_reused(tmp_path, monkeypatch):
    names = set()
    for _ in range(3):
        with unfinished_rows(tmp_path, ROWS.shape, ROWS.dtype, 0o600) as unfinished:
            names.add(unfinished.path.name)
    assert len(names) == 3
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(row_file, "token_hex", lambda n: "guessed")
    (tmp_path / ".guessed.part").symlink_to(victim)
    with (
        pytest.raises(FileExistsError),
        unfinished_rows(tmp_path, ROWS.shape, ROWS.dtype, 0o600),
    ):
        raise AssertionError("the file exists")
    assert victim.read_text() == "precious"


def test_a_link_at_the_name_is_replaced_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "a.rows").symlink_to(victim)
    write(tmp_path / "a.rows")
    assert victim.read_text() == "precious"
    assert found(tmp_path / "a.rows") is not None


def test_an_error_leaves_no_file(tmp_path):
    with (
        pytest.raises(ValueError, match="of the reader"),
        unfinished_rows(tmp_path, ROWS.shape, ROWS.dtype, 0o600),
    ):
        raise ValueError("of the reader")
    assert os.listdir(tmp_path) == []


def test_rows_stay_when_their_file_is_replaced_or_removed(tmp_path):
    path = tmp_path / "a.rows"
    write(path)
    mapped_before = found(path)
    write(path, ROWS + 1)
    np.testing.assert_array_equal(mapped_before, ROWS)
    path.unlink()
    np.testing.assert_array_equal(mapped_before, ROWS)


def test_systems_that_cannot_rename_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr(row_file, "_CAN_RENAME_OPEN_FILES", False)
    np.testing.assert_array_equal(write(tmp_path / "a.rows"), ROWS)
    np.testing.assert_array_equal(found(tmp_path / "a.rows"), ROWS)
    with unfinished_rows(tmp_path, ROWS.shape, ROWS.dtype, 0o600) as unfinished:
        unfinished.array[:] = ROWS
        unfinished.finish("rows.csv")
        with pytest.raises(FileNotFoundError):
            unfinished.keep_as(tmp_path / "missing" / "a.rows")
        np.testing.assert_array_equal(unfinished.array, ROWS)


def test_systems_that_cannot_allocate_write_zeros(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(row_file, "_PIECE", 1000)
    write(tmp_path / "a.rows")
    np.testing.assert_array_equal(found(tmp_path / "a.rows"), ROWS)


_KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from protobandit.rows.files.row_file import unfinished_rows
with unfinished_rows(Path(sys.argv[1]), (10, 2), np.dtype("f4"), 0o600):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_only_the_file_of_a_killed_writer_is_abandoned(tmp_path):
    pytest.importorskip("fcntl")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", _KILLED, tmp_path], env=environment, timeout=60)
    (left,) = tmp_path.iterdir()
    assert is_abandoned(left)
    with unfinished_rows(tmp_path, ROWS.shape, ROWS.dtype, 0o600) as unfinished:
        assert not is_abandoned(unfinished.path)
    assert not is_abandoned(unfinished.path), "it is gone"


def test_rows_are_on_the_disk_before_they_get_their_name(tmp_path):
    with faults.injected(tmp_path) as layer:
        write(tmp_path / "a.rows")
    done = [name for name, _ in layer.calls]
    assert "fsync" in done[: done.index("replace")]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot allocate")
def test_disk_space_is_allocated_before_rows_are_stored(tmp_path, monkeypatch):
    asked, allocate = [], os.posix_fallocate
    monkeypatch.setattr(
        os, "posix_fallocate", lambda *given: asked.append(given[1:]) or allocate(*given)
    )
    write(tmp_path / "a.rows")
    assert asked == [(0, PAGE + ROWS.nbytes)]


def test_a_file_is_private_from_the_moment_it_exists(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fchmod")
    before = os.umask(0)
    try:
        write(tmp_path / "a.rows", mode=0o644)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.rows").stat().st_mode) == 0o600


def test_the_header_of_a_file_of_another_size_is_not_read(tmp_path):
    path = tmp_path / "a.rows"
    write(path)
    with path.open("ab") as file:
        file.write(b"x")
    with open_row_file(path) as file:
        assert read_header(file) is None
