"""Cached rows are those of the file, whoever writes at once and whatever fails."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import faults
from protobandit.data import open_rows
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.rows.files import row_cache
from protobandit.rows.files.cache_folder import LIMIT, cache_folder, cached_files
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.row_cache import cached

N, M = 2000, 300


@pytest.fixture
def table(tmp_path):
    """Write a table whose first column is the number of the row."""
    return write_table(tmp_path / "rows.csv")


def write_table(path, step=0.5):
    lines = [f"{i},{i * step}" for i in range(N)]
    path.write_text("\n".join(["a,b", *lines]), encoding="utf-8")
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def sample(path, cache, *, seed=0, tell=None):
    found = open_rows(path, sample=M, seed=seed, cache=cache, tell=tell)
    return found.rows


def is_right(rows):
    """Return whether the rows are distinct rows of the table."""
    numbers = rows[:, 0]
    return (
        rows.shape == (M, 2)
        and len(np.unique(numbers)) == M
        and bool((rows[:, 1] == numbers * 0.5).all())
    )


def names(cache):
    return sorted(os.listdir(cache_folder(cache)))


def path_in(cache):
    (name,) = names(cache)
    return cache_folder(cache) / name


# -- at once --------------------------------------------------------------------------------------


def test_threads_that_sample_a_file_at_once(table, cache, monkeypatch):
    original, barrier = row_cache._WantedRows.read_into, Barrier(4, timeout=60)

    def fill_together(writer, out):
        barrier.wait()
        original(writer, out)
        barrier.wait()

    monkeypatch.setattr(row_cache._WantedRows, "read_into", fill_together)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: sample(table, cache), range(4)))
    assert all(map(is_right, found))
    assert all(isinstance(rows, np.memmap) for rows in found), "each thread has its own file"
    assert all((rows == found[0]).all() for rows in found)
    assert len(names(cache)) == 1


_PROCESS = """
import json, sys
from pathlib import Path
import numpy as np
from protobandit.data import open_rows
path, cache = sys.argv[1:]
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if order == "read":
        answer = np.asarray(rows).tolist()
    else:
        rows = open_rows(path, sample=300, seed=order, cache=cache).rows
        answer = isinstance(rows, np.memmap)
    print(json.dumps(answer), flush=True)
"""


class Process:
    """Another process that samples the file on request and returns the rows it has mapped."""

    def __init__(self, path, cache, **environment):
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROCESS, path, cache],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *error):
        self.process.communicate(timeout=60)


def test_processes_that_sample_a_file_at_once_and_lose_it_to_each_other(table, cache):
    size = str((4096 + M * 16 + 100) / 1e9)  # the cache holds one sample
    with (
        Process(table, cache, PROTOBANDIT_CACHE_GB=size) as one,
        Process(table, cache, PROTOBANDIT_CACHE_GB=size) as two,
    ):
        for seed in (0, 0, 1, 2, 3, 4):
            for each in (one, two):
                each.ask(seed)
            assert [one.answer(), two.answer()] == [True, True]
        for each, seed in ((one, 5), (two, 6)):
            each.ask(seed)
            assert each.answer()
        one.ask("read")  # its file was removed by the other process
        assert is_right(np.array(one.answer()))
    assert len(names(cache)) == 1


# -- what may fail --------------------------------------------------------------------------------


KINDS = (
    *faults.KINDS,
    faults.Kind(errno.ENOSPC),
    faults.Kind(errno.EIO, faults.READS),
    faults.Kind(errno.EROFS, is_lasting=True),
)


def test_no_fault_changes_the_rows(table, cache):
    truth = np.array(sample(table, cache))
    is_mapped = {}

    def run():
        return sample(table, cache)

    for fault in faults.each(cache, run, KINDS, before=lambda: shutil.rmtree(cache)):
        with fault:
            found = run()
        assert fault.is_reached
        np.testing.assert_array_equal(found, truth, err_msg=str(fault))
        assert len(list(cache.rglob("*.part"))) <= (fault.calls[-1][0] == "unlink"), fault
        messages = []
        again = sample(table, cache, tell=messages.append)
        np.testing.assert_array_equal(again, truth, err_msg=str(fault))
        assert "Reusing" in messages[0] or fault.kind != faults.SHORT_WRITE
        is_mapped.setdefault(str(fault.kind), []).append(isinstance(found, np.memmap))
    assert all(is_mapped["short"])
    assert not any(is_mapped["EROFS from then on"][:6])
    assert len(is_mapped["EIO"]) > 8


def test_no_fault_in_reuse_changes_the_rows(table, cache):
    truth = np.array(sample(table, cache))
    n_faults = 0
    for fault in faults.each(cache, lambda: sample(table, cache), KINDS):
        with fault:
            np.testing.assert_array_equal(sample(table, cache), truth, err_msg=str(fault))
        n_faults += 1
    assert n_faults >= 3


_KILLS = """
import os, shutil, sys
from pathlib import Path
import numpy as np
import faults
from protobandit.rows.files.cache_folder import cache_folder
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.row_cache import cached
source, cache = map(Path, sys.argv[1:])
truth = np.arange(20.0).reshape(10, 2)
def rows():
    def fill(out):
        out[:] = truth
    asked = ReadRequest(shown="rows", cache=cache)
    return cached([source], "key", shape=truth.shape, dtype="f8", fill=fill, asked=asked)
