"""Looks during long work, and interruptions."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation import threads as threads_module
from protobandit.foundation.observer import Halt, Work
from protobandit.methods import METHODS, LazyBandit
from protobandit.run.observer import LOOK_SECONDS, RunObserver, _next_size
from protobandit.search.methods import lazybandit
from protobandit.search.objectives import medoids
from run.progress.listening import Recording, report_often
from watched import N_SOURCE, N_TARGET, SOURCE, TARGET, K, call, outcome

# Methods whose picks are final: an interruption leaves a prefix of the whole selection.
PICKING = {
    "spotgreedy",
    "lazygreedy",
    "stochasticgreedy",
    "thresholdgreedy",
    "protobandit",
    "kcenter",
    "mmd-critic",
    "protodash",
}


@pytest.fixture
def often(monkeypatch):
    report_often(monkeypatch)


# -- looks -----------------------------------------------------------------------------------------


def work(sizes, effort=1e9, n_workers=1):
    return Work(
        tasks=range(20),
        do=lambda some: sizes.append(len(some)),
        effort=effort,
        n_workers=n_workers,
    )


def test_all_threads_work_between_two_looks(often):
    sizes, looks = [], []
    observer = RunObserver([lambda: looks.append(len(sizes))], lambda: False)
    observer.carry_out(work(sizes, n_workers=4))
    assert sizes == [4] * 5
    assert looks == [1, 2, 3, 4, 5]


def test_small_work_is_done_at_once():
    sizes, looks = [], []
    RunObserver([lambda: looks.append(1)], lambda: True).carry_out(work(sizes, effort=1e3))
    assert sizes == [20]
    assert looks == []


def test_quick_tasks_are_joined(monkeypatch):
    monkeypatch.setattr("protobandit.run.observer.perf_counter", lambda: 0.0)
    sizes = []
    RunObserver([], lambda: False).carry_out(work(sizes))
    assert sizes == [1, 2, 4, 8, 5]


@pytest.mark.parametrize(("seconds", "size"), [(0.1, 16), (1.0, 8), (3.0, 4)])
def test_the_number_of_tasks_follows_their_time(seconds, size):
    assert _next_size(8, seconds * LOOK_SECONDS) == size


def test_an_interruption_ends_work_between_two_tasks(often):
    sizes, stop = [], pb.Interrupt()
    observer = RunObserver([lambda: len(sizes) == 3 and stop.set()], stop.is_set)
    with pytest.raises(Halt):
        observer.carry_out(work(sizes))
    assert sizes == [1, 1, 1]


def test_a_time_limit_ends_work_after_about_a_second_of_it(often, monkeypatch):
    """A small problem has a result whatever the limit."""
    monkeypatch.setattr("protobandit.run.observer.LEAST_EFFORT", 4e8)
    sizes = []
    observer = RunObserver([], lambda: False, lambda: True)
    observer.carry_out(work(sizes, effort=3e8))
    with pytest.raises(Halt):
        observer.carry_out(work(sizes, effort=2e8))
    assert sizes == [1] * 20 + [1] * 10


def test_many_small_works_are_interrupted_too(monkeypatch):
    now = {"seconds": 0.0}
    monkeypatch.setattr("protobandit.run.observer.perf_counter", lambda: now["seconds"])
    observer, sizes = RunObserver([], lambda: True), []
    observer.carry_out(work(sizes, effort=1e3))
    now["seconds"] += LOOK_SECONDS
    with pytest.raises(Halt):
        observer.carry_out(work(sizes, effort=1e3))


@pytest.mark.parametrize("call_seconds", [1e-5, 0.01, 0.3])
def test_calls_of_a_function_are_paced_by_their_time(monkeypatch, call_seconds):
    now, made = {"seconds": 0.0}, []
    monkeypatch.setattr("protobandit.run.observer.perf_counter", lambda: now["seconds"])
    observer = RunObserver([], lambda: now["seconds"] >= 2.0)

    def call_forever():
        for cut in observer.paced(10**9):
            made.append(cut.stop - cut.start)
            now["seconds"] += call_seconds * made[-1]

    with pytest.raises(Halt):
        call_forever()
    assert 2.0 <= now["seconds"] <= 2.0 + max(0.5, 1.5 * call_seconds)
    assert len(made) <= 2.5 / min(0.05, call_seconds) + 30


# -- a slow metric ---------------------------------------------------------------------------------


class Slow:
    """A metric whose calls take a second each, on a clock of its own."""

    def __init__(self, monkeypatch):
        self.seconds, self.n = 0.0, 0
        for name in ("search.control", "run.observer"):
            monkeypatch.setattr(f"protobandit.{name}.perf_counter", lambda: self.seconds)
        self.stop, self.n_at_stop, self.stop_at = pb.Interrupt(), None, None

    def __call__(self, a, b):
        self.seconds, self.n = self.seconds + 1.0, self.n + 1
        if self.n == self.stop_at:
            self.stop.set()
        return float(np.abs(a - b).sum())


ROWS = np.random.default_rng(3).normal(size=(40, 2))
# These do not call the metric while they search, only to judge the result.
UNMEASURED = {"random", "mmd-critic", "protodash"}


@pytest.mark.parametrize("how", ["interrupted", "out of time"])
@pytest.mark.parametrize("name", [*sorted(set(METHODS) - UNMEASURED), "race"])
def test_a_slow_metric_is_stopped_within_a_block_of_its_calls(name, how, monkeypatch):
    """At most one call follows, and those that judge the result: a quarter of the calls so far."""
    method = LazyBandit(effort=0.1) if name == "race" else name
    if name == "race":
        monkeypatch.setattr(lazybandit, "_AT_ONCE_IF_EXPENSIVE", 0)
    arguments = {"source": ROWS, "k": 3, "method": method, "random_state": 0}
    whole = Slow(monkeypatch)
    pb.select(**arguments, metric=whole)
    for share in (0.01, 0.2, 0.55, 0.9):
        slow, n_most = Slow(monkeypatch), max(1, int(share * whole.n))
        options = {"limits": pb.Limits(seconds=n_most)}
        if how == "interrupted":
            slow.stop_at, options = n_most, {"interrupt": slow.stop}
        try:
            found = pb.select(**arguments, metric=slow, **options)
        except pb.Interrupted:
            assert slow.n <= n_most + 1
        else:
            assert found.evaluations == slow.n
            assert slow.n <= 1.5 * n_most + 2 * found.k + 1, share
            assert slow.n < whole.n or share == 0.9
            assert found.end.reason is not None or share == 0.9
            assert np.isfinite(found.cost)


def test_a_block_metric_is_stopped_after_its_current_call(monkeypatch):
    slow, calls = Slow(monkeypatch), []

    def blocks(a, b):
        calls.append((len(a), len(b)))
        slow(a[:1], b[:1])
        return np.abs(a[:, None] - b[None]).sum(axis=2)

    rows = np.random.default_rng(0).normal(size=(3000, 2))
    with pytest.raises(pb.Interrupted, match="Allow more: at this speed all of it takes about"):
        pb.select(
            rows,
            k=3,
            method="fasterpam",
            metric=pb.block_metric(blocks),
            limits=pb.Limits(seconds=4),
        )
    assert len(calls) == 4


def test_an_observer_changes_nothing():
    arguments = {"source": SOURCE, "target": TARGET, "k": 2, "method": "spotgreedy"}
    whole = pb.select(**arguments, random_state=0)
    observed = pb.select(**arguments, random_state=0, progress=lambda progress: None)
    assert outcome(observed) == outcome(whole)
    assert whole.evaluations == N_SOURCE * N_TARGET


# -- interruptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["apart", "one"])
@pytest.mark.parametrize("name", METHODS)
def test_an_interruption_ends_a_search_with_the_best_so_far(name, case, often):
    arguments, listener = call(name, case), Recording()
    whole = pb.select(**arguments, progress=listener)
    n_last = [p.doing for p in listener.calls].index("measuring the cost") + 1
    for n in sorted({1, 2, 3, n_last // 2, n_last - 1, n_last} - {0}):
        stop = pb.Interrupt()
        stopping = Recording(n, stop.set)
        try:
            found = pb.select(**arguments, progress=stopping, interrupt=stop)
        except pb.Interrupted:
            found = None
        if found is None:
            assert stopping.calls[-1].n_picked == 0
            continue
        assert 1 <= found.k <= K
        assert len(set(found.indices.tolist())) == found.k
        assert np.isfinite(found.cost)
        if name in PICKING:
            assert found.indices.tolist() == whole.indices.tolist()[: found.k]
        if outcome(found) != outcome(whole):
            assert "interruption" in found.status
        if found.k < K and name in PICKING:
            words = f"Stopped by an interruption after {found.k} of the {K} prototypes requested."
            assert words in found.status


@pytest.mark.parametrize("name", ["lazygreedy", "lazybandit", "fasterpam", "protodash"])
def test_an_interruption_before_the_first_prototype_is_an_error(name, often):
    stop = pb.Interrupt()
    stop.set()
    with pytest.raises(pb.Interrupted, match=r"before anything had been found. Let it run"):
        pb.select(**call(name), interrupt=stop)
    assert issubclass(pb.Interrupted, pb.ProtobanditError)
    assert threads_module._state.guards == 0


@pytest.mark.parametrize("name", ["pam", "fastpam1", "fasterpam", "alternate"])
def test_an_interruption_ends_a_pass(name, often, monkeypatch, tmp_path):
    monkeypatch.setattr(medoids, "_TASK_ENTRIES", N_TARGET)
    arguments, stop, passing = call(name), pb.Interrupt(), []

    def listen(progress):
        if "pass" in progress.doing:
            passing.append(progress.doing)
        if len(passing) == 4:
            stop.set()

    found = pb.select(
        **arguments, progress=listen, interrupt=stop, checkpoint=pb.Checkpoint(tmp_path / "search")
    )
    assert passing == ["improving by swaps, pass 1"] * 4
    assert "in 0 passes, ended by an interruption" in found.status
    assert found.k == K
    again = pb.select(**arguments, checkpoint=tmp_path / "search")
    assert outcome(again) == outcome(pb.select(**arguments))


def test_another_thread_may_interrupt(often):
    stop = pb.Interrupt()

    def metric(a, b):
        if len(b) and not stop.is_set():
            other = threading.Thread(target=stop.set)
            other.start()
            other.join()
        return np.abs(np.asarray(a)[:, None] - np.asarray(b)[None]).sum(axis=2)

    with pytest.raises(pb.Interrupted):
        pb.select(SOURCE, TARGET, k=3, metric=pb.block_metric(metric), interrupt=stop)
    assert stop.is_set()


def test_set_accepts_the_arguments_of_a_signal_handler():
    stop = pb.Interrupt()
    stop.set(2, None)
    assert stop.is_set()
