"""Limits, clock and stop reasons of a search."""

from __future__ import annotations

import pytest

from protobandit.problem.limits import Limits
from protobandit.search.control import (
    INTERRUPTED,
    Clock,
    SavedState,
    SearchControl,
    StateStore,
    StopKind,
    StopReason,
)


class Recording(StateStore):
    """A store that records the reasons of stops."""

    def __init__(self):
        self.reasons = []

    def stop(self, reason):
        self.reasons.append(reason)


@pytest.fixture
def now(monkeypatch):
    """Return the time, which stands still unless a test changes it."""
    time = {"seconds": 100.0}
    monkeypatch.setattr("protobandit.search.control.perf_counter", lambda: time["seconds"])
    return time


def test_without_limits_a_search_may_continue():
    control = SearchControl()
    assert control.allows(10**12)
    assert control.stopped is None


def test_an_evaluation_limit_includes_the_next_evaluations():
    control = SearchControl(limits=Limits(evaluations=10), states=Recording())
    control.counts.evaluations["build"] = 8
    assert control.allows(2)
    assert not control.allows(3)
    reason = StopReason(StopKind.EVALUATIONS, 10)
    assert control.stopped == reason
    assert control.states.reasons == [reason]
    assert reason.is_repeatable
    assert control.allows()
    assert control.stopped is None


def test_a_share_of_a_limit_is_named_as_such():
    own, whole = Limits(evaluations=10_000, seconds=5), Limits(evaluations=40_000, seconds=9)
    control = SearchControl(limits=own, whole_limits=whole, clock=Clock(7.0))
    assert not control.allows(10_001)
    words = "the share of one search (10,000) of the limit of 40,000 evaluations"
    assert str(control.stopped) == words
    assert not control.allows()
    assert str(control.stopped) == "the limit of 9 seconds"
    control = SearchControl(limits=own, whole_limits=own)
    assert not control.allows(10_001)
    assert str(control.stopped) == "the limit of 10,000 evaluations"


def test_a_time_limit(now):
    control = SearchControl(limits=Limits(seconds=5), clock=Clock(), states=Recording())
    assert control.allows()
    now["seconds"] += 5
    assert not control.allows()
    assert control.stopped == StopReason(StopKind.SECONDS, 5)
    assert not control.stopped.is_repeatable


def test_an_interruption_comes_before_limits():
    control = SearchControl(limits=Limits(evaluations=1), is_requested=lambda: True)
    assert not control.allows(5)
    assert control.stopped is INTERRUPTED


def test_a_stop_is_recorded():
    control = SearchControl(states=Recording())
    control.stop()
    assert control.stopped is INTERRUPTED
    callback = StopReason(StopKind.CALLBACK)
    control.stop(callback)
    assert control.stopped is callback
    assert control.states.reasons == [INTERRUPTED, callback]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (StopReason(StopKind.EVALUATIONS, 12_000), "the limit of 12,000 evaluations"),
        (StopReason(StopKind.EVALUATIONS, 1), "the limit of 1 evaluation"),
        (StopReason(StopKind.SECONDS, 2.5), "the limit of 2.5 seconds"),
        (StopReason(StopKind.SECONDS, 1.0), "the limit of 1 second"),
        (INTERRUPTED, "an interruption"),
        (StopReason(StopKind.CALLBACK), "the callback"),
    ],
)
def test_reasons_as_words(reason, words):
    assert str(reason) == words
    assert reason.at_start == words[0].upper() + words[1:]


def test_a_clock_includes_earlier_runs(now):
    clock = Clock(earlier=7.0)
    assert clock.seconds == clock.elapsed == 7
    now["seconds"] += 2
    assert clock.seconds == 9


def test_a_replay_shows_earlier_seconds(now):
    control = SearchControl(clock=Clock(earlier=7.0), limits=Limits(seconds=3))
    snapshot = control.counts.snapshot()
    snapshot[0] = 5
    control.replay(snapshot, 2.0)
    now["seconds"] += 1
    assert (control.clock.seconds, control.clock.elapsed) == (2.0, 8.0)
    assert control.counts.total == 5
    assert control.allows()
    control.end_replay()
    assert control.clock.seconds == 8.0
    assert not control.allows()


def test_a_clock_never_stays_below_the_seconds_it_has_shown(now):
    """A killed run has not saved its seconds; its log shows them."""
    clock = Clock()
    clock.show(50.0)
    assert clock.elapsed == 50
    clock.show(40.0)
    now["seconds"] += 1
    assert clock.seconds == 40
    clock.resume()
    assert clock.seconds == 51


def test_the_default_store_saves_nothing():
    store = StateStore()
    store.save("a", SavedState())
    assert store.restore("a") is None
    assert not store.is_active
    store.rewind(SavedState())
    store.stop(INTERRUPTED)
