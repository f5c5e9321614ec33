"""A bar, and what the parts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where the data and the rivals are, and how many seeds to run."""

    data: Path | None = None
    peers: Path | None = None
    seeds: int = 5


@dataclass(frozen=True)
class Bar:
    """A figure and where it has to lie."""

    name: str
    figure: float
    limit: float
    is_least: bool = False
    form: str = ".3g"

    @property
    def is_reached(self) -> bool:
        """Return whether the figure lies on the right side of its limit."""
        is_above = self.figure >= self.limit
        return is_above if self.is_least else self.figure <= self.limit

    def __str__(self) -> str:
        verdict = "OK" if self.is_reached else "not reached"
        sign = ">=" if self.is_least else "<="
        figure, limit = (format(number, self.form) for number in (self.figure, self.limit))
        return f"  {verdict:12} {self.name:58} {figure:>10}  ({sign} {limit})"


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call takes, and its result."""
    started = perf_counter()
    result = function()
    return perf_counter() - started, result


def lazybandit(
    source: Any, target: Any = None, *, k: int, effort: str | float, seed: int, **options: Any
) -> pb.Selection:
    """Return the flagship's selection."""
    method = pb.methods.LazyBandit(effort=effort)
    return pb.select(source, target, k=k, method=method, random_state=seed, **options)


def search_evaluations(selection: pb.Selection) -> int:
    """Return what the search itself computed; judging its result is not part of it."""
    phases = selection.evaluations_by_phase
    return phases["build"] + phases["swap"]


def by_seed(numbers: Any, form: str = ".3g") -> str:
    """Return the numbers of all seeds as words."""
    return " ".join(format(number, form) for number in np.asarray(numbers))
