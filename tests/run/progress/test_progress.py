"""Who is told how far a search is, and who may end it."""

from __future__ import annotations

import threading
from itertools import count, pairwise

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation import threads as threads_module
from protobandit.foundation.observer import Work
from protobandit.methods import METHODS, LazyBandit, LazyGreedy
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.run.progress import combined
from protobandit.run.progress import watch as watch_module
from protobandit.search.methods import lazybandit
from protobandit.search.objectives import medoids
from watched import N_SOURCE, N_TARGET, SOURCE, SPECIAL, TARGET, K, call, outcome

TOLD_ONCE = {"random"}


@pytest.fixture(autouse=True)
def _curious(monkeypatch):
    """Look and tell at every opportunity, and race for whatever there is."""
    monkeypatch.setattr(watch_module, "_AT_ONCE", 0)
    monkeypatch.setattr(watch_module, "_LOOK", 0.0)
    monkeypatch.setattr(watch_module, "EVERY", 0.0)
    monkeypatch.setattr(combined, "EVERY", 0.0)
    monkeypatch.setattr(lazybandit, "_AT_ONCE", 0)


class Listener:
    """Remembers what it is told; at its n-th call it does something."""

    def __init__(self, n=None, then=None):
        self.told, self.n, self.then = [], n, then

    def __call__(self, progress):
        self.told.append(progress)
        if len(self.told) == self.n:
            self.then()


# -- what is told ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["apart", "one"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_how_far_it_is(name, case):
    arguments, listener = call(name, case), Listener()
    whole = pb.select(**arguments)
    found = pb.select(**arguments, progress=listener)
    assert outcome(found) == outcome(whole), "telling changes nothing"
    assert found.lookups == whole.lookups
    for before, after in pairwise(listener.told):
        assert before.share <= after.share
        assert before.evaluations <= after.evaluations
        assert before.seconds <= after.seconds
        assert before.n_picked <= after.n_picked
    for progress in listener.told:
        assert progress.k == K
        assert 0 <= progress.share <= 1
        assert progress.planned >= progress.evaluations
        assert progress.doing
    assert len(listener.told) > 3 or name in TOLD_ONCE
    last = listener.told[-1]
    assert (last.doing, last.share, last.n_picked) == ("done", 1.0, K)
    assert last.evaluations == found.evaluations
    assert last.cost == found.cost


@pytest.mark.parametrize("name", SPECIAL)
def test_so_do_special_searches(name):
    arguments, listener = call(name), Listener()
    found = pb.select(**arguments, progress=listener)
    shares = [progress.share for progress in listener.told]
    assert shares == sorted(shares)
    assert listener.told[-1].n_picked == found.k
    assert listener.told[-1].doing.endswith("done")
    assert max(progress.n_picked for progress in listener.told) <= listener.told[-1].k
    assert shares[-1] == (1.0 if "limit of" not in found.status else shares[-1])


@pytest.mark.parametrize("memoize", [True, False])
def test_it_is_told_within_the_first_scan(memoize):
    listener = Listener()
    target = np.tile(TARGET, (8, 1))
    pb.select(SOURCE, target, k=2, method=LazyGreedy(memoize=memoize), progress=listener)
    scan = N_SOURCE * len(target)
    within = [p for p in listener.told if 0 < p.evaluations < scan]
    assert len(within) >= 3
    assert {p.n_picked for p in within} == {0}
    assert all(np.isnan(p.cost) for p in within)


@pytest.mark.parametrize("method", ["spotgreedy", "lazygreedy"])
@pytest.mark.parametrize("metric", ["levenshtein", lambda a, b: abs(len(a) - len(b))])
def test_it_is_told_within_the_first_scan_of_slow_metrics(method, metric):
    """A tile of theirs may take minutes."""
    texts = ["ab" * (i % 17) + "c" * (i % 5) for i in range(100)]
    listener = Listener()
    arguments = {"source": texts, "k": 3, "method": method, "metric": metric, "random_state": 0}
    found = pb.select(**arguments, progress=listener)
    assert outcome(found) == outcome(pb.select(**arguments))
    within = {p.evaluations for p in listener.told if 0 < p.evaluations < len(texts) ** 2}
    assert len(within) >= 10
    assert len({p.share for p in listener.told}) > 10


def test_all_threads_work_between_two_looks():
    sizes, oracle = [], Oracle(pose(SOURCE, TARGET, k=2))
    watch = watch_module.Watch(
        oracle, pb.Limits(), random=np.random.default_rng(0), listener=Listener()
    )
    work = Work(tasks=range(20), do=lambda some: sizes.append(len(some)), effort=1e9, n_workers=4)
    watch.work_off(work)
    assert sizes == [4] * 5


def test_it_is_told_between_rungs_and_passes():
    listener = Listener()
    pb.select(**{**call("lazybandit"), "method": LazyBandit(effort=0.3)}, progress=listener)
    doings = {p.doing for p in listener.told}
    assert {"rung 1 of 3", "rung 2 of 3", "judging the result", "done"} <= doings
    costs = [p.cost for p in listener.told if p.doing.startswith("rung") and p.n_picked]
    assert np.isfinite(costs).all()
    listener = Listener()
    pb.select(**call("fasterpam"), progress=listener)
    assert {"computing all dissimilarities", "pass 1", "pass 2"} <= {p.doing for p in listener.told}
    costs = [p.cost for p in listener.told if p.doing.startswith("pass")]
    assert costs == sorted(costs, reverse=True)


