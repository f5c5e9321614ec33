"""When, on what, from which code and by which command each claim was run: runs.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import _machine
from benchmarks._files import write_text

_FILE = "runs.json"


@dataclass(frozen=True, kw_only=True)
class Session:
    """How the figures of a claim came about; ``commit`` is "" where it is not known."""

    command: str
    date: str
    commit: str
    machine: str

    def __str__(self) -> str:
        code = f", commit {self.commit}" if self.commit else ""
        return f"{self.date}{code}: `{self.command}`"


def session(command: str) -> Session:
    """Return a session that is held here and now."""
    versions = ", ".join(f"{n} {number}" for n, number in _machine.machine()["versions"].items())
    return Session(
        command=command,
        date=_machine.today(),
        commit=_machine.commit(),
        machine=f"{_machine.describe()}, {versions}",
    )


def read(folder: Path) -> dict[str, Session]:
    """Return the sessions by the names of their claims, as far as they are known."""
    path = folder / _FILE
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {name: Session(**each) for name, each in kept.items()}


def keep(folder: Path, name: str, held: Session) -> None:
    """Write down how a claim was run."""
    sessions = {n: asdict(each) for n, each in (read(folder) | {name: held}).items()}
    write_text(folder / _FILE, json.dumps(sessions, indent=1) + "\n")
