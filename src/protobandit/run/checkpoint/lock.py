"""One run at a time on one checkpoint.

The lock is the system's own, on a file beside the checkpoint: it ends with the process, however
that ends, so that a file left behind by ``kill -9`` locks nobody out.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]


class Lock:
    """Holds a file for this run alone, until it is released.

    ``is_held_elsewhere`` tells that another run has it. Where the file cannot be made or the disk
    knows no locks, nothing is locked: whoever writes there hears of it soon enough.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number: int | None = None
        self.is_held_elsewhere = False
        with suppress(OSError):
            self._take()

    def release(self) -> None:
        """Let others have it, and take the file away."""
        if self._number is None:
            return
        with suppress(OSError):
            self._path.unlink()
        os.close(self._number)
        self._number = None

    def _take(self) -> None:
        while fcntl is not None and self._number is None and not self.is_held_elsewhere:
            number = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_at(number):
                    self._number = number
            except BlockingIOError:
                self.is_held_elsewhere = True
            finally:
                if self._number is None:
                    os.close(number)

    def _is_at(self, number: int) -> bool:
        """Tell whether the file is still there: whoever had it may have taken it away since."""
        try:
            return os.path.samestat(os.fstat(number), self._path.stat())
        except FileNotFoundError:
            return False
