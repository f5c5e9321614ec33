"""The memory that this process can still use."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_IF_UNKNOWN = 2**31
_FOR_THREADS = 200 << 20  # bytes of addresses (measured)
_FOR_LIBRARIES = 300 << 20


@dataclass(frozen=True)
class _Version:
    """How a version of control groups names its folders and files.

    ``reclaimable`` is the part of the usage, in ``statistics``, that the kernel frees on demand.
    """

    folder: str
    limit: str
    usage: str
    reclaimable: str


_VERSION_1 = _Version(
    "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
)
_VERSION_2 = _Version("", "memory.max", "memory.current", "inactive_file")


def available_memory() -> int:
    """Return how many bytes this process can still use.

    That is the least of the free memory of the machine, what the control groups of the process and
    all groups above them allow, and what the limit of its address space (``ulimit -v``) leaves.
    """
    free = _meminfo(Path("/proc/meminfo"))
    limits = [
        _half_of_physical() if free is None else free,
        _free_in_groups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")),
        _free_addresses(Path("/proc/self/statm")),
    ]
    return min(limit for limit in limits if limit is not None)


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
        return _half_by_psutil()


def _half_by_psutil() -> int:
    """Return half of the physical memory where the system has no `os.sysconf`: on Windows."""
    try:
        import psutil
    except ImportError:
        return _IF_UNKNOWN
    return int(psutil.virtual_memory().total) // 2


def _free_in_groups(groups: Path, root: Path) -> int | None:
    """Return what the control groups of this process allow, or None if there is no limit.

    A line of ``groups`` is ``number:controllers:path``; version 2 has no controllers. A group is
    limited by all groups above it. In a container, which may hide them, the path may not exist
    below ``root``; the groups that do exist count.
    """
    free: list[int] = []
    for line in _read(groups).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        version = _VERSION_1 if controllers else _VERSION_2
        inner = PurePosixPath("/", path).relative_to("/")
        for group in (inner, *inner.parents):
            found = _free_in_group(root / version.folder / group, version)
            if found is not None:
                free.append(found)
    return min(free, default=None)


def _free_in_group(folder: Path, version: _Version) -> int | None:
    most, used = _number(folder / version.limit), _number(folder / version.usage)
    if most is None or used is None:
        return None
    cached = _fields(folder / "memory.stat").get(version.reclaimable, 0)
    return max(0, most - used + cached)


def _free_addresses(sizes: Path) -> int | None:
    """Return what the limit of the address space leaves, or None if there is none.

    Threads reserve addresses that they do not use, and so do libraries that are not loaded yet.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read(sizes).split()
    if most == resource.RLIM_INFINITY or not pages:
        return None
    reserved = _FOR_THREADS + (0 if "llvmlite" in sys.modules else _FOR_LIBRARIES)
    return max(0, most - int(pages[0]) * resource.getpagesize() - reserved)


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
