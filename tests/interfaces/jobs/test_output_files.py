"""Atomic writes of files and folders."""

import errno
import itertools
from pathlib import Path

import pytest

import faults
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


def written(out, force=True):
    output_files.write_results(out, FILES, force=force)


@pytest.mark.parametrize("is_new", [True, False])
def test_whatever_fails_a_result_is_old_or_new_and_nothing_is_left_behind(tmp_path, is_new):
    """If a call returns, all of the result is on the disk."""
    old = {} if is_new else {"selection.json": b"old", "prototypes.csv": b"old", "notes": b"mine"}
    new = FILES if is_new else {**FILES, "notes": b"mine"}

    def prepared(name):
        folder = tmp_path / name
        folder.mkdir()
        if not is_new:
            (folder / "out").mkdir()
        for name, content in old.items():
            (folder / "out" / name).write_bytes(content)
        return folder

    for kind, at in itertools.product(faults.KINDS, range(1, 30)):
        folder = prepared(f"{kind} {at} {sorted(kind.only)[0]}")
        with faults.injected(folder, kind, at) as fault:
            try:
                written(folder / "out")
            except ProtobanditError as error:
                message = str(error)
            else:
                message = ""
        if not fault.is_reached:
            assert contents(folder / "out") == new
            continue
        failed = fault.calls[fault.at - 1][0]
        is_removal = failed in ("unlink", "rmdir")  # what cannot be removed stays
        found = contents(folder / "out") if (folder / "out").exists() else {}
        left = [path.name for path in folder.iterdir() if path.name != "out"]
        left += [found.pop(name) for name in list(found) if name.endswith(".part")]
        assert is_removal or not left, fault
        if message == "":
            assert found == new, fault
            assert is_removal or fault.kind is faults.SHORT_WRITE, fault
        elif "was written, but" in message:
            assert found == new, fault
            assert failed == "fsync"
        else:
            assert f"cannot write {str(folder / 'out')!r}: " in message
            assert found.get("selection.json") == old.get("selection.json"), fault


def test_files_and_names_are_synchronised_before_a_result_counts_as_written(tmp_path):
    with faults.injected(tmp_path) as layer:
        written(tmp_path / "out")
    operations = [name for name, _ in layer.calls]
    assert operations.count("fsync") == len(FILES) + 2
    assert operations[-3:] == ["fsync", "rename", "fsync"], "the folder, its name, its parent"


def test_a_full_disk_is_told_from_other_errors(tmp_path):
    for kind, error in ((faults.FULL_DISK, True), (faults.BROKEN_DISK, False)):
        with (
            faults.injected(tmp_path, kind, 3),
            pytest.raises(ProtobanditError, match="Nothing was written") as caught,
        ):
            written(tmp_path / "out")
        assert isinstance(caught.value, output_files.DiskFull) is error
    assert list(tmp_path.iterdir()) == []


def test_the_selection_is_the_last_to_be_replaced(tmp_path):
    for name in FILES:
        (tmp_path / name).write_bytes(b"old")
    replace = faults.Kind(errno.EIO, {"replace"})
    with (
        faults.injected(tmp_path, replace, 2),
        pytest.raises(ProtobanditError, match="Input/output error"),
    ):
        written(tmp_path)
    assert contents(tmp_path) == {"selection.json": b"old", "prototypes.csv": b"a,b\n"}


def test_links_in_a_folder_are_replaced_and_not_followed(tmp_path):
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/selection.json").symlink_to(tmp_path / "mine")
    written(tmp_path / "out")
    assert contents(tmp_path / "out") == FILES
    assert (tmp_path / "mine").read_bytes() == b"mine"


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
