"""The log of the blocks that a user's metric has returned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faults
import protobandit as pb
from protobandit.oracle.counts import Counts
from protobandit.run.checkpoint import evaluation_log
from protobandit.run.checkpoint.evaluation_log import EvaluationLog
from protobandit.search.control import Clock
from watched import Counting, call, outcome, resumed

BLOCKS = [np.arange(6.0).reshape(2, 3), np.arange(4.0), np.full((1, 5), 0.1)]


def opened(path, token="token"):
    log = EvaluationLog(path, token, 0)
    log.open()
    log.attach(Counts(), Clock())
    return log


@pytest.fixture
def path(tmp_path):
    """Return the path of a log with three blocks."""
    log = opened(tmp_path / "log")
    for block in BLOCKS:
        log._counts.evaluations["build"] += block.size
        log.append(block)
    log.close()
    return tmp_path / "log"


def replayed(log):
    """Return how many of the blocks are read from a log; the rest is appended."""
    n = 0
    for block in BLOCKS:
        out = np.empty_like(block)
        log._counts.evaluations["build"] += block.size
        if log.read(out):
            np.testing.assert_array_equal(out, block)
            n += 1
        else:
            log.append(block)
    log.close()
    return n


# -- the file --------------------------------------------------------------------------------------


def test_blocks_are_read_in_order_and_bit_for_bit(path):
    before = path.read_bytes()
    assert replayed(opened(path)) == 3
    assert path.read_bytes() == before


def test_a_log_of_another_checkpoint_is_replaced(path):
    assert replayed(opened(path, "another")) == 0
    assert replayed(opened(path, "another")) == 3
    assert replayed(opened(path)) == 0


def test_a_truncated_log_loses_only_its_tail(path):
    whole = path.read_bytes()
    log = opened(path)
    sizes = [8 * block.size + evaluation_log._HEADER_BYTES for block in BLOCKS]
    log.close()
    ends = len(whole) - np.cumsum([0, *sizes[::-1]])[::-1]
    for n in range(int(ends[0]), len(whole)):
        path.write_bytes(whole[:n])
        assert replayed(opened(path)) == np.searchsorted(ends[1:], n, side="right")
        assert path.stat().st_size == len(whole), "the rest was appended"
        assert replayed(opened(path)) == 3


def test_a_damaged_log_loses_only_what_follows(path):
    whole = path.read_bytes()
    for at in range(len(evaluation_log._MAGIC), len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 4
        path.write_bytes(damaged)
        assert replayed(opened(path)) < 3, at
        assert replayed(opened(path)) == 3


@pytest.mark.parametrize("difference", ["evaluations", "size", "rows"])
def test_a_search_that_takes_another_course_is_detected(path, difference):
    log, out = opened(path), np.empty((2, 3))
    log._counts.evaluations["build"] += 6
    assert log.read(out)
    log._counts.evaluations["build"] += 5 if difference == "evaluations" else 4
    shape = {"evaluations": 4, "size": 5, "rows": (2, 2)}[difference]
    assert not log.read(np.empty(shape))
    log.append(np.zeros(shape))
    log.close()
    log = opened(path)
    log._counts.evaluations["build"] += 6
    assert log.read(out)
    assert not log.read(np.empty((1, 5))), "the third block was cut off"
    log.close()


def test_a_frozen_log_is_neither_read_nor_cut_nor_appended_to(path):
    before, log = path.read_bytes(), opened(path)
    log._counts.evaluations["build"] += 6
    assert log.read(np.empty((2, 3)))
    log.freeze()
    log._counts.evaluations["build"] += 4
    assert not log.read(np.empty(4)), "though it is the next block"
    assert not log.read(np.empty(7))
    log.append(np.zeros(7))
    log.close()
    assert path.read_bytes() == before


def test_a_log_has_a_largest_size(path, monkeypatch):
    n = path.stat().st_size
    monkeypatch.setattr(evaluation_log, "_MOST_BYTES", n + 100)
    log = opened(path, "another")
    for _ in range(20):
        log.append(np.zeros(10))
    log.close()
    assert n <= path.stat().st_size <= n + 100
    assert log.trouble == ""


def test_a_write_that_fails_ends_the_log_and_leaves_complete_records(path, monkeypatch):
    log = opened(path, "another")
    log._counts.evaluations["build"] += 6
    log.append(BLOCKS[0])

    def failing(file, data):
        file.write(data[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(evaluation_log, "_write", failing)
        log.append(BLOCKS[1])
    log.append(BLOCKS[1])
    log.close()
    assert log.trouble == "No space left on device"
    assert replayed(opened(path, "another")) == 1


def sizes(log):
    return np.cumsum([len(log._head), *(8 * b.size + evaluation_log._HEADER_BYTES for b in BLOCKS)])


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_failed_sync_ends_the_log_where_it_was_synchronised_last(tmp_path, at):
    with faults.injected(tmp_path, faults.FAILED_SYNC, 2 + at):  # after the new file and its name
        log = opened(tmp_path / "log")
        for block in BLOCKS:
            log.append(block)
        log.close()
    assert log.trouble == "Input/output error"
    assert (tmp_path / "log").stat().st_size == sizes(log)[at - 1]


def test_a_log_is_synchronised_when_it_is_closed(tmp_path):
    log = EvaluationLog(tmp_path / "log", "token", 1e6)
    with faults.injected(tmp_path, faults.FAILED_SYNC) as layer:
        log.open()
        n_before = len(layer.calls)
        log.append(BLOCKS[0])
        log.append(BLOCKS[1])
        assert len(layer.calls) == n_before
        log.close()
        assert layer.calls[n_before:] == [("fsync", "log")]
    assert (tmp_path / "log").stat().st_size == sizes(log)[2]


@pytest.mark.parametrize("kind", [faults.FULL_DISK, faults.SHORT_WRITE], ids=str)
def test_writes_that_fail_or_are_short(tmp_path, kind):
    log = EvaluationLog(tmp_path / "log", "token", 1e6)
    with faults.injected(tmp_path, kind, 5 if kind is faults.FULL_DISK else 3) as layer:
        log.open()
        for block in BLOCKS:
            log.append(block)
        log.close()
        assert layer.is_reached
    n_whole = 3 if kind is faults.SHORT_WRITE else 1
    assert (tmp_path / "log").stat().st_size == sizes(log)[n_whole]


def test_the_clock_shows_the_seconds_of_the_records_until_the_last_one(tmp_path, monkeypatch):
    now = {"seconds": 10.0}
    monkeypatch.setattr("protobandit.search.control.perf_counter", lambda: now["seconds"])
    log = opened(tmp_path / "log")
    for _ in range(2):
        now["seconds"] += 5
        log.append(BLOCKS[1])
    log.close()
    log = opened(tmp_path / "log")
    log.read(np.empty(4))
    now["seconds"] += 1
    assert log._clock.seconds == 5
    log.read(np.empty(4))
    assert log._clock.seconds == 10
    now["seconds"] += 1
    assert log._clock.seconds == 11, "nothing is left to be replayed"
    log.close()


# -- searches --------------------------------------------------------------------------------------


def test_a_foreign_file_in_the_place_of_the_log_is_left_alone(tmp_path):
    log, arguments = (
        tmp_path / "search.evaluations",
        {**call("lazygreedy"), "metric": Counting().metric},
    )
    log.write_text("my own evaluations")
    with pytest.raises(pb.InvalidInput, match=r"was not made by a checkpoint. Move it"):
        resumed(arguments, tmp_path / "search")
    assert log.read_text() == "my own evaluations"
    assert not (tmp_path / "search").exists()
    log.unlink()
    resumed(arguments, tmp_path / "search")
    log.write_text("my own evaluations")
    with pytest.raises(pb.InvalidInput, match=r"was not made by a checkpoint. Move it"):
        resumed(arguments, tmp_path / "search")
    assert log.read_text() == "my own evaluations"


def test_a_folder_in_the_place_of_the_log_is_refused(tmp_path):
    (tmp_path / "search.evaluations").mkdir()
    with pytest.raises(pb.InvalidInput, match="the file for evaluations, cannot be used: Is a dir"):
        resumed({**call("lazygreedy"), "metric": Counting().metric}, tmp_path / "search")


def test_with_a_built_in_metric_there_is_no_log(tmp_path):
    resumed(call("lazygreedy"), tmp_path / "search")
    assert not (tmp_path / "search.evaluations").exists()


@pytest.mark.parametrize("name", ["lazygreedy", "lazybandit", "banditpam"])
def test_a_search_with_a_damaged_log_computes_what_was_lost(name, tmp_path):
    counting = Counting()
    arguments, path = {**call(name), "metric": counting.metric}, tmp_path / "search"
    whole = resumed(arguments, path)
    log, n = Path(f"{path}.evaluations"), counting.n
    data = log.read_bytes()
    for share in (0.0, 0.2, 0.5, 0.9):
        damaged = bytearray(data)
        damaged[100 + int(share * (len(data) - 200))] ^= 1
        log.write_bytes(damaged)
        counting.n = 0
        assert outcome(resumed(arguments, path)) == outcome(whole)
        assert 0 < counting.n <= n
        assert log.stat().st_size == len(data)


def test_a_search_whose_log_was_deleted_starts_again(tmp_path):
    counting = Counting()
    arguments, path = {**call("lazygreedy"), "metric": counting.metric}, tmp_path / "search"
    whole, n = resumed(arguments, path), counting.n
    Path(f"{path}.evaluations").unlink()
    again = resumed(arguments, path)
    assert outcome(again) == outcome(whole)
    assert counting.n == 2 * n
    assert "nothing to resume from: the search started again" in again.status


def test_a_metric_that_fails_keeps_what_it_has_returned(tmp_path):
    counting = Counting()
    arguments, path = {**call("lazygreedy"), "metric": counting.metric}, tmp_path / "search"
    whole, n = pb.select(**arguments), counting.n
    failing = Counting()

    def counted(a, b):
        if failing.n > n / 2:
            raise ConnectionError("the service is down")
        return failing(a, b)

    with pytest.raises(ConnectionError):
        resumed({**arguments, "metric": pb.block_metric(counted)}, path)
    counting.n = 0
    assert outcome(resumed(arguments, path)) == outcome(whole)
    assert failing.n + counting.n == n


def test_a_full_log_is_replayed_as_far_as_it_goes(tmp_path, monkeypatch):
    counting = Counting()
    arguments, path = {**call("lazygreedy"), "metric": counting.metric}, tmp_path / "search"
    monkeypatch.setattr(evaluation_log, "_MOST_BYTES", 600_000)
    whole, n = resumed(arguments, path), counting.n
    assert 300_000 < Path(f"{path}.evaluations").stat().st_size <= 600_000
    counting.n = 0
    again = resumed(arguments, path)
    assert outcome(again) == outcome(whole)
    assert 0 < counting.n < 0.8 * n
