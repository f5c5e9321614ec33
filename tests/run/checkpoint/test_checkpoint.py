"""Searches that are killed and resumed: their outcome is that of an uninterrupted run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import METHODS, LazyBandit, MMDCritic, ProtoDash, Refined
from protobandit.run import observer
from protobandit.run.checkpoint.archive import CheckpointFile
from protobandit.search.drivers import ragged_swaps
from watched import (
    N_SOURCE,
    N_TARGET,
    SPECIAL,
    TARGET,
    Counting,
    K,
    Killed,
    call,
    outcome,
    resumed,
)

STARTED_AGAIN = "The checkpoint held nothing to resume from: the search started again."
SHARES = (0.02, 0.3, 0.6, 0.9, 0.999)


# -- built-in metrics ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["apart", "one", "weighted"])
@pytest.mark.parametrize("name", METHODS)
def test_a_search_killed_again_and_again_has_the_same_outcome(name, case, kill, tmp_path):
    arguments, path = call(name, case), tmp_path / "search"
    whole = pb.select(**arguments)
    assert kill(2, arguments, path) is None
    found = next(filter(None, (kill(2, arguments, path) for _ in range(100))))
    assert outcome(found) == outcome(whole)
    assert found.status.replace(STARTED_AGAIN, "").split() == whole.status.split()
    again = resumed(arguments, path)
    assert outcome(again) == outcome(whole)


@pytest.mark.parametrize("name", [*METHODS, "lazygreedy, three at a time", "refined, local"])
def test_rows_with_many_columns(name, kill, tmp_path):
    """Their distances are matrix products, whose last bits depend on the rows multiplied."""
    arguments, random = call(name), np.random.default_rng(7)
    for side, n_rows in (("source", 70), ("target", 2100)):
        arguments[side] = random.normal(size=(n_rows, 30)).astype(np.float32)
    whole = pb.select(**arguments)
    for n in (3, 5):
        path = tmp_path / f"search {n}"
        kill(n, arguments, path)
        assert outcome(resumed(arguments, path)) == outcome(whole), n


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_search_killed_has_the_same_outcome(name, kill, tmp_path):
    arguments = call(name)
    whole = pb.select(**arguments)
    for n in (1, 2, 3, 6, 10, 16):
        path = tmp_path / f"search {n}"
        kill(n, arguments, path)
        assert outcome(resumed(arguments, path)) == outcome(whole), n


@pytest.mark.parametrize("name", [*METHODS, "classes", "refined, local", "lazybandit, uneven"])
def test_a_state_may_be_written_long_after_it_was_saved(name, kill, tmp_path, monkeypatch):
    """What the search changes in between must not be in the file."""
    arguments = call(name)
    whole = pb.select(**arguments)
    random = np.random.default_rng(1)
    monkeypatch.setattr(
        CheckpointFile, "is_due", lambda file: file._is_changed and random.random() < 0.2
    )
    for n in (3, 4, 6):
        path = tmp_path / f"search {n}"
        kill(n, arguments, path)
        assert outcome(resumed(arguments, path)) == outcome(whole), n


@pytest.mark.parametrize("build", ["lazygreedy", "spotgreedy", "stochasticgreedy"])
@pytest.mark.parametrize("swaps", ["eager", "best", "local"])
@pytest.mark.parametrize("limit", [150_000, 300_000])
def test_a_build_within_a_limit_of_evaluations(build, swaps, limit, kill, tmp_path):
    """What an earlier run has kept counts as kept when the rest of the limit is shared."""
    arguments = {**call("refined"), "method": Refined(build=build, swaps=swaps)}
    arguments["limits"] = pb.Limits(evaluations=limit)
    whole = pb.select(**arguments)
    for n in (3, 4, 5, 6, 7):
        path = tmp_path / f"search {n}"
        kill(n, arguments, path)
        assert outcome(resumed(arguments, path)) == outcome(whole), n


def test_a_search_that_starts_again_says_so(kill, tmp_path):
    arguments, path = call("clarans"), tmp_path / "search"
    kill(2, arguments, path)
    assert resumed(arguments, path).status.endswith(STARTED_AGAIN)
    assert STARTED_AGAIN not in resumed(arguments, path).status


def test_classes_that_had_not_begun_do_not_say_that_they_start_again(kill, tmp_path):
    arguments, path = call("classes"), tmp_path / "search"
    kill(3, arguments, path)
    assert STARTED_AGAIN not in resumed(arguments, path).status


# -- functions of the user -------------------------------------------------------------------------

OWN = [
    *METHODS,
    "lazygreedy, nothing kept",
    "lazybandit, uneven",
    "lazybandit, limited",
    "refined, local",
    "budget",
    "until",
    "k='auto'",
    "until, on a sample",
    "k='auto', on a sample",
    "groups",
]


@pytest.mark.parametrize("name", OWN)
def test_a_users_metric_is_not_called_again_for_logged_values(name, tmp_path):
    counting = Counting()
    arguments = {**call(name), "metric": counting.metric}
    whole = pb.select(**arguments)
    for share in SHARES:
        path, dying, rest = tmp_path / f"search {share}", Counting(share * counting.n), Counting()
        with pytest.raises(Killed):
            resumed({**arguments, "metric": dying.metric}, path)
        found = resumed({**arguments, "metric": rest.metric}, path)
        assert outcome(found) == outcome(whole), share
        assert dying.n + rest.n == counting.n, share
        assert found.status.replace(STARTED_AGAIN, "").split() == whole.status.split()


@pytest.mark.parametrize("name", ["lazygreedy", "banditpam", "kcenter", "lazybandit", "budget"])
def test_a_users_metric_that_kills_again_and_again(name, tmp_path):
    counting = Counting()
    arguments, path = {**call(name), "metric": counting.metric}, tmp_path / "search"
    whole = pb.select(**arguments)
    n, found, n_runs = 0, None, 0
    while found is None:
        dying, n_runs = Counting(most=0.3 * counting.n), n_runs + 1
        with suppress(Killed):
            found = resumed({**arguments, "metric": dying.metric}, path)
        n += dying.n
        assert n_runs < 10
    assert outcome(found) == outcome(whole)
    assert n == counting.n
    assert n_runs > 3


@pytest.mark.parametrize("make", [MMDCritic, ProtoDash])
def test_a_users_kernel_is_not_called_again_for_logged_values(make, tmp_path):
    counting, arguments = Counting(), call("mmd-critic")
    whole = pb.select(**{**arguments, "method": make(kernel=counting.kernel)})
    for share in SHARES:
        path, dying, rest = tmp_path / f"search {share}", Counting(share * counting.n), Counting()
        with pytest.raises(Killed):
            resumed({**arguments, "method": make(kernel=dying.kernel)}, path)
        found = resumed({**arguments, "method": make(kernel=rest.kernel)}, path)
        assert outcome(found) == outcome(whole), share
        assert dying.n + rest.n == counting.n, share


def test_classes_with_a_users_metric(tmp_path):
    """The result of all classes is judged at the end, which is not logged."""
    counting = Counting()
    arguments = {**call("classes"), "metric": counting.metric}
    whole = pb.select(**arguments)
    n_judged = 300 * 7
    for share in SHARES:
        path, dying, rest = tmp_path / f"search {share}", Counting(share * counting.n), Counting()
        with pytest.raises(Killed):
            resumed({**arguments, "metric": dying.metric}, path)
        found = resumed({**arguments, "metric": rest.metric}, path)
        assert outcome(found) == outcome(whole), share
        assert counting.n <= dying.n + rest.n <= counting.n + n_judged, share


@pytest.mark.parametrize("name", ["lazygreedy", "lazybandit", "fasterpam", "clarans"])
def test_texts(name, tmp_path):
    texts = ["ab" * (i % 17) + "c" * (i % 5) for i in range(100)]
    arguments = {
        "source": texts,
        "k": 3,
        "method": name,
        "metric": "levenshtein",
        "random_state": 0,
    }
    whole = pb.select(**arguments)
    for n in (1, 4, 9):
        looks, stop, path = [], pb.Interrupt(), tmp_path / f"search {n}"

        def look(progress, looks=looks, stop=stop, n=n):
            looks.append(progress)
            if len(looks) == n:
                stop.set()

        with suppress(pb.Interrupted):
            resumed({**arguments, "progress": look, "interrupt": stop}, path)
        assert outcome(resumed(arguments, path)) == outcome(whole)
    assert (tmp_path / "search 9.evaluations").stat().st_size > 1000


@pytest.mark.parametrize("name", METHODS)
def test_a_search_that_is_done_is_not_done_again(name, tmp_path):
    counting = Counting()
    arguments = {**call(name), "metric": counting.metric}
    whole, n = resumed(arguments, tmp_path / name), counting.n
    again = resumed(arguments, tmp_path / name)
    assert outcome(again) == outcome(whole)
    assert counting.n == n


@pytest.mark.parametrize("name", OWN)
def test_threads_speed_and_listeners_may_change_between_runs(name, tmp_path, monkeypatch):
    """Neither the calls of a user's metric nor the counts at each call depend on them."""
    counting = Counting()
    arguments = {**call(name), "metric": counting.metric}
    whole = pb.select(**arguments)
    dying = Counting(most=0.7 * counting.n)
    first = {"n_jobs": 2, "progress": lambda progress: None, "interrupt": pb.Interrupt()}
    with pytest.raises(Killed):
        resumed({**arguments, **first, "metric": dying.metric}, tmp_path / "search")
    rest = Counting()
    monkeypatch.setattr(observer, "LOOK_SECONDS", 1e9)  # many tasks between two looks
    found = resumed({**arguments, "metric": rest.metric}, tmp_path / "search")
    assert outcome(found) == outcome(whole)
    assert dying.n + rest.n == counting.n


