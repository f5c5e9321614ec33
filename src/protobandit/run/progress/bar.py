"""A progress bar for Python: ``progress=True`` in a terminal or a notebook.

The command line has its own display. This one needs no other package: in a terminal it writes one
line again and again, in a notebook it replaces one output, elsewhere it writes a line every few
seconds.
"""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from time import monotonic
from typing import Any

from protobandit.run.progress.reporter import Progress

_WIDTH = 20  # characters of the bar
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BEFORE_ESTIMATE = 1.0


class ProgressBar:
    """Shows the progress of a search; pass it, or True, as ``progress``."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._last = monotonic()

    def __call__(self, progress: Progress) -> None:
        text, is_done = line(progress), progress.doing == "done"
        if _is_notebook():
            self._show_in_notebook(text)
        elif sys.stderr is not None and sys.stderr.isatty():
            columns = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[2K{text[: columns - 1]}" + ("\n" if is_done else ""))
            sys.stderr.flush()
        elif sys.stderr is not None and monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = monotonic()
            sys.stderr.write(f"{text}\n")

    def _show_in_notebook(self, text: str) -> None:
        content = {"text/plain": text}
        if self._handle is None:
            display = import_module("IPython.display").display
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def line(progress: Progress) -> str:
    """Return the progress as one line.

    >>> from protobandit import Progress
    >>> line(Progress(n_picked=3, k=20, cost=1.25, evaluations=1234567, planned=None,
    ...               seconds=10.0, share=0.25, doing="racing"))
    '[#####...............]  25 %, 3 of 20 prototypes, about 30 s left'
    """
    n = int(_WIDTH * progress.share)
    parts = [
        f"[{'#' * n}{'.' * (_WIDTH - n)}] {progress.share:4.0%}".replace("%", " %"),
        f"{progress.n_picked:,} of {progress.k:,} prototypes",
    ]
    if progress.doing == "done":
        parts.append(f"{progress.seconds:.3g} s")
    elif progress.seconds >= _SECONDS_BEFORE_ESTIMATE and 0 < progress.share < 1:
        left = progress.seconds * (1 / progress.share - 1)
        if left >= 1:
            parts.append(f"about {left:,.0f} s left")
    return ", ".join(parts)


def _is_notebook() -> bool:
    """Return whether a notebook runs this process; IPython is loaded there already."""
    loaded = sys.modules.get("IPython")
    shell = None if loaded is None else loaded.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