def test_it_is_told_ten_times_a_second_at_most(monkeypatch):
    clock = count()
    monkeypatch.setattr(watch_module, "EVERY", 0.1)
    monkeypatch.setattr(watch_module, "perf_counter", lambda: next(clock) / 1000)
    listener = Listener()
    pb.select(**{**call("lazygreedy", "one"), "k": 100}, progress=listener)
    times = [p.seconds for p in listener.told[:-1]]  # the last is told in any case
    assert len(times) > 3
    assert min(after - before for before, after in pairwise(times)) >= 0.09


def test_it_is_told_on_the_calling_thread():
    threads = set()
    target = np.tile(TARGET, (4, 1))
    pb.select(SOURCE, target, k=3, n_jobs=2, progress=lambda p: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("name", METHODS)
def test_an_error_of_the_listener_is_the_callers(name):
    def fail():
        raise RuntimeError("enough")

    arguments = call(name)
    listener = Listener()
    pb.select(**arguments, progress=listener)
    for n in {1, 2, len(listener.told) // 2, len(listener.told)}:
        with pytest.raises(RuntimeError, match="enough"):
            pb.select(**arguments, progress=Listener(max(n, 1), fail))
        assert threads_module._state.guards == 0, "BLAS has its threads back"


def test_classes_are_told_as_one_search():
    listener = Listener()
    labels = np.repeat(["a", "b", "c"], 100)
    found = pb.select(TARGET[:300], by=labels, k=9, method="lazygreedy", progress=listener)
    told = listener.told
    assert {p.k for p in told} == {9}
    for before, after in pairwise(told):
        assert before.share <= after.share
        assert before.n_picked <= after.n_picked
        assert before.evaluations <= after.evaluations
        assert before.seconds <= after.seconds
    assert told[-1].share == 1.0
    assert told[-1].n_picked == found.k == 9
    assert told[-1].doing == "'c': done"
    assert {p.doing.split(":")[0] for p in told} == {"'a'", "'b'", "'c'"}


# -- interruptions ---------------------------------------------------------------------------------

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


@pytest.mark.parametrize("case", ["apart", "one"])
@pytest.mark.parametrize("name", METHODS)
def test_an_interruption_ends_a_search_with_the_best_so_far(name, case):
    arguments, listener = call(name, case), Listener()
    whole = pb.select(**arguments, progress=listener)
    is_over = [p.doing for p in listener.told].index("judging the result") + 1
    for n in sorted({1, 2, 3, is_over // 2, is_over - 1, is_over} - {0}):
        stop = pb.Interrupt()
        heard = Listener(n, stop.set)
        try:
            found = pb.select(**arguments, progress=heard, interrupt=stop)
        except pb.Interrupted:
            assert heard.told[-1].n_picked == 0
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
def test_before_anything_is_found_an_interruption_is_an_error(name):
    stop = pb.Interrupt()
    stop.set()
    with pytest.raises(pb.Interrupted, match=r"before anything had been found. Let it run"):
        pb.select(**call(name), interrupt=stop)
    assert issubclass(pb.Interrupted, pb.ProtobanditError)
    assert threads_module._state.guards == 0


@pytest.mark.parametrize("name", ["pam", "fastpam1", "fasterpam", "alternate"])
def test_an_interruption_is_heeded_within_a_pass(name, monkeypatch, tmp_path):
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


def test_another_thread_may_interrupt():
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


def test_set_takes_what_a_signal_handler_is_given():
    stop = pb.Interrupt()
    stop.set(2, None)
    assert stop.is_set()


def test_classes_are_interrupted_as_one_search():
    labels = np.repeat(["a", "b", "c"], 100)
    arguments = {"source": TARGET[:300], "by": labels, "k": 9, "method": "lazygreedy"}
    stop, steps = pb.Interrupt(), []

    def callback(step):
        steps.append(step)
        if len(steps) == 5:
            stop.set()

    found = pb.select(**arguments, callback=callback, interrupt=stop)
    assert 5 <= found.k < 9
    assert set(found.prototype_labels.tolist()) == {"a", "b"}
    assert f"Stopped by an interruption after {found.k} of the 9" in found.status
    with pytest.raises(pb.Interrupted):
        pb.select(**arguments, interrupt=stop)


# -- what is refused -------------------------------------------------------------------------------


def test_what_is_no_listener_and_no_interrupt():
    with pytest.raises(pb.InvalidInput, match=r"progress=3 is not callable. Pass a function"):
        pb.select(SOURCE, k=2, progress=3)
    with pytest.raises(pb.InvalidInput, match=r"interrupt=True is not known. Pass an Interrupt"):
        pb.select(SOURCE, k=2, interrupt=True)


def test_progress_is_a_value():
    listener = Listener()
    pb.select(SOURCE, k=2, progress=listener)
    assert isinstance(listener.told[0], pb.Progress)
    with pytest.raises(AttributeError):
        listener.told[0].share = 2


def test_without_onlookers_nothing_is_watched():
    looks = []
    whole = pb.select(SOURCE, TARGET, k=2, method="spotgreedy", random_state=0)
    watched = pb.select(
        SOURCE, TARGET, k=2, method="spotgreedy", random_state=0, progress=looks.append
    )
    assert outcome(watched) == outcome(whole)
    assert whole.evaluations == N_SOURCE * N_TARGET
