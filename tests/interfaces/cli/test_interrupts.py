"""Ctrl-C, SIGTERM and SIGHUP during a search."""

import os
import signal

import pytest

from protobandit.interfaces.cli.interrupts import (
    ending_on_signals,
    ignoring_signals,
    stopping_on_signals,
)
from protobandit.run.progress.reporter import Interrupt

pytestmark = pytest.mark.skipif(os.name != "posix", reason="requires POSIX signals")
SIGNALS = [getattr(signal, name, 0) for name in ("SIGINT", "SIGTERM", "SIGHUP")]


@pytest.fixture(autouse=True)
def handlers():
    """Check that all handlers are restored."""
    before = list(map(signal.getsignal, SIGNALS))
    yield before
    assert list(map(signal.getsignal, SIGNALS)) == before


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_first_signal_stops_and_the_second_raises(first, second, capfd):
    interrupt = Interrupt()
    with stopping_on_signals(interrupt):
        os.kill(os.getpid(), first)
        assert interrupt.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), second)
    assert "press Ctrl-C again to end at once" in capfd.readouterr().err


def test_without_an_interrupt_the_handlers_are_unchanged(handlers):
    with stopping_on_signals(None):
        assert list(map(signal.getsignal, SIGNALS)) == handlers


@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_ends_a_command(number):
    with ending_on_signals(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_no_signal_ends_the_writing_of_files(number):
    with ending_on_signals(), ignoring_signals():
        os.kill(os.getpid(), number)


def test_a_signal_that_was_ignored_stays_ignored():
    """As with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        interrupt = Interrupt()
        with ending_on_signals(), stopping_on_signals(interrupt):
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupt.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)
