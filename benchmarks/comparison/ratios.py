"""Ratios: cost to the lowest cost, time to the time of the reference in the same round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, geometric_mean, stdev

from benchmarks.comparison.contestants import REFERENCE
from benchmarks.comparison.results import Result


@dataclass(frozen=True, kw_only=True)
class Line:
    """A contestant on a problem, over its seeds.

    ``cost_ratio`` is its mean cost divided by the lowest mean cost of all, ``cost_spread`` the
    standard deviation on the same scale (None for one seed). ``time_ratio`` is the geometric mean
    over the rounds of its seconds divided by those of the reference in the same round,
    ``time_range`` the smallest and the largest ratio; both are None without the reference.
    ``matrix_seconds`` is the mean time of its matrix, which is part of ``seconds``; ``extra_mb`` is
    its peak of memory above the memory of the process before the fit.
    """

    contestant: str
    cost: float
    cost_ratio: float
    cost_spread: float | None
    seconds: float
    matrix_seconds: float | None
    time_ratio: float | None
    time_range: tuple[float, float] | None
    extra_mb: float | None
    n_seeds: int
    n_prototypes: int


def lines(results: Iterable[Result], problem: str, k: int) -> list[Line]:
    """Return the contestants that finished a problem, the lowest cost first."""
    done = [r for r in results if (r.problem, r.k) == (problem, k) and r.is_done]
    reference = {r.seed: r.seconds for r in done if r.contestant == REFERENCE}
    by_name: dict[str, list[Result]] = {}
    for result in done:
        by_name.setdefault(result.contestant, []).append(result)
    costs = {name: fmean(_figures(runs, "cost")) for name, runs in by_name.items()}
    best = min(costs.values(), default=0.0)
    found = [
        Line(
            contestant=name,
            cost=costs[name],
            cost_ratio=costs[name] / best if best else 1.0,
            cost_spread=stdev(_figures(runs, "cost")) / best if best and len(runs) > 1 else None,
            seconds=geometric_mean(_figures(runs, "seconds")),
            matrix_seconds=_matrix_seconds(runs),
            time_ratio=geometric_mean(ratios) if (ratios := _ratios(runs, reference)) else None,
            time_range=(min(ratios), max(ratios)) if ratios else None,
            extra_mb=_extra_mb(runs),
            n_seeds=len(runs),
            n_prototypes=min(int(n) for n in _figures(runs, "n_prototypes")),
        )
        for name, runs in by_name.items()
    ]
    return sorted(found, key=lambda line: line.cost)


def _ratios(runs: list[Result], reference: dict[int, float | None]) -> list[float]:
    return [
        run.seconds / against
        for run in runs
        if run.seconds and (against := reference.get(run.seed))
    ]


def _matrix_seconds(runs: list[Result]) -> float | None:
    parts = [run.matrix_seconds for run in runs if run.matrix_seconds is not None]
    return fmean(parts) if parts else None


def _extra_mb(runs: list[Result]) -> float | None:
    extras = [
        run.peak_mb - run.baseline_mb
        for run in runs
        if run.peak_mb is not None and run.baseline_mb is not None
    ]
    return max(extras) if extras else None


def _figures(runs: list[Result], name: str) -> list[float]:
    return [getattr(run, name) for run in runs]
