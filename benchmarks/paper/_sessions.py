"""When, on what, from which code and by which command the cells of a table were computed.

A table that was gone on with has several sessions, which stand in a file beside it, oldest first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from benchmarks import _machine
from benchmarks._files import write_text

Session: TypeAlias = dict[str, Any]


@contextmanager
def session(path: Path, command: str, count: Callable[[], int]) -> Iterator[None]:
    """Note a session as it begins, and how many cells it adds and its minutes as it ends.

    ``count`` returns the cells there are. A session that adds none leaves no note.
    """
    earlier, n_before, started = read_sessions(path), count(), perf_counter()
    this = {
        "command": command,
        "date": _machine.today(),
        "commit": _machine.commit(),
        **_machine.machine(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, [*earlier, this])
    try:
        yield
    finally:
        n_cells, minutes = count() - n_before, round((perf_counter() - started) / 60)
        spent = {"cells": n_cells, "minutes": minutes}
        _write(path, [*earlier, this | spent] if n_cells else earlier)


def read_sessions(path: Path) -> list[Session]:
    """Return what was noted, oldest first; a lone session may stand there without a list."""
    if not path.exists():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept if isinstance(kept, list) else [kept]


def _write(path: Path, sessions: Sequence[Session]) -> None:
    if sessions:
        write_text(path, json.dumps(sessions, indent=2) + "\n")
    else:
        path.unlink(missing_ok=True)


def told(noted: Session) -> str:
    """Return a session in words."""
    words = [f"`{noted['command']}`", noted["date"]]
    words += [f"commit {noted['commit']}"] if noted.get("commit") else []
    if "minutes" in noted:
        words.append(f"{noted['cells']:,} cells in {noted['minutes']} min")
    here = [noted["processor"], f"{noted['cores']} cores"]
    here += [f"{noted['memory_gb']} GB"] if noted["memory_gb"] else []
    here += [noted["system"], f"Python {noted['python']}"]
    here += [f"{name} {number}" for name, number in noted["versions"].items()]
    return f"{', '.join(words)}; {', '.join(here)}"
