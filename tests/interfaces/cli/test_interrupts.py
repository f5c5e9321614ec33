"""Ctrl-C during a search."""

import os
import signal

import pytest

from protobandit.interfaces.cli.interrupts import stopping_on_ctrl_c
from protobandit.run.progress.reporter import Interrupt


def test_the_first_ctrl_c_stops_and_the_second_raises(capfd):
    interrupt, before = Interrupt(), signal.getsignal(signal.SIGINT)
    with stopping_on_ctrl_c(interrupt):
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert "press Ctrl-C again to end at once" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_without_an_interrupt_the_handler_is_unchanged():
    before = signal.getsignal(signal.SIGINT)
    with stopping_on_ctrl_c(None):
        assert signal.getsignal(signal.SIGINT) is before
