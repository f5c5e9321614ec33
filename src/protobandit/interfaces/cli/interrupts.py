"""Ctrl-C, SIGTERM, SIGHUP and, on Windows, SIGBREAK: they end a command alike.

The first one ends the command, or stops the search with the best result so far if that is wanted.
A second one then ends the command. Writing is not stopped. A signal that was ignored from the
start, as SIGHUP under ``nohup``, stays ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protobandit.run.progress.reporter import Interrupt

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # SIGBREAK: a console that is closed
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
_MESSAGE = b"\nStopping with the best result so far; press Ctrl-C again to end at once.\n"


def ending_on_signals() -> AbstractContextManager[None]:
    """Let the other signals raise KeyboardInterrupt, as Ctrl-C does."""
    return _handling(signal.default_int_handler)


@contextmanager
def stopping_on_signals(interrupt: Interrupt | None) -> Iterator[None]:
    """Let the first signal set ``interrupt``; a second one raises. With None, change nothing."""
    if interrupt is None:
        yield
        return

    def stop(number: int, frame: Any) -> None:
        if interrupt.is_set():
            raise KeyboardInterrupt
        interrupt.set()
        with suppress(OSError, ValueError, AttributeError):
            # Not through sys.stderr, whose buffer may be in the middle of a write.
            os.write(sys.stderr.fileno(), _MESSAGE)

    with _handling(stop):
        yield


def ignoring_signals() -> AbstractContextManager[None]:
    """Ignore the signals, so that files are written completely."""
    return _handling(lambda number, frame: None)


@contextmanager
def _handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # cannot handle signals
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = [number for number, old in before.items() if old not in (signal.SIG_IGN, None)]
    for number in handled:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
