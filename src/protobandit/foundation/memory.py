"""What the machine can spare."""

from __future__ import annotations

import os
from pathlib import Path

_UNKNOWN = 2**31

# Limit, use, and the part of the use that is given up on demand, of version 2 and of version 1.
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
    """Return the bytes this process may still take, container limits respected."""
    free = _meminfo(Path("/proc/meminfo"))
    if free is None:
        free = _half_of_all()
    room = _container_room(Path("/sys/fs/cgroup"))
    return free if room is None else min(free, room)


def _meminfo(path: Path) -> int | None:
    kilobytes = _fields(path).get("MemAvailable:")
    return None if kilobytes is None else 1024 * kilobytes


def _half_of_all() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def _container_room(folder: Path) -> int | None:
    for limit, use, facts, spare in _CGROUPS:
        most, used = _number(folder / limit), _number(folder / use)
        if most is not None and used is not None:
            return max(0, most - used + _fields(folder / facts).get(spare, 0))
    return None


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None  # "max" is no limit


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file of lines such as ``name 12`` or ``name: 12 kB``."""
    words = (line.split() for line in _read(path).splitlines())
    return {
        name: int(value) for name, value, *_ in (w for w in words if len(w) > 1) if value.isdigit()
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
