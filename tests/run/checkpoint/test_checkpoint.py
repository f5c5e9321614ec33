"""Searches that are killed and taken up again: the outcome of those that were not, to the bit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import METHODS, LazyBandit, LazyGreedy
from protobandit.run.checkpoint import block_file, lock
from protobandit.run.checkpoint import store as store_module
from protobandit.run.progress import watch
from protobandit.search.drivers import full_swaps, ragged_swaps
from protobandit.search.methods import lazybandit
from watched import N_SOURCE, N_TARGET, SOURCE, SPECIAL, TARGET, WEIGHTS, K, call, outcome

ANEW = "The checkpoint held nothing to go on from: the search started anew."


class Killed(BaseException):
    """Ends a run as a kill would: nothing is written after it."""


@pytest.fixture(autouse=True)
def _eager(monkeypatch):
    """Look at every opportunity, race for whatever there is, and do not wait for the disk."""
    monkeypatch.setattr(watch, "_AT_ONCE", 0)
    monkeypatch.setattr(watch, "_LOOK", 0.0)
    monkeypatch.setattr(full_swaps, "_CHUNK_ENTRIES", 20 * N_TARGET)
    monkeypatch.setattr(lazybandit, "_AT_ONCE", 0)
    monkeypatch.setattr(lazybandit, "_AT_ONCE_IF_DEAR", 0)
    monkeypatch.setattr(os, "fsync", lambda number: None)


@pytest.fixture
def kill(monkeypatch):
    """Return a function that has a run killed after its n-th save."""
    write, state = store_module.CheckpointFile._write, {"left": -1}

    def killing(store, is_complete):
        write(store, is_complete)
        state["left"] -= 1
        if state["left"] == 0:
            raise Killed

    monkeypatch.setattr(store_module.CheckpointFile, "_write", killing)

    def after(n, arguments, path):
        state["left"] = n
        try:
            return pb.select(**arguments, checkpoint=pb.Checkpoint(path, seconds=0))
        except Killed:
            return None
        finally:
            state["left"] = -1

    return after


def resumed(arguments, path):
    return pb.select(**arguments, checkpoint=pb.Checkpoint(path, seconds=0))


class Counting:
    """A metric that counts its pairs, and fails when there have been too many."""

    def __init__(self, most=None):
        self.n, self.most = 0, most

    def __call__(self, a, b):
        self.n += len(a) * len(b)
        if self.most is not None and self.n > self.most:
            raise Killed
        return np.abs(np.asarray(a)[:, None] - np.asarray(b)[None]).sum(axis=2)

    @property
    def metric(self):
        counting = self

        def manhattan(a, b):
            return counting(a, b)

        return pb.block_metric(manhattan)


# -- the same outcome ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["apart", "one", "weighted"])
@pytest.mark.parametrize("name", METHODS)
def test_killed_again_and_again_every_method_ends_where_it_would_have(name, case, kill, tmp_path):
    arguments, path = call(name, case), tmp_path / "search"
    whole = pb.select(**arguments)
    assert kill(2, arguments, path) is None
    found = next(filter(None, (kill(2, arguments, path) for _ in range(100))))
    assert outcome(found) == outcome(whole)
    assert found.status.replace(ANEW, "").strip() == whole.status
    assert found.evaluations >= whole.evaluations
    again = resumed(arguments, path)
    assert outcome(again) == outcome(whole)


@pytest.mark.parametrize("name", SPECIAL)
def test_so_do_special_searches(name, kill, tmp_path):
    arguments = call(name)
    whole = pb.select(**arguments)
    for n in (1, 2, 5, 9, 15):
        path = tmp_path / f"search {n}"
        kill(n, arguments, path)
        assert outcome(resumed(arguments, path)) == outcome(whole), n


@pytest.mark.parametrize("name", ["lazygreedy", "protobandit", "lazybandit", "fasterpam", "clara"])
def test_nothing_is_lost_of_what_was_saved(name, kill, tmp_path):
    """Killed right after a save, evaluations are the calls of both runs."""
    arguments = {**call(name), "target": TARGET[:300], "metric": None}
    for n in (1, 2, 3, 5, 8):
        counting = Counting()
        arguments["metric"] = counting.metric
        kill(n, arguments, tmp_path / f"search {n}")
        found = resumed(arguments, tmp_path / f"search {n}")
        assert found.evaluations == counting.n, n


@pytest.mark.parametrize(
    "name",
    [
        "lazygreedy",
        "lazygreedy, nothing kept",
        "spotgreedy",
        "protobandit",
        "lazybandit",
        "fasterpam",
        "refined",
        "onebatch",
        "kcenter",
    ],
)
def test_a_metric_that_dies_anywhere(name, tmp_path):
    arguments = {**call(name), "metric": Counting().metric}
    whole = pb.select(**arguments)
    for share in (0.1, 0.5, 0.9, 0.99):
        dying = Counting(most=share * whole.evaluations)
        path = tmp_path / f"search {share}"
        with pytest.raises(Killed):
            resumed({**arguments, "metric": dying.metric}, path)
        found = resumed({**arguments, "metric": Counting().metric}, path)
        assert outcome(found) == outcome(whole), share


@pytest.mark.parametrize("memoize", [True, False])
def test_a_kill_within_the_first_scan_loses_only_the_last_tasks(memoize, tmp_path):
    method = LazyGreedy(memoize=memoize)
    source = np.tile(SOURCE, (8, 1)) + np.linspace(0, 1, 8 * N_SOURCE)[:, None]
    arguments = {"source": source, "target": TARGET, "k": 1, "method": method, "random_state": 0}
    counting = Counting()
    whole = pb.select(**arguments, metric=counting.metric)
    scan = len(source) * N_TARGET
    dying = Counting(most=0.95 * scan)
    with pytest.raises(Killed):
        resumed({**arguments, "metric": dying.metric}, tmp_path / "search")
    rest = Counting()
    found = resumed({**arguments, "metric": rest.metric}, tmp_path / "search")
    assert outcome(found) == outcome(whole)
    assert rest.n < 0.3 * scan


def test_a_search_that_is_done_is_not_done_again(tmp_path):
    for name in METHODS.keys() - {"onebatch"}:
        counting = Counting()
        arguments = {**call(name), "metric": counting.metric}
        whole, n = resumed(arguments, tmp_path / name), counting.n
        again = resumed(arguments, tmp_path / name)
        assert outcome(again) == outcome(whole)
        # Prototypes are compared with the target once more, and a scale is sampled once more.
        scale = N_SOURCE * 256 if name == "protobandit" else 0
        assert counting.n - n <= K * N_TARGET + scale, name
        assert again.evaluations >= whole.evaluations


@pytest.mark.parametrize("name", ["lazygreedy", "pam"])
def test_tables_that_are_gone_or_too_large_are_computed_again(name, kill, tmp_path, monkeypatch):
    arguments = call(name)
    whole = pb.select(**arguments)
    path = tmp_path / "gone"
    kill(5, arguments, path)
    tables = Path(f"{path}.tables")
    assert tables.stat().st_size > N_SOURCE * N_TARGET * 4
    with tables.open("r+b") as file:
        file.truncate(50)
    assert outcome(resumed(arguments, path)) == outcome(whole)
    monkeypatch.setattr(block_file, "_MOST_BYTES", 1000)
    path = tmp_path / "large"
    kill(5, arguments, path)
    assert not Path(f"{path}.tables").exists()
    found = resumed(arguments, path)
    assert outcome(found) == outcome(whole)
    assert found.evaluations > whole.evaluations


def test_a_limit_of_time_is_one_for_both_runs(tmp_path):
    """A search that ran out of time goes on when it is given more."""
    arguments, path = call("lazygreedy"), tmp_path / "search"
    whole = pb.select(**arguments)
    short = resumed({**arguments, "limits": pb.Limits(seconds=1e-9)}, path)
    assert short.k == 1
    assert resumed({**arguments, "limits": pb.Limits(seconds=1e-9)}, path).k == 1
    longer = resumed(arguments, path)
    assert outcome(longer) == outcome(whole)
    assert longer.steps[1].seconds > short.steps[0].seconds


@pytest.mark.parametrize("name", ["lazygreedy", "protobandit", "kcenter"])
def test_rows_that_are_fixed_took_the_time_they_took(name, tmp_path):
    """An earlier run that found more than them within the limit has its picks back."""
    arguments, path = {**call(name), "constraints": pb.Constraints(fixed=[3])}, tmp_path / "search"
    steps = []

    def third(step):
        steps.append(step)
        return len(steps) == 3

    short = resumed({**arguments, "callback": third}, path)
    again = resumed({**arguments, "limits": pb.Limits(seconds=steps[1].seconds)}, path)
    assert again.indices.tolist() == short.indices.tolist(), "and no more are looked for"


def test_picks_made_after_going_on_took_the_time_they_took(kill, tmp_path):
    arguments, path = {**call("lazygreedy"), "k": 8}, tmp_path / "search"
    while (found := kill(3, arguments, path)) is None:
        pass
    again = resumed(arguments, path)
    assert len({step.seconds for step in again.steps}) == len(found.steps) == 8


def test_the_callback_is_told_everything_again(kill, tmp_path):
    told = []
    arguments = {**call("lazygreedy"), "callback": lambda step: told.append(step.index)}
    kill(6, arguments, tmp_path / "search")
    first, told[:] = list(told), []
    assert first
    found = resumed(arguments, tmp_path / "search")
    assert told == found.indices.tolist()


# -- chance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_any_generator_goes_on(kind, kill, tmp_path):
    def dice():
        return np.random.Generator(getattr(np.random, kind)(7))

    arguments = call("stochasticgreedy")
    whole = pb.select(**{**arguments, "random_state": dice()})
    kill(5, {**arguments, "random_state": dice()}, tmp_path / "search")
    found = resumed({**arguments, "random_state": dice()}, tmp_path / "search")
    assert outcome(found) == outcome(whole)


def test_without_a_seed_the_chance_of_the_first_run_is_kept(kill, tmp_path):
    arguments = {**call("stochasticgreedy"), "random_state": None}
    kill(5, arguments, tmp_path / "one")
    for end in ("", ".tables"):
        shutil.copy(tmp_path / f"one{end}", tmp_path / f"two{end}")
    one = resumed(arguments, tmp_path / "one")
    two = resumed(arguments, tmp_path / "two")
    assert outcome(one) == outcome(two)
    others = {tuple(pb.select(**arguments).indices) for _ in range(5)}
    assert len(others) > 1, "else this shows nothing"


# -- files that do not belong ----------------------------------------------------------------------

OTHERS = {
    "k": {"k": 5},
    "source": {"source": SOURCE + np.float32(1)},
    "target": {"target": TARGET[::-1].copy()},
    "weights": {"weights": WEIGHTS},
    "metric": {"metric": "manhattan"},
    "method": {"method": LazyGreedy(r=2)},
    "random_state": {"random_state": 4},
    "constraints": {"constraints": pb.Constraints(fixed=[1])},
    "until": {"until": pb.MinGain(0.5)},
    "limits": {"limits": pb.Limits(evaluations=10**9)},
    "by": {"source": TARGET, "target": None, "by": np.arange(N_TARGET) % 2},
}
WORDS = {
    "k": "another k: 4, not 5",
    "source": "other source rows",
    "target": "other target rows",
    "weights": "other weights",
    "metric": "another metric: 'euclidean', not 'manhattan'",
    "method": "another method: 'lazygreedy' memoize='auto', r=1, not",
    "random_state": "another random_state",
    "constraints": "other constraints",
    "until": "another until: None, not MinGain",
    "limits": "another limits: evaluations=None, memory=None, not evaluations=1000000000",
    "by": "other classes",
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_call_is_refused_and_told_what_differs(name, tmp_path):
    path = tmp_path / "search"
    resumed(call("lazygreedy"), path)
    before = path.read_bytes()
    with pytest.raises(pb.InvalidInput, match="belongs to another call: ") as refused:
        resumed({**call("lazygreedy"), **OTHERS[name]}, path)
    assert WORDS[name] in str(refused.value)
    assert not re.search(r"[0-9a-f]{16}", str(refused.value).replace(str(path), "")), "no digests"
    assert path.read_bytes() == before


def test_what_may_differ(tmp_path):
    arguments, path = call("lazygreedy"), tmp_path / "search"
    whole = resumed(arguments, path)
    others = {"n_jobs": 2, "limits": pb.Limits(seconds=100), "progress": lambda progress: None}
    assert outcome(resumed({**arguments, **others}, path)) == outcome(whole)


def write(path, function, *values, **named):
    with path.open("wb") as file:
        function(file, *values, **named)


FOREIGN = {
    "words": lambda path: path.write_text("prototypes: 3"),
    "nothing": lambda path: path.write_bytes(b""),
    "array": lambda path: write(path, np.save, np.arange(4)),
    "archive": lambda path: write(path, np.savez, np.arange(4), header=np.arange(3)),
    "pickle": lambda path: path.write_bytes(b"\x80\x04K\x01."),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_refused_and_left_alone(name, tmp_path):
    path = tmp_path / "search"
    FOREIGN[name](path)
    before = path.read_bytes()
    with pytest.raises(pb.InvalidInput, match=r"not a whole one. Delete it, or pass another path"):
        resumed(call("random"), path)
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "search"
    resumed(call("lazygreedy"), path)
    whole = path.read_bytes()
    for n in np.linspace(0, len(whole) - 1, 12).astype(int):
        path.write_bytes(whole[:n])
        with pytest.raises(pb.InvalidInput, match="not a whole one"):
            resumed(call("lazygreedy"), path)
    middle = whole.index(b"evaluations")
    path.write_bytes(whole[:middle] + b"E" + whole[middle + 1 :])
    with pytest.raises(pb.InvalidInput, match="not a whole one"):
        resumed(call("lazygreedy"), path)


def test_a_file_of_a_later_version_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(store_module, "VERSION", 2)
        resumed(call("random"), tmp_path / "search")
    with pytest.raises(pb.InvalidInput, match="not a checkpoint of this version"):
        resumed(call("random"), tmp_path / "search")


def test_foreign_tables_are_not_written_over(tmp_path):
    tables = tmp_path / "search.tables"
    tables.write_text("my own tables")
    with pytest.raises(pb.InvalidInput, match=r"was not made by a checkpoint. Move it"):
        resumed(call("lazygreedy"), tmp_path / "search")
    assert tables.read_text() == "my own tables"
    assert not (tmp_path / "search").exists()


@pytest.mark.parametrize("path", ["no/such/folder/search", "."])
def test_a_path_that_cannot_be_a_file_is_refused_at_once(path, tmp_path):
    counting = Counting()
    with pytest.raises(
        pb.InvalidInput, match=r"checkpoint=.* cannot be (written|read): .* Pass|or"
    ):
        resumed({**call("lazygreedy"), "metric": counting.metric}, tmp_path / path)
    assert counting.n == 0


@pytest.mark.parametrize("value", [3, True, b"search", ["search"]], ids=repr)
def test_what_is_no_checkpoint(value):
    with pytest.raises(pb.InvalidInput, match=r"checkpoint=.* is not known. Pass the path"):
        pb.select(SOURCE, k=2, checkpoint=value)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "5", True, None], ids=repr)
def test_seconds_must_be_a_number(seconds):
    with pytest.raises(pb.InvalidInput, match=r"Checkpoint\(seconds\)=.* Pass a finite number"):
        pb.Checkpoint("search", seconds)
    for path in ("", 3):
        with pytest.raises(pb.InvalidInput, match=r"Checkpoint\(path\)=.* Pass that of a file"):
            pb.Checkpoint(path)


# -- one run at a time -----------------------------------------------------------------------------


@pytest.mark.skipif(lock.fcntl is None, reason="this system has no such locks")
def test_a_second_run_is_refused_while_the_first_goes_on(tmp_path):
    path, heard = tmp_path / "search", []

    def second(step):
        with pytest.raises(pb.InvalidInput) as refused:
            resumed(call("lazygreedy"), path)
        heard.append(str(refused.value))

    found = resumed({**call("lazygreedy"), "callback": second}, path)
    words = f"checkpoint={str(path)!r} is in use by another run. Wait for it to end, or pass"
    assert heard == [f"{words} another path."] * K
    assert outcome(resumed(call("lazygreedy"), path)) == outcome(found)
    assert sorted(os.listdir(tmp_path)) == ["search", "search.tables"]


def test_a_lock_that_was_left_behind_locks_nobody_out(tmp_path):
    (tmp_path / ".search.lock").touch()
    resumed(call("random"), tmp_path / "search")
    assert os.listdir(tmp_path) == ["search"]


def test_a_refused_file_is_not_locked(tmp_path):
    path = tmp_path / "search"
    path.write_text("mine")
    for _ in range(2):
        with pytest.raises(pb.InvalidInput, match="not a whole one"):
            resumed(call("random"), path)
    assert os.listdir(tmp_path) == ["search"]


@pytest.mark.skipif(lock.fcntl is None, reason="this system has no such locks")
def test_a_lock_is_taken_on_the_file_that_is_there(tmp_path, monkeypatch):
    """Whoever had the lock takes the file away: what was opened before is no lock any more."""
    path, flock = tmp_path / "lock", lock.fcntl.flock
    first = lock.Lock(path)

    def just_after_the_first(number, how):
        first.release()
        flock(number, how)

    monkeypatch.setattr(lock.fcntl, "flock", just_after_the_first)
    second = lock.Lock(path)
    assert path.exists()
    assert not second.is_held_elsewhere
    monkeypatch.undo()
    assert lock.Lock(path).is_held_elsewhere
    second.release()
    assert not path.exists()


# -- saving ----------------------------------------------------------------------------------------


def test_saves_are_seconds_apart_and_take_a_tenth_of_the_time(tmp_path, monkeypatch):
    clock = {"now": 100.0}
    monkeypatch.setattr(store_module, "perf_counter", lambda: clock["now"])
    store = store_module.CheckpointFile(pb.Checkpoint(tmp_path / "search"), {}, {})
    notes = store.notes_of("")
    write = store_module.CheckpointFile._write

    def slow(store, is_complete):
        clock["now"] += 2.0
        write(store, is_complete)

    monkeypatch.setattr(store_module.CheckpointFile, "_write", slow)
    clock["now"] = 200.0
    assert not store.is_due(), "nothing has been noted"
    notes.note("a", {}, {})
    assert store.is_due()
    store.save()
    assert not store.is_due()
    notes.note("a", {}, {})
    clock["now"] += 19.9
    assert not store.is_due(), "ten times the two seconds that the last save took"
    clock["now"] += 0.2
    assert store.is_due()


def test_nothing_but_the_checkpoint_and_its_tables_is_left(kill, tmp_path):
    kill(6, call("pam"), tmp_path / "search")
    resumed(call("pam"), tmp_path / "search")
    assert sorted(os.listdir(tmp_path)) == ["search", "search.tables"]


def test_a_save_replaces_the_file_and_never_changes_it(kill, tmp_path, monkeypatch):
    """Whoever has the old file open goes on reading it, and a save that dies leaves it alone."""
    path = tmp_path / "search"
    kill(4, call("lazygreedy"), path)
    before = path.read_bytes()

    def dying(file, **arrays):
        file.write(b"half of it")
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", dying)
        with pytest.raises(Killed):
            resumed(call("lazygreedy"), path)
    assert path.read_bytes() == before
    with path.open("rb") as file:
        resumed(call("lazygreedy"), path)
        assert file.read() == before
    assert path.read_bytes() != before


def test_the_archive_holds_no_pickles(tmp_path):
    resumed(call("protobandit"), tmp_path / "search")
    with np.load(tmp_path / "search", allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert all(archive[name].dtype != object for name in archive.files)
    assert header["is_complete"]
    assert header["identity"]["k"] == K
    assert header["format"] == "protobandit checkpoint"


def test_a_search_that_is_stopped_is_not_complete(tmp_path):
    stop = pb.Interrupt()
    arguments = {**call("lazygreedy"), "interrupt": stop, "callback": stop.set}
    found = resumed(arguments, tmp_path / "search")
    assert found.k == 1
    with np.load(tmp_path / "search") as archive:
        assert not json.loads(archive["header"].tobytes())["is_complete"]
    whole = pb.select(**call("lazygreedy"))
    assert outcome(resumed(call("lazygreedy"), tmp_path / "search")) == outcome(whole)


@pytest.mark.parametrize("name", METHODS)
def test_interrupted_at_any_look_it_goes_on_to_the_same_end(name, tmp_path):
    arguments = call(name)
    whole = pb.select(**arguments)
    for n in (1, 3, 6, 10):
        path, stop, looks = tmp_path / f"search {n}", pb.Interrupt(), []

        def look(progress, looks=looks, stop=stop, n=n):
            looks.append(progress)
            if len(looks) == n:
                stop.set()

        with suppress(pb.Interrupted):
            resumed({**arguments, "interrupt": stop, "progress": look}, path)
        assert outcome(resumed(arguments, path)) == outcome(whole), n


@pytest.mark.parametrize("n", [1, 3, 6])
def test_interrupted_between_two_swaps_the_race_goes_on_to_the_same_end(n, tmp_path, monkeypatch):
    arguments = {**call("lazybandit", "one"), "source": TARGET, "k": 12}
    arguments["method"] = LazyBandit(effort=0.2)
    whole = pb.select(**arguments)
    swap_some, calls, stop = ragged_swaps._swap_some, [], pb.Interrupt()

    def stopping(*values):
        calls.append(values)
        if len(calls) == n:
            stop.set()
        return swap_some(*values)

    with monkeypatch.context() as patched:
        patched.setattr(ragged_swaps, "_swap_some", stopping)
        found = resumed({**arguments, "interrupt": stop}, tmp_path / "search")
    assert len(calls) == n, "no swap after that"
    assert found.k == 12
    assert "target rows by an interruption." in found.status
    assert outcome(resumed(arguments, tmp_path / "search")) == outcome(whole)


# -- real kills, and a full disk -------------------------------------------------------------------


def test_kill_9_and_a_full_disk(tmp_path):
    """One process forks searches that kill themselves, and goes on from what they left."""
    if not hasattr(os, "fork"):
        pytest.skip("no processes can be forked here")
    home, here = Path(pb.__file__).parents[1], Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(here / "killed.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": f"{home}{os.pathsep}{here}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["kills"]) >= 10
    for what, (signal, is_same) in found["kills"].items():
        assert signal == 9, what
        assert is_same, what
    full = found["full disk"]
    assert full["is_same"]
    assert "The checkpoint could not be written: File too large." in full["status"]
    assert full["is_untouched"]
    assert full["left"] == ["search", "search.tables"]
    assert full["resumed"]


def test_a_race_within_limits_has_the_rungs_it_was_begun_with(kill, tmp_path, monkeypatch):
    """Less memory may be free when it is taken up again."""
    arguments = {**call("lazybandit"), "method": LazyBandit(effort=0.3)}
    whole = pb.select(**arguments)
    kill(3, arguments, tmp_path / "search")
    monkeypatch.setattr(pb.Limits, "room", lambda limits: 10_000)
    assert outcome(pb.select(**arguments)) != outcome(whole), "else this shows nothing"
    assert outcome(resumed(arguments, tmp_path / "search")) == outcome(whole)


def test_what_was_kept_is_kept_though_less_memory_is_free(kill, tmp_path, monkeypatch):
    arguments = call("stochasticgreedy")
    whole = pb.select(**arguments)
    kill(4, arguments, tmp_path / "search")
    monkeypatch.setattr(pb.Limits, "room", lambda limits: 1000)
    assert outcome(pb.select(**arguments)) != outcome(whole), "else this shows nothing"
    assert outcome(resumed(arguments, tmp_path / "search")) == outcome(whole)
