"""Environments of other packages, and the scripts that run in them."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "peers"


def python_of(folder: Path | None, name: str) -> str | None:
    """Return the interpreter of an environment that benchmarks/peers/setup.py created, or None."""
    if folder is None:
        return None
    paths = (folder / name / "bin" / "python", folder / name / "Scripts" / "python.exe")
    return next((str(path.absolute()) for path in paths if path.exists()), None)
