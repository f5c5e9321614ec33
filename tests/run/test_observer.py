"""Looks during long work, and interruptions."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation import threads as threads_module
from protobandit.foundation.observer import Halt, Work
from protobandit.methods import METHODS
from protobandit.run.observer import LOOK_SECONDS, RunObserver, StopRequest, _next_size
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
    observer = RunObserver([lambda: len(sizes) == 3 and stop.set()], StopRequest(stop).is_set)
    with pytest.raises(Halt):
        observer.carry_out(work(sizes))
    assert sizes == [1, 1, 1]


def test_a_request_to_stop_can_be_ignored():
    assert not StopRequest(None).is_set()
    stop = pb.Interrupt()
    request = StopRequest(stop)
    assert not request.is_set()
    stop.set()
    assert request.is_set()
    request.ignore()
    assert not request.is_set()


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
    n_last = [p.doing for p in listener.calls].index("judging the result") + 1
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
        if progress.doing.startswith("pass"):
            passing.append(progress.doing)
        if len(passing) == 4:
            stop.set()

    found = pb.select(
        **arguments, progress=listen, interrupt=stop, checkpoint=pb.Checkpoint(tmp_path / "search")
    )
    assert passing == ["pass 1"] * 4
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
