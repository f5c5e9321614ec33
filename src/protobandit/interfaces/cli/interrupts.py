"""Ctrl-C: the first stops with the best result so far, the second ends; writing is not stopped."""

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

_MESSAGE = b"\nStopping with the best result so far; press Ctrl-C again to end at once.\n"


@contextmanager
def stopping_on_ctrl_c(interrupt: Interrupt | None) -> Iterator[None]:
    """Let the first Ctrl-C set ``interrupt``; a second one raises. With None, change nothing."""
    if interrupt is None:
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        interrupt.set()
        with suppress(OSError, ValueError, AttributeError):
            # Not through sys.stderr, whose buffer may be in the middle of a write.
            os.write(sys.stderr.fileno(), _MESSAGE)

    with _handling_ctrl_c(stop):
        yield


def ignoring_ctrl_c() -> AbstractContextManager[None]:
    """Ignore Ctrl-C, so that files are written completely."""
    return _handling_ctrl_c(lambda number, frame: None)


@contextmanager
def _handling_ctrl_c(handler: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # cannot handle signals
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