# -- limits, callbacks and interruptions -----------------------------------------------------------


@pytest.fixture
def slow(monkeypatch):
    """Return a function that returns a metric whose calls take a second each."""
    now = {"seconds": 100.0}
    monkeypatch.setattr("protobandit.search.control.perf_counter", lambda: now["seconds"])

    def metric(counting):
        def counted(a, b):
            now["seconds"] += 1.0
            return counting(a, b)

        return pb.block_metric(counted)

    return metric


def test_a_time_limit_holds_for_both_runs_together(tmp_path):
    """A search that ran out of time continues if it gets more time."""
    arguments, path = call("lazygreedy"), tmp_path / "search"
    whole = pb.select(**arguments)
    short = resumed({**arguments, "limits": pb.Limits(seconds=1e-9)}, path)
    assert short.k == 1
    assert resumed({**arguments, "limits": pb.Limits(seconds=1e-9)}, path).k == 1
    longer = resumed(arguments, path)
    assert outcome(longer) == outcome(whole)
    assert longer.steps[1].seconds > short.steps[0].seconds


def test_a_time_limit_holds_for_both_runs_of_a_users_metric(tmp_path, slow):
    counting = Counting()
    arguments = {**call("lazygreedy, nothing kept"), "metric": slow(counting)}
    whole, path = pb.select(**arguments), tmp_path / "search"
    seconds = whole.steps[0].seconds + 0.5
    for n_more in (0.4, 0.0):  # the second run may not call the metric again
        counting.n = 0
        short = resumed({**arguments, "limits": pb.Limits(seconds=seconds)}, path)
        assert short.k == 1
        assert counting.n <= (1 + n_more) * N_SOURCE * N_TARGET
    longer = resumed(arguments, path)
    assert outcome(longer) == outcome(whole)
    assert longer.steps[1].seconds > short.steps[0].seconds


