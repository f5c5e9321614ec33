"""Progress of a call with classes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import protobandit as pb
from protobandit.run.progress import combined
from protobandit.run.progress.combined import CombinedProgress
from protobandit.run.progress.reporter import Progress
from run.progress.listening import Recording, report_often
from watched import TARGET

LABELS = np.repeat(["a", "b", "c"], 100)
ARGUMENTS = {"source": TARGET[:300], "by": LABELS, "k": 9, "method": "lazygreedy"}


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    report_often(monkeypatch)


def test_classes_are_reported_as_one_search():
    listener = Recording()
    found = pb.select(**ARGUMENTS, progress=listener)
    calls = listener.calls
    assert {p.k for p in calls} == {9}
    for before, after in pairwise(calls):
        assert before.share <= after.share
        assert before.n_picked <= after.n_picked
        assert before.evaluations <= after.evaluations
        assert before.seconds <= after.seconds
    assert calls[-1].share == 1.0
    assert calls[-1].n_picked == found.k == 9
    assert calls[-1].doing == "'c': done"
    assert {p.doing.split(":")[0] for p in calls} == {"'a'", "'b'", "'c'"}


def test_classes_are_interrupted_as_one_search():
    stop, steps = pb.Interrupt(), []

    def callback(step):
        steps.append(step)
        if len(steps) == 5:
            stop.set()

    found = pb.select(**ARGUMENTS, callback=callback, interrupt=stop)
    assert 5 <= found.k < 9
    assert set(found.prototype_labels.tolist()) == {"a", "b"}
    assert f"Stopped by an interruption after {found.k} of the 9" in found.status
    with pytest.raises(pb.Interrupted):
        pb.select(**ARGUMENTS, interrupt=stop)


def test_searches_are_added_up(monkeypatch):
    listener = Recording()
    whole = CombinedProgress(listener, sizes=[1, 3], planned=[0, 19])

    def progress(n_picked, evaluations, share, doing):
        return Progress(
            n_picked=n_picked,
            k=3,
            cost=1.0,
            evaluations=evaluations,
            planned=19,
            seconds=2.0,
            share=share,
            doing=doing,
        )

    whole.on(0, "a")(progress(1, 5, 1.0, "done"))
    second = whole.on(1, "b")
    monkeypatch.setattr(combined, "EVERY", 1e9)
    second(progress(1, 6, 0.2, "choosing"))
    assert len(listener.calls) == 1, "there was a report just before"
    second(progress(3, 20, 1.0, "done"))
    first, last = listener.calls
    assert first.share == pytest.approx(1 / 21)
    assert (last.n_picked, last.k, last.evaluations, last.seconds) == (4, 4, 25, 4.0)
    assert (last.planned, last.share, last.doing) == (25, 1.0, "'b': done")
    assert np.isnan(last.cost)
