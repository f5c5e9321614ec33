"""Counts of a run of the fuzzer by kind of case, and the cases that failed."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from benchmarks.fuzz.cases import VERDICTS, Outcome

_MOST_LISTED = 5  # cases of one failure


class Summary:
    """What a run of the fuzzer has found."""

    def __init__(self, seed: int, kind: str | None = None) -> None:
        self.seed = seed
        self.kind = kind
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failures: dict[str, list[Outcome]] = {}

    def add(self, outcome: Outcome) -> None:
        self.counts[outcome.kind, outcome.verdict] += 1
        if outcome.complaints:
            self.failures.setdefault(_signature(outcome.complaints[0]), []).append(outcome)

    def line(self, outcome: Outcome) -> str:
        kind = f" --kind '{self.kind}'" if self.kind else ""
        case = f"--seed {self.seed} --case {outcome.number}{kind}"
        complaints = " | ".join(outcome.complaints)
        return f"{case} ({outcome.kind}: {outcome.text:.200}): {complaints:.400}"

    def __str__(self) -> str:
        head = f"{'kind':<20}" + "".join(f"{verdict:>10}" for verdict in VERDICTS)
        kinds = sorted({kind for kind, _ in self.counts})
        lines = [head, *(self._row(kind, [kind]) for kind in kinds), self._row("all", kinds)]
        for signature, outcomes in sorted(self.failures.items(), key=lambda item: -len(item[1])):
            lines += ["", f"{len(outcomes)} times: {signature}"]
            lines += [f"  {self.line(outcome)}" for outcome in outcomes[:_MOST_LISTED]]
        return "\n".join(lines)

    def _row(self, name: str, kinds: Any) -> str:
        numbers = [sum(self.counts[kind, verdict] for kind in kinds) for verdict in VERDICTS]
        return f"{name:<20}" + "".join(f"{number:>10,}" for number in numbers)


def _signature(complaint: str) -> str:
    """Return the complaint without what differs from case to case."""
    return re.sub(r"\[[^\]]*\]|[-+]?\d[\d.e+-]*", "#", complaint)[:100]
