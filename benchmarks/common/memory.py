"""Memory of this process, read from /proc (Linux only)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_INTERVAL = 0.002  # seconds


def is_known() -> bool:
    """Return whether memory can be measured on this system."""
    return _STATUS.exists()


def anonymous_mb() -> float:
    """Return the anonymous memory of this process in MB: arrays, but not mapped files."""
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
    return kilobytes * 1024 / 1e6


@dataclass
class Peak:
    """Anonymous memory in MB at the start of a block, and the largest value within it."""

    start: float = 0.0
    largest: float = 0.0

    @property
    def growth(self) -> float:
        """Return how much the block added."""
        return self.largest - self.start


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the peak of the enclosed block by reading /proc every 2 ms in a thread."""
    start = anonymous_mb()
    peak, is_over = Peak(start, start), threading.Event()

    def sample() -> None:
        while not is_over.wait(_INTERVAL):
            peak.largest = max(peak.largest, anonymous_mb())

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield peak
    finally:
        is_over.set()
        sampler.join()