with faults.injected(cache) as layer:
    rows()
for n in range(1, len(layer.calls) + 1):
    shutil.rmtree(cache)
    child = os.fork()
    if child == 0:
        with faults.injected(cache, faults.Kind(faults.KILL), n):
            rows()
        os._exit(0)
    was_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    n_left = len(list(cache.rglob("*.part")))
    is_right = (rows() == truth).all()
    print(layer.calls[n - 1][0], was_killed, n_left, is_right, len(os.listdir(cache_folder(cache))))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_killed_writer_leaves_nothing_that_stays(table, cache):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _KILLS, table, cache],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) > 7, done.stderr
    assert {operation for operation, *_ in lines} >= {"open", "write", "fsync", "replace"}
    assert all(was_killed == "True" for _, was_killed, *_ in lines)
    assert {n_left for _, _, n_left, *_ in lines} == {"0", "1"}
    assert all((is_right, n) == ("True", "1") for *_, is_right, n in lines)


def test_damaged_rows_are_read_again(table, cache):
    truth = np.array(sample(table, cache))
    path = path_in(cache)
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    messages = []
    np.testing.assert_array_equal(sample(table, cache, tell=messages.append), truth)
    assert messages[0] == f"The rows cached in {path} are damaged: they are read again."
    messages.clear()
    np.testing.assert_array_equal(sample(table, cache, tell=messages.append), truth)
    assert messages == [f"Reusing the rows cached in {path}."]


def test_older_files_make_room_on_a_full_disk(table, cache, monkeypatch):
    for seed in (0, 1):
        sample(table, cache, seed=seed)
    before, original = names(cache), os.posix_fallocate

    def full_unless_one_is_removed(*arguments):
        if len(names(cache)) > 2:
            raise OSError(errno.ENOSPC, "full")
        return original(*arguments)

    monkeypatch.setattr(os, "posix_fallocate", full_unless_one_is_removed)
    assert isinstance(sample(table, cache, seed=2), np.memmap)
    assert len(set(before) & set(names(cache))) == 1


def test_an_unusable_cache_costs_memory_but_not_the_rows(table, cache):
    cache.write_text("in the way")
    messages = []
    assert is_right(sample(table, cache, tell=messages.append))
    assert messages[0] == (
        f"The 4,800 bytes of rows of {table} cannot be cached: Not a directory. They are held in "
        f"memory, and the next call reads them again."
    )