@pytest.mark.parametrize("name", ["lazygreedy", "lazybandit", "protobandit", "clara", "budget"])
def test_what_a_stopped_run_computes_afterwards_is_not_in_its_log(name, tmp_path, slow):
    """For instance the distances on which the result so far is judged."""
    counting = Counting()
    arguments, path = {**call(name), "metric": slow(counting)}, tmp_path / "search"
    whole = pb.select(**arguments)
    logs = []
    for share in (0.6, 0.3):
        # A shorter run stops during the replay, and leaves the rest of the log alone.
        limits = pb.Limits(seconds=share * whole.seconds)
        with suppress(pb.Interrupted):
            resumed({**arguments, "limits": limits}, path)
        logs.append(Path(f"{path}.evaluations").read_bytes())
    assert logs[0] == logs[1]
    rest = Counting()
    assert outcome(resumed({**arguments, "metric": slow(rest)}, path)) == outcome(whole)
    assert 0 < rest.n < counting.n
    assert Path(f"{path}.evaluations").read_bytes().startswith(logs[0])


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("name", ["lazygreedy", "fasterpam", "protobandit", "lazybandit"])
def test_a_callback_that_stops(name, is_own, tmp_path):
    arguments, path = call(name), tmp_path / "search"
    if is_own:
        arguments["metric"] = Counting().metric
    whole = pb.select(**arguments)
    short = resumed({**arguments, "callback": lambda step: True}, path)
    assert short.k == 1
    assert outcome(resumed(arguments, path)) == outcome(whole)


