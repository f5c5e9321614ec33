"""The kinds of cases, and one case by its seed and its number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.fuzz.attempts import Report
from benchmarks.fuzz.estimating import estimator
from benchmarks.fuzz.hostile import hostile_call, hostile_metric, hostile_query
from benchmarks.fuzz.saving import damaged_file, damaged_json, file
from benchmarks.fuzz.selecting import by_class, large, matrix, numbers, own_metric, texts

VERDICTS = ("accepted", "refused", "failed")

# Each kind with its share of the cases.
KINDS: dict[str, tuple[Callable[[np.random.Generator, Report], None], int]] = {
    "numbers": (numbers, 8),
    "own metric": (own_metric, 3),
    "large": (large, 1),
    "texts": (texts, 1),
    "matrix": (matrix, 1),
    "classes": (by_class, 1),
    "estimator": (estimator, 3),
    "file": (file, 2),
    "damaged file": (damaged_file, 3),
    "damaged JSON": (damaged_json, 2),
    "hostile call": (hostile_call, 5),
    "hostile query": (hostile_query, 2),
    "hostile metric": (hostile_metric, 1),
}


@dataclass
class Outcome:
    """How a case ended; ``text`` describes it."""

    number: int
    kind: str
    text: str = ""
    refusal: str | None = None
    complaints: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "failed" if self.complaints else "refused" if self.refusal else "accepted"


def kind_of(seed: int, number: int) -> str:
    """Return the kind of a case."""
    names = [name for name, (_, share) in KINDS.items() for _ in range(share)]
    return names[np.random.default_rng([seed, number, 0]).integers(len(names))]


def run_case(seed: int, number: int, *, kind: str | None = None) -> Outcome:
    """Run one case and return how it ended; ``kind`` replaces the kind that it would have."""
    name = kind_of(seed, number) if kind is None else kind
    report = Report()
    KINDS[name][0](np.random.default_rng([seed, number, 1]), report)
    return Outcome(number, name, report.text, report.refusal, report.complaints)
