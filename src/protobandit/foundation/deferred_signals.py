"""Handle signals after a block of code instead of within it.

Ctrl-C raises KeyboardInterrupt in the main thread between any two instructions. In a library that
takes locks by context managers written in Python, that can be just after a lock was taken and
before it is sure to be released. Other threads then wait for it forever. llvmlite is such a
library, so code is compiled and loaded with signals deferred.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Call the handlers of signals that arrive in the block when it ends.

    Only the main thread runs handlers, so nothing happens on other threads. A signal that ends the
    process at once, because it has no handler in Python, still does.
    """
    if threading.get_ident() != threading.main_thread().ident:
        yield
        return
    every: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    handlers = {number: handler for number, handler in every.items() if callable(handler)}
    arrived: list[int] = []
    is_over = False

    def record(number: int, frame: Any) -> None:
        if is_over:  # another handler raised before this one was restored
            handlers[number](number, frame)
        else:
            arrived.append(number)

    try:
        for number in handlers:
            signal.signal(number, record)
    except ValueError:  # a subinterpreter, which cannot handle signals
        yield
        return
    try:
        yield
    finally:
        is_over = True
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in arrived:
            handlers[number](number, None)
