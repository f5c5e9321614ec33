"""The machine, the code, and the load of other processes.

Descriptions contain neither the host name nor paths, so they can be published.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import protobandit

_CPU, _MEMORY, _STAT = Path("/proc/cpuinfo"), Path("/proc/meminfo"), Path("/proc/stat")
_PACKAGES = ("numpy", "scipy", "llvmlite", "scikit-learn")
# Columns of /proc/stat: user, nice, system, irq, softirq, steal. Waiting for I/O is not work.
_BUSY = (1, 2, 3, 6, 7, 8)


def describe() -> str:
    """Return processor, cores, memory, system, Python and package versions in one line."""
    memory = round(total_bytes() / 2**30)
    parts = [_processor(), f"{os.cpu_count()} cores"]
    parts += [f"{memory} GB of memory"] if memory else []
    parts += [f"{platform.system()} {platform.machine()}", f"Python {platform.python_version()}"]
    parts += [f"protobandit {protobandit.__version__}", *(f"{n} {_version(n)}" for n in _PACKAGES)]
    return ", ".join(parts)


def total_bytes() -> int:
    """Return the bytes of memory, 0 if unknown."""
    if not _MEMORY.exists():
        return 0
    return 1024 * int(_MEMORY.read_text(encoding="ascii").split("\n", 1)[0].split()[1])


def commit() -> str:
    """Return the commit of the code in use, "" outside a repository.

    It ends in "-dirty" if files of the package or of the benchmarks differ from that commit.
    """
    try:
        found = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "benchmarks")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{found}-dirty" if changed else found


def _git(*arguments: str) -> str:
    root = Path(__file__).parents[2]
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def today() -> str:
    """Return the date as YYYY-MM-DD."""
    return datetime.now(tz=timezone.utc).date().isoformat()


class OtherLoad:
    """Cores that other processes keep busy, averaged since this object was created.

    A figure that was measured while others used the machine is not reliable.
    """

    def __init__(self) -> None:
        self._started = perf_counter()
        self._before = self._busy_seconds()

    def cores(self) -> float | None:
        """Return the average number of cores, or None if unknown."""
        before, now = self._before, self._busy_seconds()
        if before is None or now is None:
            return None
        return max(0.0, (now - before) / (perf_counter() - self._started))

    def print(self) -> None:
        """Print one line, if the load is known."""
        cores = self.cores()
        if cores is not None:
            print(f"    other processes kept {cores:.2f} cores busy during this part")

    @staticmethod
    def _busy_seconds() -> float | None:
        """Return the processor seconds of all other processes since the system started."""
        if not _STAT.exists():
            return None
        fields = _STAT.read_text(encoding="ascii").split("\n", 1)[0].split()
        busy = sum(int(fields[i]) for i in _BUSY) / os.sysconf("SC_CLK_TCK")
        own = os.times()
        return busy - own.user - own.system - own.children_user - own.children_system


def _processor() -> str:
    lines = _CPU.read_text(encoding="utf-8").splitlines() if _CPU.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
