"""How much of the machine others took meanwhile: what tells a disturbed figure from a sound one."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

_STAT = Path("/proc/stat")
_BUSY = (1, 2, 3, 6, 7, 8)  # user, nice, system, irq, softirq, steal; waiting is not work


class Others:
    """Watches from its making on."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._before = self._seconds()

    def cores(self) -> float | None:
        """Return how many cores others kept busy, on average; None where it cannot be known."""
        before, now = self._before, self._seconds()
        if before is None or now is None:
            return None
        return max(0.0, (now - before) / (perf_counter() - self._started))

    @staticmethod
    def _seconds() -> float | None:
        if not _STAT.exists():
            return None
        fields = _STAT.read_text(encoding="ascii").split("\n", 1)[0].split()
        busy = sum(int(fields[i]) for i in _BUSY) / os.sysconf("SC_CLK_TCK")
        own = os.times()
        return busy - own.user - own.system - own.children_user - own.children_system
