"""Sessions: when, on which machine, from which commit and by which command figures were computed.

A sessions file is one JSON object. It maps the name of a result to its sessions, oldest first; a
run that was stopped and resumed has several.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter

from benchmarks.common import machine
from benchmarks.common.files import write_text

FILE = "sessions.json"
# Benchmarks that were renamed after results had been published.
_RENAMED = {"python -m benchmarks.race": "python -m benchmarks.comparison"}


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run of a benchmark.

    ``commit`` is "" if unknown; ``note`` then says what is known. ``n_results`` and ``minutes`` are
    None if they were not recorded.
    """

    command: str
    date: str
    machine: str
    commit: str = ""
    n_results: int | None = None
    minutes: int | None = None
    note: str | None = None

    def __str__(self) -> str:
        commit = f", commit {self.commit}" if self.commit else ""
        added = (
            "" if self.minutes is None else f", {self.n_results:,} results in {self.minutes} min"
        )
        note = "" if self.note is None else f" ({self.note})"
        return f"{self.date}{commit}: {self.shown_command}{added}{note}"

    @property
    def shown_command(self) -> str:
        """Return the command as Markdown, with its present name if that is different."""
        for old, new in _RENAMED.items():
            if self.command.startswith(old):
                return f"`{self.command}` (now `{new}`)"
        return f"`{self.command}`"


def current(command: str) -> Session:
    """Return a session of this machine, this commit and today."""
    return Session(
        command=command,
        date=machine.today(),
        machine=machine.describe(),
        commit=machine.commit(),
    )


def read(path: Path) -> dict[str, list[Session]]:
    """Return the sessions by the names of their results; empty without a file."""
    if not path.exists():
        return {}
    records = json.loads(path.read_text(encoding="utf-8"))
    return {name: [Session(**each) for each in sessions] for name, sessions in records.items()}


def record(path: Path, name: str, sessions: Sequence[Session]) -> None:
    """Replace the sessions of one result; the file is deleted with its last session."""
    kept = {n: each for n, each in (read(path) | {name: [*sessions]}).items() if each}
    if not kept:
        path.unlink(missing_ok=True)
        return
    records = {n: [_as_record(session) for session in each] for n, each in kept.items()}
    write_text(path, json.dumps(records, indent=1) + "\n")


def _as_record(session: Session) -> dict[str, object]:
    return {name: value for name, value in asdict(session).items() if value is not None}


@contextmanager
def recorded(path: Path, name: str, command: str, count: Callable[[], int]) -> Iterator[None]:
    """Add a session at the start of the block; at its end, how many results it added.

    ``count`` returns the number of results so far. A session that adds none is removed.
    """
    earlier, n_before, started = read(path).get(name, []), count(), perf_counter()
    session = current(command)
    path.parent.mkdir(parents=True, exist_ok=True)
    record(path, name, [*earlier, session])
    try:
        yield
    finally:
        n_results, minutes = count() - n_before, round((perf_counter() - started) / 60)
        done = [replace(session, n_results=n_results, minutes=minutes)] if n_results else []
        record(path, name, [*earlier, *done])


def merged(sessions: Sequence[Session]) -> list[Session]:
    """Return sessions of the same command, commit, date and machine as one, with all results."""
    found: list[Session] = []
    for session in sessions:
        last = found[-1] if found else session
        is_same = replace(last, n_results=0, minutes=0) == replace(session, n_results=0, minutes=0)
        if found and is_same and last.minutes is not None and session.minutes is not None:
            n_results = (last.n_results or 0) + (session.n_results or 0)
            minutes = last.minutes + session.minutes
            found[-1] = replace(last, n_results=n_results, minutes=minutes)
        else:
            found.append(session)
    return found


def machines(sessions: dict[str, Session]) -> list[str]:
    """Return the machines as sentences: one sentence if all results come from the same."""
    names: dict[str, list[str]] = {}
    for name, session in sessions.items():
        names.setdefault(session.machine, []).append(name)
    if len(names) == 1:
        return [f"Run on {next(iter(names))}."]
    return [f"Run on {machine}: {', '.join(results)}." for machine, results in names.items()]
