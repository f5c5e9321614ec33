"""The memory that this process can still use."""

from __future__ import annotations

import os
from pathlib import Path

_IF_UNKNOWN = 2**31

# Files with the limit, the usage, and the part of the usage that the kernel frees on demand: for
# control groups of version 2, then of version 1.
_CGROUPS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file",
    ),
)


def available_memory() -> int:
    """Return how many bytes this process can still use, within the limit of its container."""
    free = _meminfo(Path("/proc/meminfo"))
    if free is None:
        free = _half_of_physical()
    in_container = _free_in_container(Path("/sys/fs/cgroup"))
    return free if in_container is None else min(free, in_container)


def shown_bytes(n: int) -> str:
    """Return a number of bytes as a person would write it."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return f"{n:,} bytes"


def shown_apart(n: int, other: int) -> tuple[str, str]:
    """Return two different numbers of bytes so that they look different."""
    shown = shown_bytes(n), shown_bytes(other)
    return shown if shown[0] != shown[1] else (f"{n:,} bytes", f"{other:,} bytes")


def _meminfo(path: Path) -> int | None:
    kilobytes = _fields(path).get("MemAvailable:")
    return None if kilobytes is None else 1024 * kilobytes


def _half_of_physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return _IF_UNKNOWN


def _free_in_container(folder: Path) -> int | None:
    for limit, usage, statistics, reclaimable in _CGROUPS:
        most, used = _number(folder / limit), _number(folder / usage)
        if most is not None and used is not None:
            return max(0, most - used + _fields(folder / statistics).get(reclaimable, 0))
    return None


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None  # "max" means no limit


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers in a file with lines such as ``name 12`` or ``name: 12 kB``."""
    words = (line.split() for line in _read(path).splitlines())
    return {
        name: int(value) for name, value, *_ in (w for w in words if len(w) > 1) if value.isdigit()
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
