"""Run the command line as a process, or inside the test process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import protobandit
from protobandit.interfaces.cli import main as cli

HOME = str(Path(protobandit.__file__).parents[1])


def environment(encoding: str = "utf-8", **more: str) -> dict[str, str]:
    path = os.pathsep.join([HOME, *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": encoding, **more}


def run_process(
    *arguments: str,
    cwd: Path,
    encoding: str = "utf-8",
    stdout: Any = subprocess.PIPE,
    before: Callable[[], None] | None = None,
    stdin: str | None = None,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own; ``stdin`` is its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "protobandit", *arguments],
        cwd=cwd,
        env=environment(encoding, **more),
        encoding=encoding,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=before,
        timeout=120,
        check=False,
    )


def start_process(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start the command line without waiting for it."""
    return subprocess.Popen(
        [sys.executable, "-m", "protobandit", *arguments],
        cwd=cwd,
        env=environment(),
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def call(*arguments: Any) -> int:
    """Run the command line inside this process; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        cli.main([str(each) for each in arguments])
    return int(ended.value.code or 0)


def file_texts(folder: Path) -> dict[str, str]:
    return {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir()}


def file_names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def only_line(text: str) -> str:
    """Return the one line of an error message, without the program name."""
    (line,) = text.splitlines()
    assert line.startswith("protobandit: ")
    assert "Traceback" not in line
    return line.removeprefix("protobandit: ")
