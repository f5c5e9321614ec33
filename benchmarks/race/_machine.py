"""The machine a race was run on, in words that name neither host nor folders."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPU, _MEMORY = Path("/proc/cpuinfo"), Path("/proc/meminfo")


def describe() -> str:
    """Return processor, cores, memory, system and Python."""
    gigabytes = total_bytes() / 2**30
    memory = f", {gigabytes:.0f} GB of memory" if gigabytes else ""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores{memory}, {platform.system()}, {python}"


def total_bytes() -> int:
    """Return the bytes of memory, 0 where they cannot be known."""
    if not _MEMORY.exists():
        return 0
    return 1024 * int(_MEMORY.read_text(encoding="ascii").split("\n", 1)[0].split()[1])


def _processor() -> str:
    lines = _CPU.read_text(encoding="utf-8").splitlines() if _CPU.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())
