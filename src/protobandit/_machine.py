"""What the machine can spare."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int:
    """Return the bytes this process may still take, container limits respected."""
    free = _meminfo()
    if free is None:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 if _has_sysconf() else 2**31
    room = _container_room(Path("/sys/fs/cgroup"))
    return free if room is None else min(free, room)


def _has_sysconf() -> bool:
    return hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    field = facts.get("MemAvailable")
    return None if field is None else int(field.split()[0]) * 1024


def _container_room(folder: Path) -> int | None:
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = (folder / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() and used.isdigit() else None
