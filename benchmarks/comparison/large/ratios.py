"""Ratios between two contestants in the same rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.comparison.results import Result


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Cost and time of one contestant divided by those of another, over the rounds of both.

    The first of three numbers is the geometric mean, then come the smallest and the largest.
    """

    cost: tuple[float, float, float]
    time: tuple[float, float, float]
    n_rounds: int


class Fits:
    """The fits of one problem and one k that have a result, by contestant."""

    def __init__(self, results: Iterable[Result], problem: str, k: int) -> None:
        self._all = [r for r in results if (r.problem, r.k) == (problem, k)]
        self._done: dict[str, dict[int, Result]] = {}
        for result in self._all:
            if result.is_done:
                self._done.setdefault(result.contestant, {})[result.seed] = result

    def names(self) -> list[str]:
        """Return the contestants that finished."""
        return [*self._done]

    def of(self, contestant: str) -> list[Result]:
        """Return the finished fits of a contestant, one per seed."""
        return [*self._done.get(contestant, {}).values()]

    def reason(self, contestant: str) -> str:
        """Return why a contestant has no result."""
        reasons = [r.reason for r in self._all if r.contestant == contestant and r.reason]
        return reasons[0] if reasons else "not measured"

    def ratio(self, contestant: str, other: str) -> Ratio | None:
        """Return the ratio of two contestants, or None if they share no round."""
        mine, theirs = self._done.get(contestant, {}), self._done.get(other, {})
        seeds = [seed for seed in mine if seed in theirs]
        if not seeds:
            return None
        return Ratio(
            cost=_summary([(mine[s].cost or 0.0) / (theirs[s].cost or 1.0) for s in seeds]),
            time=_summary([(mine[s].seconds or 0.0) / (theirs[s].seconds or 1.0) for s in seeds]),
            n_rounds=len(seeds),
        )

    def growth(self, contestant: str) -> float | None:
        """Return the largest growth of memory in bytes."""
        return growth_bytes(self.of(contestant))


def growth_bytes(runs: Iterable[Result]) -> float | None:
    """Return the largest growth of memory during fits in bytes, None if unknown."""
    growths = [
        run.peak_mb - run.baseline_mb
        for run in runs
        if run.peak_mb is not None and run.baseline_mb is not None
    ]
    return max(growths) * 2**20 if growths else None


def _summary(values: list[float]) -> tuple[float, float, float]:
    return geometric_mean(values), min(values), max(values)
