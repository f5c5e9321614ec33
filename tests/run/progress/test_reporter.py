"""The progress that a listener gets."""

from __future__ import annotations

import threading
from itertools import count, pairwise

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation import threads as threads_module
from protobandit.methods import METHODS, LazyBandit, LazyGreedy
from protobandit.oracle.counts import Counts
from protobandit.run.progress import reporter
from protobandit.search.control import Clock
from run.progress.listening import Recording, report_often
from watched import N_SOURCE, SOURCE, SPECIAL, TARGET, K, call, outcome, resumed


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    report_often(monkeypatch)


@pytest.mark.parametrize("case", ["apart", "one"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_reports_its_progress(name, case):
    arguments, listener = call(name, case), Recording()
    whole = pb.select(**arguments)
    found = pb.select(**arguments, progress=listener)
    assert outcome(found) == outcome(whole), "reports change nothing"
    for before, after in pairwise(listener.calls):
        assert before.share <= after.share
        assert before.evaluations <= after.evaluations
        assert before.seconds <= after.seconds
        assert before.n_picked <= after.n_picked
    for progress in listener.calls:
        assert progress.k == K
        assert 0 <= progress.share <= 1
        assert progress.planned >= progress.evaluations
        assert progress.doing
    costs = [p.cost for p in listener.calls[:-1] if np.isfinite(p.cost)]
    assert costs == sorted(costs, reverse=True), "a cost that rises would worry users"
    assert len(listener.calls) > 3 or name == "random"
    last = listener.calls[-1]
    assert (last.doing, last.share, last.n_picked) == ("done", 1.0, K)
    assert last.evaluations == found.evaluations
    assert last.cost == found.cost


@pytest.mark.parametrize("name", SPECIAL)
def test_special_searches_report_their_progress(name):
    arguments, listener = call(name), Recording()
    found = pb.select(**arguments, progress=listener)
    shares = [progress.share for progress in listener.calls]
    assert shares == sorted(shares)
    assert listener.calls[-1].n_picked == found.k
    assert listener.calls[-1].doing.endswith("done")
    assert max(progress.n_picked for progress in listener.calls) <= listener.calls[-1].k
    assert shares[-1] == (1.0 if "limit of" not in found.status else shares[-1])


@pytest.mark.parametrize("memoize", [True, False])
def test_there_are_reports_within_the_first_scan(memoize):
    listener = Recording()
    target = np.tile(TARGET, (8, 1))
    pb.select(SOURCE, target, k=2, method=LazyGreedy(memoize=memoize), progress=listener)
    scan = N_SOURCE * len(target)
    within = [p for p in listener.calls if 0 < p.evaluations < scan]
    assert len(within) >= 3
    assert {p.n_picked for p in within} == {0}
    assert all(np.isnan(p.cost) for p in within)


@pytest.mark.parametrize("method", ["spotgreedy", "lazygreedy"])
@pytest.mark.parametrize("metric", ["levenshtein", lambda a, b: abs(len(a) - len(b))])
def test_there_are_reports_within_the_first_scan_of_slow_metrics(method, metric):
    """A tile of such a metric may take minutes."""
    texts = ["ab" * (i % 17) + "c" * (i % 5) for i in range(100)]
    listener = Recording()
    arguments = {"source": texts, "k": 3, "method": method, "metric": metric, "random_state": 0}
    found = pb.select(**arguments, progress=listener)
    assert outcome(found) == outcome(pb.select(**arguments))
    within = {p.evaluations for p in listener.calls if 0 < p.evaluations < len(texts) ** 2}
    assert len(within) >= 10
    assert len({p.share for p in listener.calls}) > 10


def test_there_are_reports_between_rungs_and_passes():
    listener = Recording()
    pb.select(**{**call("lazybandit"), "method": LazyBandit(effort=0.3)}, progress=listener)
    doings = {p.doing for p in listener.calls}
    assert {"round 1 of 3", "round 2 of 3", "measuring the cost", "done"} <= doings
    listener = Recording()
    pb.select(**call("fasterpam"), progress=listener)
    doings = {p.doing for p in listener.calls}
    passes = [f"improving by swaps, pass {n}" for n in (1, 2)]
    assert {"computing all distances", *passes} <= doings
    costs = [p.cost for p in listener.calls if p.doing in passes]
    assert costs == sorted(costs, reverse=True)


def test_there_are_at_most_ten_reports_a_second(monkeypatch):
    clock = count()
    monkeypatch.setattr(reporter, "EVERY", 0.1)
    for module in ("run.progress.reporter", "search.control"):
        monkeypatch.setattr(f"protobandit.{module}.perf_counter", lambda: next(clock) / 1000)
    listener = Recording()
    pb.select(**{**call("lazygreedy", "one"), "k": 200}, progress=listener)
    times = [p.seconds for p in listener.calls[:-1]]  # the last report always comes
    assert len(times) > 3
    assert min(after - before for before, after in pairwise(times)) >= 0.09


def test_the_listener_is_called_on_the_calling_thread():
    threads = set()
    target = np.tile(TARGET, (4, 1))
    pb.select(SOURCE, target, k=3, n_jobs=2, progress=lambda p: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("name", METHODS)
def test_an_error_of_the_listener_propagates(name):
    def fail():
        raise RuntimeError("enough")

    arguments = call(name)
    listener = Recording()
    pb.select(**arguments, progress=listener)
    for n in {1, 2, len(listener.calls) // 2, len(listener.calls)}:
        with pytest.raises(RuntimeError, match="enough"):
            pb.select(**arguments, progress=Recording(max(n, 1), fail))
        assert threads_module._state.guards == 0, "BLAS may use its threads again"


@pytest.mark.parametrize("name", ["lazygreedy", "fasterpam", "kcenter"])
def test_a_resumed_search_reports_the_seconds_of_both_runs(name, tmp_path):
    stop = pb.Interrupt()
    first, second = Recording(), Recording()
    arguments = {**call(name), "callback": stop.set}
    resumed({**arguments, "progress": first, "interrupt": stop}, tmp_path / "search")
    found = resumed({**arguments, "progress": second}, tmp_path / "search")
    assert second.calls[0].seconds > first.calls[2].seconds
    assert second.calls[-1].evaluations == found.evaluations
    assert [p.share for p in second.calls] == sorted(p.share for p in second.calls)


def test_progress_and_interrupt_are_validated():
    with pytest.raises(pb.InvalidInput, match=r"progress=3 is not callable. Pass True, or"):
        pb.select(SOURCE, k=2, progress=3)
    with pytest.raises(pb.InvalidInput, match=r"interrupt=True is not known. Pass an Interrupt"):
        pb.select(SOURCE, k=2, interrupt=True)


def test_progress_is_immutable():
    listener = Recording()
    pb.select(SOURCE, k=2, progress=listener)
    assert isinstance(listener.calls[0], pb.Progress)
    with pytest.raises(AttributeError):
        listener.calls[0].share = 2


def test_a_cost_that_rises_is_not_shown_before_the_end():
    listener = Recording()
    reports = reporter.ProgressReporter(listener, k=3, planned=9, counts=Counts(), clock=Clock(0.0))
    for cost, n_picked in ((2.0, 3), (5.0, 1), (2.0, 3), (1.5, 3)):
        reports.report("choosing", cost=cost, n_picked=n_picked)
    reports.finish(3, 1.75, is_complete=True)
    assert [str(p.cost) for p in listener.calls] == ["2.0", "nan", "2.0", "1.5", "1.75"]
    assert {p.n_picked for p in listener.calls} == {3}
