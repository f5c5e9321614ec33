from __future__ import annotations

import signal
import threading

import pytest

from protobandit.foundation.deferred_signals import deferred_signals


@pytest.fixture
def handled():
    """Handle SIGINT by appending to a list."""
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGINT, before)


def test_a_signal_is_handled_after_the_block(handled):
    own = signal.getsignal(signal.SIGINT)
    with deferred_signals():
        signal.raise_signal(signal.SIGINT)
        assert handled == []
    assert handled == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is own
    signal.raise_signal(signal.SIGINT)
    assert len(handled) == 2


def test_blocks_can_be_nested(handled):
    with deferred_signals():
        with deferred_signals():
            signal.raise_signal(signal.SIGINT)
        assert handled == []
    assert handled == [signal.SIGINT]


def test_keyboard_interrupt_is_raised_after_the_block():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = []
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            with deferred_signals():
                signal.raise_signal(signal.SIGINT)
                done.append("block")
            done.append("after it")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["block"]


def test_handlers_are_restored_after_an_error(handled):
    own = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="inside"), deferred_signals():
        raise ValueError("inside")
    assert signal.getsignal(signal.SIGINT) is own


def test_other_threads_change_nothing(handled):
    own, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with deferred_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [own]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="requires POSIX signals")
def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with deferred_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="requires POSIX signals")
def test_a_handler_that_raises_while_others_are_restored_loses_no_signal(monkeypatch, handled):
    """SIGINT is restored first; if it raises then, SIGHUP is still the recorder."""
    seen = []
    before = signal.signal(signal.SIGHUP, lambda number, frame: seen.append(number))
    restore, calls = signal.signal, []

    def fail_at_the_second(number, handler):
        calls.append(number)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return restore(number, handler)

    try:
        with pytest.raises(KeyboardInterrupt), deferred_signals():
            monkeypatch.setattr(signal, "signal", fail_at_the_second)
        monkeypatch.undo()
        signal.raise_signal(signal.SIGHUP)
        assert seen == [signal.SIGHUP]
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGHUP, before)
