"""The machine and the code that figures come from, in words that name neither host nor folders."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import protobandit

_CPU, _MEMORY = Path("/proc/cpuinfo"), Path("/proc/meminfo")
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


def describe() -> str:
    """Return processor, cores, memory, system and Python in one line."""
    here = machine()
    memory = f", {here['memory_gb']} GB of memory" if here["memory_gb"] else ""
    where = f"{here['system']}, Python {here['python']}"
    return f"{here['processor']}, {here['cores']} cores{memory}, {where}"


def machine() -> dict[str, Any]:
    """Return the same and the versions of what computes, by name."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(total_bytes() / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {"protobandit": protobandit.__version__, **{n: _version(n) for n in _PACKAGES}},
    }


def total_bytes() -> int:
    """Return the bytes of memory, 0 where they cannot be known."""
    if not _MEMORY.exists():
        return 0
    return 1024 * int(_MEMORY.read_text(encoding="ascii").split("\n", 1)[0].split()[1])


def commit() -> str:
    """Return the commit of the code at hand, "" where it is not a repository."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip()


def today() -> str:
    """Return the date."""
    return datetime.now(tz=timezone.utc).date().isoformat()


def _processor() -> str:
    lines = _CPU.read_text(encoding="utf-8").splitlines() if _CPU.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
