"""The file of a checkpoint: when it is written, which files are refused, and its lock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import faults
import protobandit as pb
from protobandit.foundation import durable_files
from protobandit.run.checkpoint import archive, checked_file
from protobandit.run.checkpoint.archive import CheckpointFile
from watched import SOURCE, Counting, K, Killed, call, outcome, resumed

NOT_COMPLETE = r"is not a complete checkpoint of this version. Delete it, or pass another path"


def opened(path, **options):
    return CheckpointFile(pb.Checkpoint(path), {}, {}, **{"has_log": False, **options})


def header_of(path):
    return checked_file.read(path)[0]


# -- files that are refused ------------------------------------------------------------------------


def write(path, function, *values, **named):
    with path.open("wb") as file:
        function(file, *values, **named)


FOREIGN = {
    "text": lambda path: path.write_text("prototypes: 3"),
    "empty": lambda path: path.write_bytes(b""),
    "array": lambda path: write(path, np.save, np.arange(4)),
    "archive": lambda path: write(path, np.savez, np.arange(4), header=np.arange(3)),
    "pickle": lambda path: path.write_bytes(b"\x80\x04K\x01."),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_refused_and_left_alone(name, tmp_path):
    path = tmp_path / "search"
    FOREIGN[name](path)
    before = path.read_bytes()
    with pytest.raises(pb.InvalidInput, match=NOT_COMPLETE):
        resumed(call("random"), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["search"]


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "search"
    resumed(call("lazygreedy"), path)
    whole = path.read_bytes()
    for n in np.linspace(0, len(whole) - 1, 12).astype(int):
        path.write_bytes(whole[:n])
        with pytest.raises(pb.InvalidInput, match=NOT_COMPLETE):
            resumed(call("lazygreedy"), path)
        assert path.read_bytes() == whole[:n]


@pytest.mark.parametrize("name", ["lazygreedy", "lazybandit, far rows", "fasterpam", "clara"])
def test_a_damaged_file_is_refused_wherever_the_damage_is(name, kill, tmp_path):
    path, arguments = tmp_path / "search", call(name)
    kill(3, arguments, path)
    data, random = path.read_bytes(), np.random.default_rng(0)
    middle, quarter = len(data) // 2, len(data) // 4
    damages = [(middle, middle + quarter), (len(data) - 40, len(data) - 33)]
    damages += [(at, at + 1) for at in random.choice(len(data), 40, replace=False)]
    for start, stop in damages:
        damaged = bytearray(data)
        damaged[start:stop] = bytes(255 - byte for byte in data[start:stop])
        path.write_bytes(damaged)
        with pytest.raises(pb.InvalidInput, match=NOT_COMPLETE):
            resumed(arguments, path)
        assert path.read_bytes() == damaged
    path.write_bytes(data)
    assert outcome(resumed(arguments, path)) == outcome(pb.select(**arguments))


def test_a_file_of_a_later_version_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(checked_file, "VERSION", checked_file.VERSION + 1)
        resumed(call("random"), tmp_path / "search")
    with pytest.raises(pb.InvalidInput, match=NOT_COMPLETE):
        resumed(call("random"), tmp_path / "search")


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("path", ["no/such/folder/search", "."])
def test_a_path_that_cannot_be_a_file_is_refused_at_once(path, is_own, tmp_path):
    counting = Counting()
    arguments = {**call("lazygreedy"), "metric": counting.metric if is_own else "euclidean"}
    with pytest.raises(
        pb.InvalidInput, match=r"checkpoint=.* cannot be (written|read): .* Pass|or"
    ):
        resumed(arguments, tmp_path / path)
    assert counting.n == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("value", [3, True, b"search", ["search"]], ids=repr)
def test_a_checkpoint_must_be_a_path_or_a_checkpoint(value):
    with pytest.raises(pb.InvalidInput, match=r"checkpoint=.* is not known. Pass the path"):
        pb.select(SOURCE, k=2, checkpoint=value)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "5", True, None], ids=repr)
def test_seconds_must_be_a_number(seconds):
    with pytest.raises(pb.InvalidInput, match=r"Checkpoint\(seconds\)="):
        pb.Checkpoint("search", seconds)


@pytest.mark.parametrize("path", ["", 3], ids=repr)
def test_the_path_must_be_a_path(path):
    with pytest.raises(pb.InvalidInput, match=r"Checkpoint\(path\)=.* is not a path"):
        pb.Checkpoint(path)


# -- one run at a time -----------------------------------------------------------------------------


def test_a_second_run_is_refused_while_the_first_one_runs(tmp_path):
    path, messages = tmp_path / "search", []

    def second(step):
        with pytest.raises(pb.InvalidInput) as refused:
            resumed(call("lazygreedy"), path)
        messages.append(str(refused.value))

    found = resumed({**call("lazygreedy"), "callback": second}, path)
    message = f"checkpoint={str(path)!r} is in use by another run. Wait for it to end, or pass"
    assert messages == [f"{message} another path."] * K
    assert outcome(resumed(call("lazygreedy"), path)) == outcome(found)
    assert os.listdir(tmp_path) == ["search"]


def test_another_process_is_refused_while_the_first_one_runs(tmp_path):
    path, codes = tmp_path / "search", []
    code = f"import protobandit as pb; pb.select([[0.0], [1.0]], k=1, checkpoint={str(path)!r})"

    def second(step):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        codes.append((done.returncode, "is in use by another run" in done.stderr))
        return True

    resumed({**call("lazygreedy"), "callback": second}, path)
    assert codes == [(1, True)]


@pytest.mark.skipif(os.name != "posix", reason="requires symbolic links")
@pytest.mark.parametrize("name", ["search", "search.evaluations", ".search.lock"])
@pytest.mark.parametrize("leads", ["nowhere", "to a file", "to a checkpoint"])
def test_links_are_not_followed(name, leads, tmp_path):
    """Whoever may write to the folder could lead a guessable name to a file of the user."""
    arguments = {**call("lazygreedy"), "metric": Counting().metric}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if leads == "to a file":
        (elsewhere / "mine").write_text("mine")
    elif leads == "to a checkpoint":
        resumed(arguments, elsewhere / "mine")
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir()}
    (tmp_path / name).symlink_to(elsewhere / "mine")
    with pytest.raises(pb.InvalidInput, match=r"symbolic link"):
        resumed(arguments, tmp_path / "search")
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == before
    assert (tmp_path / name).is_symlink()


def test_a_link_to_the_folder_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    resumed(call("random"), tmp_path / "link/search")
    first = opened_like(tmp_path / "folder/search")
    try:
        with pytest.raises(pb.InvalidInput, match="search' is in use by another run"):
            opened_like(tmp_path / "link/search")
    finally:
        first.close()


def test_a_link_that_appears_during_the_search_is_replaced(tmp_path):
    path, other = tmp_path / "search", tmp_path / "other"
    other.write_text("mine")

    def swap(step):
        path.unlink(missing_ok=True)
        path.symlink_to(other)

    resumed({**call("lazygreedy"), "callback": swap}, path)
    assert other.read_text() == "mine"
    assert not path.is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="requires POSIX")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "search")
    with pytest.raises(pb.InvalidInput, match="It is not a regular file"):
        resumed(call("random"), tmp_path / "search")


@pytest.mark.skipif(os.name != "posix", reason="requires POSIX permissions")
def test_other_users_cannot_read_the_files(tmp_path):
    resumed({**call("lazygreedy"), "metric": Counting().metric}, tmp_path / "search")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"search": 0o600, "search.evaluations": 0o600}


def opened_like(path):
    return CheckpointFile(pb.Checkpoint(path), header_of(path)["identity"], {}, has_log=False)


def test_parts_that_a_kill_has_left_are_removed(tmp_path):
    left = tmp_path / f".search-{'0' * 16}.part"
    others = [tmp_path / name for name in (".search-mine.part", f".other-{'0' * 16}.part")]
    for path in (left, *others):
        path.touch()
    resumed(call("random"), tmp_path / "search")
    assert not left.exists()
    assert all(path.exists() for path in others)


def test_a_lock_file_that_was_left_behind_locks_nobody_out(tmp_path):
    (tmp_path / ".search.lock").touch()
    resumed(call("random"), tmp_path / "search")
    assert os.listdir(tmp_path) == ["search"]


def test_a_refused_file_is_not_locked(tmp_path):
    path = tmp_path / "search"
    path.write_text("mine")
    for _ in range(2):
        with pytest.raises(pb.InvalidInput, match=NOT_COMPLETE):
            resumed(call("random"), path)
    assert os.listdir(tmp_path) == ["search"]


def fail(*values):
    raise RuntimeError("enough")


@pytest.mark.parametrize(
    "options",
    [
        {"callback": fail},
        {"progress": fail},
        {"metric": pb.block_metric(fail)},
        {"limits": pb.Limits(evaluations=1)},
        {"constraints": pb.Constraints(fixed=[0, 1, 2, 3, 4])},
    ],
    ids=["callback", "progress", "metric", "limits", "constraints"],
)
def test_a_run_that_fails_releases_the_lock(options, tmp_path):
    for _ in range(2):
        with pytest.raises((RuntimeError, pb.InvalidInput)) as failed:
            resumed({**call("lazygreedy"), **options}, tmp_path / "search")
        assert "in use" not in str(failed.value)
    assert ".search.lock" not in os.listdir(tmp_path)


# -- saving ----------------------------------------------------------------------------------------


def test_saves_are_seconds_apart_and_take_a_tenth_of_the_time(tmp_path, monkeypatch):
    clock = {"now": 100.0}
    monkeypatch.setattr(archive, "perf_counter", lambda: clock["now"])
    file = opened(tmp_path / "search")
    write = CheckpointFile._write

    def slow(file, is_complete):
        clock["now"] += 2.0
        write(file, is_complete)

    monkeypatch.setattr(CheckpointFile, "_write", slow)
    clock["now"] = 200.0
    assert not file.is_due(), "nothing has changed"
    file.change()
    assert clock["now"] == 202.0, "it was saved"
    assert not file.is_due()
    file.change()
    clock["now"] += 19.9
    assert not file.is_due(), "ten times the two seconds that the last save took"
    clock["now"] += 0.2
    assert file.is_due()
    file.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_run_that_ends_with_an_error_saves_what_is_not_yet_written(error, tmp_path):
    arguments, steps = {**call("lazygreedy"), "k": 8}, []
    whole = outcome(pb.select(**arguments))

    def fail_at_fifth(step):
        steps.append(step)
        if len(steps) == 5:
            raise error

    rare = pb.Checkpoint(tmp_path / "search", seconds=1e6)
    with pytest.raises(error):
        pb.select(**arguments, callback=fail_at_fifth, checkpoint=rare)
    saved = checked_file.read(tmp_path / "search")[1]
    assert len(saved[":picks:arms"]) == 5
    assert outcome(pb.select(**arguments, checkpoint=rare)) == whole


@pytest.mark.parametrize("is_own", [False, True])
def test_nothing_but_the_checkpoint_and_its_log_is_left(is_own, kill, tmp_path):
    arguments = {**call("pam"), **({"metric": Counting().metric} if is_own else {})}
    kill(2, arguments, tmp_path / "search")
    resumed(arguments, tmp_path / "search")
    assert sorted(os.listdir(tmp_path)) == ["search", "search.evaluations"][: 1 + is_own]


def test_a_save_replaces_the_file_and_never_changes_it(kill, tmp_path, monkeypatch):
    """An open file can still be read, and a save that is killed leaves the old file alone."""
    path = tmp_path / "search"
    kill(4, call("lazygreedy"), path)
    before = path.read_bytes()

    def dying(file):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(durable_files, "sync", dying)
        with pytest.raises(Killed):
            resumed(call("lazygreedy"), path)
    assert path.read_bytes() == before
    with path.open("rb") as file:
        resumed(call("lazygreedy"), path)
        assert file.read() == before
    assert path.read_bytes() != before


def test_the_working_directory_may_change_during_the_search(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    arguments = {**call("lazygreedy"), "metric": Counting().metric}
    steps = []

    def callback(step):
        os.chdir(tmp_path / "elsewhere")
        steps.append(step)
        return len(steps) == 2

    resumed({**arguments, "callback": callback}, Path("search"))
    assert os.listdir(tmp_path / "elsewhere") == []
    assert header_of(tmp_path / "search")["searches"][""]["seconds"] > 0
    whole = pb.select(**arguments)
    assert outcome(resumed(arguments, tmp_path / "search")) == outcome(whole)


def test_a_search_that_is_stopped_is_not_complete(tmp_path):
    stop = pb.Interrupt()
    arguments = {**call("lazygreedy"), "interrupt": stop, "callback": stop.set}
    found = resumed(arguments, tmp_path / "search")
    assert found.k == 1
    assert not header_of(tmp_path / "search")["is_complete"]
    whole = pb.select(**call("lazygreedy"))
    assert outcome(resumed(call("lazygreedy"), tmp_path / "search")) == outcome(whole)
    assert header_of(tmp_path / "search")["is_complete"]


def test_a_call_is_not_complete_if_one_of_its_classes_was_stopped(tmp_path):
    arguments, path = {**call("classes"), "method": "lazygreedy"}, tmp_path / "search"
    resumed({**arguments, "limits": pb.Limits(seconds=1e-9)}, path)
    assert not header_of(path)["is_complete"]
    resumed(arguments, path)
    assert header_of(path)["is_complete"]


# -- disks that fail -------------------------------------------------------------------------------

CALLS = {
    "built-in metric": {**call("lazygreedy"), "k": 2},
    "own metric": {**call("lazygreedy"), "k": 2, "metric": Counting().metric},
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", faults.KINDS, ids=lambda kind: f"{kind} {len(kind.only)}")
def test_a_disk_that_fails_at_any_operation_costs_nothing_but_the_checkpoint(name, kind, tmp_path):
    """The search goes on, a file is old or new, and the next run resumes from it."""
    arguments, n_refused = CALLS[name], 0
    whole = outcome(pb.select(**arguments))
    with faults.injected(tmp_path, kind) as layer:
        resumed(arguments, tmp_path / "search")
    for at in range(1, len(layer.calls) + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        with faults.injected(folder, kind, at) as fault:
            try:
                found = resumed(arguments, folder / "search")
            except pb.InvalidInput:
                n_refused += 1
            else:
                assert outcome(found) == whole, fault
                if kind.is_lasting:
                    assert "The checkpoint could not be written: " in found.status
        again = resumed(arguments, folder / "search")
        assert outcome(again) == whole, fault
        assert "could not be written" not in again.status
    assert n_refused <= 14, "only the first files are needed"
