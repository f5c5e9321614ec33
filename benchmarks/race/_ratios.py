"""From fits to ratios: cost against the best, time against ours in the same round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from benchmarks.race._contestants import REFERENCE
from benchmarks.race._results import Result


@dataclass(frozen=True, kw_only=True)
class Line:
    """A contestant on a problem, over its seeds.

    ``cost_ratio`` is its mean cost over the lowest mean cost of all, ``time_ratio`` the geometric
    mean over rounds of its seconds over those of the reference in the same round, None if that has
    none. ``extra_mb`` is its peak of memory beyond what the process held before.
    """

    contestant: str
    cost: float
    cost_ratio: float
    seconds: float
    time_ratio: float | None
    extra_mb: float | None
    n_seeds: int
    n_prototypes: int


def lines(results: Iterable[Result], problem: str, k: int) -> list[Line]:
    """Return the contestants that ended on a problem, the lowest cost first."""
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
            seconds=geometric_mean(_figures(runs, "seconds")),
            time_ratio=_time_ratio(runs, reference),
            extra_mb=_extra_mb(runs),
            n_seeds=len(runs),
            n_prototypes=min(int(n) for n in _figures(runs, "n_prototypes")),
        )
        for name, runs in by_name.items()
    ]
    return sorted(found, key=lambda line: line.cost)


def _time_ratio(runs: list[Result], reference: dict[int, float | None]) -> float | None:
    ratios = [
        run.seconds / against
        for run in runs
        if run.seconds and (against := reference.get(run.seed))
    ]
    return geometric_mean(ratios) if ratios else None


def _extra_mb(runs: list[Result]) -> float | None:
    extras = [
        run.peak_mb - run.baseline_mb
        for run in runs
        if run.peak_mb is not None and run.baseline_mb is not None
    ]
    return max(extras) if extras else None


def _figures(runs: list[Result], name: str) -> list[float]:
    return [getattr(run, name) for run in runs]
