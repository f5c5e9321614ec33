"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os

import pytest

import faults
from protobandit.foundation import durable_files
from protobandit.foundation.durable_files import (
    NotSynced,
    open_new,
    open_regular,
    replacing,
    sync_folder,
)


def put(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def test_whatever_fails_the_file_is_old_or_new(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for fault in faults.each(tmp_path, lambda: put(path)):
        path.write_bytes(b"old")
        with fault:
            try:
                put(path)
            except NotSynced:
                expected = b"new"
            except OSError:
                expected = b"old"
            else:
                expected = b"new"
        assert path.read_bytes() == expected, fault
        # If even the removal fails, or a disk is broken, the rest of the file stays.
        assert os.listdir(tmp_path) == ["file"], fault


def test_the_file_is_synchronised_before_it_is_renamed_and_its_name_afterwards(tmp_path):
    with faults.injected(tmp_path) as layer:
        put(tmp_path / "file")
    assert [name for name, _ in layer.calls] == ["open", "write", "fsync", "replace", "fsync"]
    assert layer.calls[2][1].endswith(".part")
    assert layer.calls[-1][1] == "."


def test_an_error_of_the_caller_leaves_the_old_file(tmp_path):
    (tmp_path / "file").write_bytes(b"old")

    def interrupted():
        with replacing(tmp_path / "file") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_is_new(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            open_new(tmp_path / name)
        monkeypatch.setattr(durable_files, "part_name", lambda _, name=name: name)
        with pytest.raises(FileExistsError):
            put(tmp_path / "target")
    assert not (tmp_path / "nowhere").exists()


def test_only_regular_files_are_opened(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    os.close(open_regular(tmp_path / "file"))
    for name, words in {"link": "symbolic link", "pipe": "regular file", ".": "directory"}.items():
        for is_writable in (False, True):
            with pytest.raises(OSError, match=words):
                open_regular(tmp_path / name, is_writable=is_writable)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing")


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_synchronise_folders_is_accepted(number, tmp_path):
    with faults.injected(tmp_path, faults.Kind(number, faults.SYNCS), 1) as layer:
        sync_folder(tmp_path)
    assert layer.is_reached