def test_rows_that_fit_nowhere_raise(table, cache, monkeypatch):
    monkeypatch.setattr(row_cache, "MOST_HELD", 100)
    with (
        faults.injected(cache, faults.FULL_DISK, 2),
        pytest.raises(NotAvailable, match=r"cannot be cached: No space .* as cache= \(--cache\)"),
    ):
        sample(table, cache)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path, cache, is_gone):
    path = write_table(tmp_path / "rows.csv")

    def fill(out):
        out[:] = 1
        path.unlink() if is_gone else write_table(path, step=0.7)

    reason = "does not exist" if is_gone else "changed while it was read"
    with pytest.raises(InvalidInput, match=reason):
        cached(
            [path],
            "key",
            shape=(2, 2),
            dtype="f8",
            fill=fill,
            asked=ReadRequest(shown="rows.csv", cache=cache),
        )
    assert names(cache) == []


def test_a_source_with_another_content_and_the_same_times_is_read_again(table, cache):
    times = table.stat().st_atime_ns, table.stat().st_mtime_ns
    before = np.array(sample(table, cache))
    table.write_text(table.read_text().replace("7", "6"), encoding="utf-8")
    os.utime(table, ns=times)
    assert (sample(table, cache) != before).any()


def test_the_header_names_the_files(table, cache):
    copy = shutil.copy(table, table.with_name("copy.csv"))
    open_rows([str(table), copy], sample=M, cache=cache)
    (file,) = cached_files(cache_folder(cache))
    assert file.header().source == f"{table} (and 1 more)"


# -- bounds and permissions -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "expected"), [(0o644, 0o600), (0o600, 0o600), (0o400, 0o400), (0o440, 0o400)]
)
def test_permissions_are_never_wider_than_those_of_the_source(table, cache, mode, expected):
    table.chmod(mode)
    sample(table, cache)
    assert stat.S_IMODE(path_in(cache).stat().st_mode) == expected
    assert stat.S_IMODE(cache_folder(cache).stat().st_mode) == 0o700


def test_the_cache_keeps_what_was_used_last(table, cache, monkeypatch):
    size = 4096 + M * 16
    monkeypatch.setenv(LIMIT, str(2 * size / 1e9))
    found = {}
    for at, seed in enumerate((0, 1, 0, 2)):
        before = set(names(cache)) if cache.exists() else set()
        sample(table, cache, seed=seed)
        found.setdefault(seed, set(names(cache)) - before)
        for file in cache_folder(cache).iterdir():  # uses are further apart than clocks tick
            if file.stat().st_mtime > 1e6:
                os.utime(file, (at, at))
    assert set(names(cache)) == found[0] | found[2]


def test_the_limit_holds_if_another_run_writes_at_once(table, cache, monkeypatch):
    monkeypatch.setenv(LIMIT, str((4096 + M * 16) / 1e9))
    original = row_cache._WantedRows.read_into

    def write_another(rows, out):
        original(rows, out)
        (cache_folder(cache) / "another.rows").write_bytes(bytes(3000))

    monkeypatch.setattr(row_cache._WantedRows, "read_into", write_another)
    assert is_right(sample(table, cache))
    assert sum(file.n_bytes for file in cached_files(cache_folder(cache))) <= 4096 + M * 16


def test_rows_larger_than_the_limit_are_used_but_not_kept(table, cache, monkeypatch):
    sample(table, cache)
    monkeypatch.setenv(LIMIT, "0.000005")
    messages = []
    assert isinstance(sample(table, cache, seed=1, tell=messages.append), np.memmap)
    assert messages[-1] == (
        f"The rows of {table} are not kept for the next call: they have 8.9e-06 GB, and "
        f"{LIMIT} is 5e-06."
    )
    assert names(cache) == [], "the older sample exceeds the limit too"


def test_a_cache_that_is_cleared_meanwhile_disturbs_nobody(table, cache, monkeypatch):
    original = row_cache._WantedRows.read_into

    def clear_and_fill(writer, out):
        original(writer, out)
        for file in cache_folder(cache).iterdir():
            file.unlink()

    monkeypatch.setattr(row_cache._WantedRows, "read_into", clear_and_fill)
    assert is_right(sample(table, cache))