def test_the_time_of_a_killed_run_counts_too(tmp_path, monkeypatch):
    """Only the log knows it."""
    counting = Counting()
    arguments, path = {**call("lazygreedy"), "metric": counting.metric}, tmp_path / "search"
    whole = pb.select(**arguments)
    seconds = {"now": 100.0}
    monkeypatch.setattr("protobandit.search.control.perf_counter", lambda: seconds["now"])
    dying = Counting(most=0.5 * counting.n)

    def slow(a, b):
        seconds["now"] += 1.0
        return dying(a, b)

    slow.__name__ = "counted"
    with pytest.raises(Killed):
        resumed({**arguments, "metric": pb.block_metric(slow)}, path)
    spent = seconds["now"] - 100.0
    found = resumed(arguments, path)
    assert outcome(found) == outcome(whole)
    assert found.steps[-1].seconds >= spent - 1


@pytest.mark.parametrize("name", ["lazygreedy", "protobandit", "kcenter"])
def test_fixed_rows_have_the_seconds_of_the_first_run(name, tmp_path):
    """If the earlier run found more rows than these within the limit, they are found again."""
    arguments, path = {**call(name), "constraints": pb.Constraints(fixed=[3])}, tmp_path / "search"
    steps = []

    def third(step):
        steps.append(step)
        return len(steps) == 3

    short = resumed({**arguments, "callback": third}, path)
    again = resumed({**arguments, "limits": pb.Limits(seconds=steps[1].seconds)}, path)
    assert again.indices.tolist() == short.indices.tolist(), "and there is no further search"


def test_new_picks_of_a_resumed_run_have_their_own_seconds(kill, tmp_path):
    arguments, path = {**call("lazygreedy"), "k": 8}, tmp_path / "search"
    while (found := kill(3, arguments, path)) is None:
        pass
    again = resumed(arguments, path)
    assert len({step.seconds for step in again.steps}) == len(found.steps) == 8


@pytest.mark.parametrize("method", ["stochasticgreedy", "protobandit"])
def test_a_class_that_ran_out_of_time_does_not_change_the_later_classes(method, tmp_path):
    """Later classes of the first run have used other random numbers."""
    arguments, path = {**call("classes"), "method": method, "k": 12}, tmp_path / "search"
    whole = pb.select(**arguments)
    short = resumed({**arguments, "limits": pb.Limits(seconds=1e-9)}, path)
    assert short.k < 12
    assert outcome(resumed(arguments, path)) == outcome(whole)
    assert outcome(resumed(arguments, path)) == outcome(whole)


def test_the_callback_gets_all_steps_again(kill, tmp_path):
    called = []
    arguments = {**call("lazygreedy"), "callback": lambda step: called.append(step.index)}
    kill(6, arguments, tmp_path / "search")
    first, called[:] = list(called), []
    assert first
    found = resumed(arguments, tmp_path / "search")
    assert called == found.indices.tolist()


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("name", [*METHODS, "budget", "classes", "k='auto'"])
def test_a_search_interrupted_at_any_look_has_the_same_outcome(name, is_own, tmp_path):
    arguments = call(name)
    if is_own:
        arguments["metric"] = Counting().metric
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
def test_a_race_interrupted_between_two_swaps_has_the_same_outcome(n, tmp_path, monkeypatch):
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


