"""Run a rival in its own environment, and read what it prints."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "peers"


def python_of(folder: Path | None, name: str) -> str | None:
    """Return the interpreter of this rival's environment, or None if it has not been made."""
    if folder is None:
        return None
    places = (folder / name / "bin" / "python", folder / name / "Scripts" / "python.exe")
    return next((str(path.absolute()) for path in places if path.exists()), None)


def run(script: str, *arguments: Any, python: str) -> dict[str, Any]:
    """Return the report of a runner in benchmarks/peers."""
    command = [python, str(SCRIPTS / script), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report
