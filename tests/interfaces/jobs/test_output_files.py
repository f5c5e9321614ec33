"""Atomic writes of files and folders."""

import os
import stat
from pathlib import Path

import pytest

from protobandit import InvalidInput, ProtobanditError
from protobandit.interfaces.jobs import output_files

FILES = {"selection.json": b"{}", "prototypes.csv": b"a,b\n"}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_folder_appears_complete(tmp_path):
    output_files.write_results(tmp_path / "out", FILES, force=False)
    assert contents(tmp_path / "out") == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_other_files_in_a_folder_are_kept(tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"mine")
    output_files.write_results(tmp_path, FILES, force=False)
    assert contents(tmp_path) == {**FILES, "notes.txt": b"mine"}


@pytest.mark.parametrize("existing", ["selection.json", "prototypes.parquet", "report.html"])
def test_an_existing_result_is_kept(tmp_path, existing):
    (tmp_path / existing).write_bytes(b"old")
    with pytest.raises(InvalidInput, match=rf"already holds {existing}\. Pass --force"):
        output_files.write_results(tmp_path, FILES, force=False)
    assert contents(tmp_path) == {existing: b"old"}


def test_force_removes_all_files_of_an_earlier_result(tmp_path):
    for name in (*output_files.RESULTS, "notes.txt"):
        (tmp_path / name).write_bytes(b"old")
    output_files.write_results(tmp_path, FILES, force=True)
    assert contents(tmp_path) == {**FILES, "notes.txt": b"old"}


def fail_after(monkeypatch, name, allowed):
    """Let a function work a few times and then fail as if the disk were full."""
    module, attribute = {"replace": (os, "replace"), "write_bytes": (Path, "write_bytes")}[name]
    real, calls = getattr(module, attribute), []

    def limited(*arguments):
        calls.append(arguments)
        if len(calls) > allowed:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(module, attribute, limited)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("allowed", [0, 1])
def test_a_full_disk_leaves_nothing_behind(tmp_path, is_new, allowed, monkeypatch):
    out = tmp_path / "out"
    if not is_new:
        out.mkdir()
        (out / "selection.json").write_bytes(b"old")
    before = {} if is_new else contents(out)
    fail_after(monkeypatch, "write_bytes", allowed)
    with pytest.raises(ProtobanditError, match=r"cannot write .*out': No space left on device\."):
        output_files.write_results(out, FILES, force=True)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ([] if is_new else ["out"])
    assert is_new or contents(out) == before


def test_the_selection_is_the_last_to_be_replaced(tmp_path, monkeypatch):
    for name in FILES:
        (tmp_path / name).write_bytes(b"old")
    fail_after(monkeypatch, "replace", 1)
    with pytest.raises(ProtobanditError, match="No space left"):
        output_files.write_results(tmp_path, FILES, force=True)
    monkeypatch.undo()
    assert contents(tmp_path) == {"selection.json": b"old", "prototypes.csv": b"a,b\n"}


@pytest.mark.parametrize(
    ("path", "words"),
    [("no/such/out", "does not exist"), ("file", "is not a folder")],
)
def test_invalid_folders(tmp_path, path, words):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput, match=words):
        output_files.require_writable_folder(tmp_path / path, force=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="requires /proc")
def test_a_folder_that_cannot_be_written():
    for check in (output_files.require_writable_folder, output_files.require_writable_file):
        with pytest.raises(ProtobanditError, match=r"cannot write '/proc/out'"):
            check(Path("/proc/out"), force=False)


def test_an_incomplete_file_is_not_kept(tmp_path):
    path = tmp_path / "near.csv"
    path.write_bytes(b"old")

    def interrupted():
        with output_files.open_for_writing(path, force=True) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert contents(tmp_path) == {"near.csv": b"old"}
    with output_files.open_for_writing(path, force=True) as file:
        file.write(b"whole")
    assert contents(tmp_path) == {"near.csv": b"whole"}


def test_a_file_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "near.csv"
    path.write_bytes(b"old")
    with pytest.raises(InvalidInput, match=r"exists\. Pass --force"):
        output_files.require_writable_file(path, force=False)
    with (
        pytest.raises(InvalidInput, match=r"exists\. Pass --force"),
        output_files.open_for_writing(path, force=False),
    ):
        pytest.fail("it was opened")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="requires /dev/full")
def test_devices_are_written_in_place():
    output_files.require_writable_file(Path("/dev/null"), force=False)
    with output_files.open_for_writing(Path("/dev/null"), force=False) as file:
        file.write(b"gone")
    with (
        pytest.raises(ProtobanditError, match=r"cannot write '/dev/full': No space left on device"),
        output_files.open_for_writing(Path("/dev/full"), force=False) as file,
    ):
        file.write(b"too much")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("is_new", [True, False])
def test_unfinished_files_are_private(tmp_path, is_new, monkeypatch):
    """Complete ones have the permissions that the user's other new files have."""
    out, seen = tmp_path / "out", []
    if not is_new:
        out.mkdir()
    original = output_files._publish

    def publish(path):
        seen.append(stat.S_IMODE(path.stat().st_mode))
        original(path)

    monkeypatch.setattr(output_files, "_publish", publish)
    output_files.write_results(out, {"selection.json": b"{}"}, force=False)
    with output_files.open_atomically(tmp_path / "page.html") as file:
        file.write(b"page")
    assert seen == [0o700 if is_new else 0o600, 0o600]
    (tmp_path / "other").touch()
    usual = (tmp_path / "other").stat().st_mode
    assert (tmp_path / "page.html").stat().st_mode == usual
    assert (out / "selection.json").stat().st_mode == usual