# -- random generators -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_any_bit_generator_is_restored(kind, kill, tmp_path):
    def generator():
        return np.random.Generator(getattr(np.random, kind)(7))

    arguments = call("stochasticgreedy")
    whole = pb.select(**{**arguments, "random_state": generator()})
    kill(5, {**arguments, "random_state": generator()}, tmp_path / "search")
    found = resumed({**arguments, "random_state": generator()}, tmp_path / "search")
    assert outcome(found) == outcome(whole)


@pytest.mark.parametrize("is_own", [False, True])
def test_without_a_seed_the_generator_of_the_first_run_is_restored(is_own, tmp_path):
    arguments, stop = {**call("stochasticgreedy"), "random_state": None}, pb.Interrupt()
    if is_own:
        arguments["metric"] = Counting().metric
    first = resumed({**arguments, "interrupt": stop, "callback": stop.set}, tmp_path / "one")
    assert first.k < K
    for path in tmp_path.glob("one*"):
        path.with_name(path.name.replace("one", "two")).write_bytes(path.read_bytes())
    if is_own:
        assert (tmp_path / "two.evaluations").exists()
    one = resumed(arguments, tmp_path / "one")
    two = resumed(arguments, tmp_path / "two")
    assert outcome(one) == outcome(two)
    others = {tuple(pb.select(**arguments).indices) for _ in range(5)}
    assert len(others) > 1, "else this shows nothing"


# -- less memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize(
    ("method", "room"),
    [
        (LazyBandit(effort=0.3), 10_000),
        ("stochasticgreedy", 1000),
        (Refined(build="stochasticgreedy", swaps="local"), 1000),
        ("banditpam", 50_000),
        ("clarans", 450_000),
        ("clara", 10_000),
    ],
    ids=str,
)
def test_a_resumed_run_follows_the_schedule_of_the_first(
    method, room, is_own, tmp_path, monkeypatch
):
    """The budget of a later version may be smaller."""
    counting = Counting()
    arguments, path = {**call("random"), "method": method}, tmp_path / "search"
    if method == "clarans":  # it keeps the distances of at least 256 rows
        arguments.update(source=TARGET[:400], target=TARGET[:400])
    if is_own:
        arguments["metric"] = counting.metric
    whole = pb.select(**arguments)
    if is_own:
        with pytest.raises(Killed):
            resumed({**arguments, "metric": Counting(0.8 * counting.n).metric}, path)
    else:
        _stopped_before_the_end(arguments, path)
    room = 2 * room if is_own else room  # distances of a user's metric are float64
    monkeypatch.setattr("protobandit.problem.limits.MEMORY_BUDGET", room)
    assert outcome(pb.select(**arguments)) != outcome(whole), "else this shows nothing"
    assert outcome(resumed(arguments, path)) == outcome(whole)


def _stopped_before_the_end(arguments, path):
    """Run a search until it has saved something, and then interrupt it."""
    stop, looks = pb.Interrupt(), []

    def look(progress):
        looks.append(progress)
        if len(looks) == 12:
            stop.set()

    with suppress(pb.Interrupted):
        resumed({**arguments, "interrupt": stop, "progress": look}, path)


# -- real kills, and a full disk -------------------------------------------------------------------


def test_kill_9_and_a_full_disk(tmp_path):
    """One process forks searches that kill themselves, and resumes them from their files."""
    if not hasattr(os, "fork"):
        pytest.skip("no processes can be forked here")
    home, here = Path(pb.__file__).parents[1], Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(here / "killed.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": f"{home}{os.pathsep}{here}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["kills"]) == 2 * (len(METHODS) + 7), "at random moments of every method"
    for what, (signal, is_same) in found["kills"].items():
        assert signal == 9, what
        assert is_same, what
    for full in found["full disk"].values():
        assert full["is_same"]
        assert "The checkpoint could not be written: File too large." in full["status"]
        assert full["is_untouched"]
        assert full["resumed"]
    assert found["full disk"]["built-in metric"]["left"] == ["search"]
    assert found["full disk"]["own metric"]["left"] == ["search", "search.evaluations"]
