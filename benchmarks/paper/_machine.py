"""On what, when and by which command the cells were computed; no host names and no paths."""

from __future__ import annotations

import json
import os
import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.paper._cells import write_text

_PACKAGES = ("protobandit", "numpy", "scipy", "numba", "scikit-learn")


def note_session(path: Path, command: str, **more: Any) -> None:
    """Write down the machine, the date and the command of a session beside its table."""
    session = {"command": command, "date": _today(), **more, **machine()}
    write_text(path, json.dumps(session, indent=2) + "\n")


def read_session(path: Path) -> dict[str, Any] | None:
    """Return what was written down, if anything was."""
    if not path.exists():
        return None
    session: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return session


def machine() -> dict[str, Any]:
    """Describe the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def _today() -> str:
    return datetime.now(tz=timezone.utc).date().isoformat()


def _version(name: str) -> str:
    if name == "protobandit":
        import protobandit

        return protobandit.__version__
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, ValueError, OSError):
        return None
