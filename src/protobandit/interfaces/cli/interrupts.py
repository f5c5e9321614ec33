"""Ctrl-C: once to stop with the best so far, twice to end at once; never amid writing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protobandit.run.progress.reporter import Interrupt

_SAID = b"\nStopping with the best so far; Ctrl-C again ends at once.\n"


@contextmanager
def heeding(interrupt: Interrupt | None) -> Iterator[None]:
    """Let the first Ctrl-C set ``interrupt``, if there is one, and any further one end it all."""
    if interrupt is None or _is_deaf():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        interrupt.set()
        with suppress(OSError, ValueError, AttributeError):
            # Past the stream's buffer, in which this may be an interruption itself.
            os.write(sys.stderr.fileno(), _SAID)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until all is written, and then be too late."""
    if _is_deaf():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_deaf() -> bool:
    return threading.current_thread() is not threading.main_thread()
