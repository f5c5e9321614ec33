"""Measured counts, recorded counts, and their differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.common.files import write_text
from benchmarks.counts.problems import CASES, Case

BASELINES = Path(__file__).parent / "baselines.json"
ACCEPT = "python -m benchmarks.counts --accept"

# Evaluations by phase, and "cost"; both are sums over the seeds.
Counts: TypeAlias = dict[str, int]
Record: TypeAlias = dict[str, dict[str, Counts]]


def measure(case: Case, method: str, *, n_jobs: int = 1) -> Counts:
    """Return the evaluations of a method on a problem by phase, and its cost."""
    counts: Counts = {}
    total = 0
    for seed in case.seeds:
        selection = case.solve(case.methods[method], seed, n_jobs)
        for phase, n in selection.evaluations_by_phase.items():
            counts[phase] = counts.get(phase, 0) + n
        total += case.cost(selection.indices)
    return {phase: n for phase, n in counts.items() if n} | {"cost": total}


def measure_all(*, n_jobs: int = 1) -> Record:
    """Return the counts of every method on every problem."""
    record: Record = {}
    for name, make in CASES.items():
        case = make()
        record[name] = {method: measure(case, method, n_jobs=n_jobs) for method in case.methods}
    return record


def read(path: Path = BASELINES) -> Record:
    """Return the recorded counts."""
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record


def write(record: Record, path: Path = BASELINES) -> None:
    """Record counts, one line per method, so that a change of one method changes one line."""
    problems = []
    for name, methods in record.items():
        lines = [f"    {json.dumps(m)}: {json.dumps(counts)}" for m, counts in methods.items()]
        problems.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }")
    write_text(path, "{\n" + ",\n".join(problems) + "\n}\n")


@dataclass(frozen=True)
class Change:
    """A count, or the cost, that differs from the recorded one."""

    what: str
    before: int
    now: int

    @property
    def is_worse(self) -> bool:
        """Return whether the number increased."""
        return self.now > self.before

    def __str__(self) -> str:
        noun = self.what if self.what == "cost" else f"evaluations in {self.what}"
        verb = "increased" if self.is_worse else "decreased"
        share = f" ({self.now / self.before - 1:+.2%})" if self.before else ""
        return f"{noun} {verb} from {self.before:,} to {self.now:,}{share}"


def changes(now: Counts, before: Counts) -> Iterator[Change]:
    """Yield the differences from the recorded counts, phase by phase, and of the cost."""
    for what in dict.fromkeys([*before, *now]):
        change = Change(what, before.get(what, 0), now.get(what, 0))
        if change.now != change.before:
            yield change


def evaluations(counts: Counts) -> int:
    """Return the evaluations of all phases."""
    return sum(n for what, n in counts.items() if what != "cost")


def regression(problem: str, method: str, now: Counts, before: Counts | None) -> str | None:
    """Return what is worse than recorded and what to do, or None."""
    if before is None:
        return (
            f"{method!r} on {problem!r} has no baseline. Add it with `{ACCEPT}` and commit "
            f"{BASELINES.name}."
        )
    worse = [str(change) for change in changes(now, before) if change.is_worse]
    if not worse:
        return None
    return (
        f"{method!r} on {problem!r}: {'; '.join(worse)}. Evaluations in total: "
        f"{evaluations(now):,}, before {evaluations(before):,}. If this is intended, record it "
        f"with `{ACCEPT}` and commit {BASELINES.name} with the reason."
    )
