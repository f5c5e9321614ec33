"""All or nothing, and never over what is there."""

import os
from pathlib import Path

import pytest

from protobandit import InvalidInput, ProtobanditError
from protobandit.interfaces.jobs import files

FILES = {"selection.json": b"{}", "prototypes.csv": b"a,b\n"}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_folder_appears_complete(tmp_path):
    files.write_results(tmp_path / "out", FILES, force=False)
    assert contents(tmp_path / "out") == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_else_is_in_a_folder_stays(tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"mine")
    files.write_results(tmp_path, FILES, force=False)
    assert contents(tmp_path) == {**FILES, "notes.txt": b"mine"}


@pytest.mark.parametrize("there", ["selection.json", "prototypes.parquet", "report.html"])
def test_an_earlier_result_is_kept(tmp_path, there):
    (tmp_path / there).write_bytes(b"old")
    with pytest.raises(InvalidInput, match=rf"holds {there} already\. Pass --force"):
        files.write_results(tmp_path, FILES, force=False)
    assert contents(tmp_path) == {there: b"old"}


def test_force_leaves_nothing_of_an_earlier_result(tmp_path):
    for name in (*files.RESULTS, "notes.txt"):
        (tmp_path / name).write_bytes(b"old")
    files.write_results(tmp_path, FILES, force=True)
    assert contents(tmp_path) == {**FILES, "notes.txt": b"old"}


def refuse_some(monkeypatch, name, allowed):
    """Let a function work a few times and then find the disk full."""
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
    refuse_some(monkeypatch, "write_bytes", allowed)
    with pytest.raises(ProtobanditError, match=r"cannot write .*out': No space left on device\."):
        files.write_results(out, FILES, force=True)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ([] if is_new else ["out"])
    assert is_new or contents(out) == before


def test_the_selection_is_the_last_to_be_replaced(tmp_path, monkeypatch):
    for name in FILES:
        (tmp_path / name).write_bytes(b"old")
    refuse_some(monkeypatch, "replace", 1)
    with pytest.raises(ProtobanditError, match="No space left"):
        files.write_results(tmp_path, FILES, force=True)
    monkeypatch.undo()
    assert contents(tmp_path) == {"selection.json": b"old", "prototypes.csv": b"a,b\n"}


@pytest.mark.parametrize(
    ("path", "words"),
    [("no/such/out", "lies in no existing folder"), ("file", "is not a folder")],
)
def test_where_no_folder_can_be(tmp_path, path, words):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput, match=words):
        files.require_free(tmp_path / path, force=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no such file system there")
def test_a_folder_that_takes_no_files_is_seen_before_the_work():
    for check in (files.require_free, files.require_new):
        with pytest.raises(ProtobanditError, match=r"cannot write '/proc/out'"):
            check(Path("/proc/out"), force=False)


def test_a_file_that_fails_half_way_is_not_there(tmp_path):
    path = tmp_path / "near.csv"
    path.write_bytes(b"old")

    def interrupted():
        with files.written(path, force=True) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert contents(tmp_path) == {"near.csv": b"old"}
    with files.written(path, force=True) as file:
        file.write(b"whole")
    assert contents(tmp_path) == {"near.csv": b"whole"}


def test_a_file_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "near.csv"
    path.write_bytes(b"old")
    with pytest.raises(InvalidInput, match=r"exists\. Pass --force"):
        files.require_new(path, force=False)
    with (
        pytest.raises(InvalidInput, match=r"exists\. Pass --force"),
        files.written(path, force=False),
    ):
        pytest.fail("it was opened")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such devices there")
def test_devices_are_written_to_as_they_are():
    files.require_new(Path("/dev/null"), force=False)
    with files.written(Path("/dev/null"), force=False) as file:
        file.write(b"gone")
    with (
        pytest.raises(ProtobanditError, match=r"cannot write '/dev/full': No space left on device"),
        files.written(Path("/dev/full"), force=False) as file,
    ):
        file.write(b"too much")
