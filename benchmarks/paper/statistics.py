"""Mean and spread over the runs of recorded and derived measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.paper.cells import Cell
from benchmarks.paper.grid import Grid, Key, Setting

MEASURES = (
    "comparisons",
    "evaluations",
    "f",
    "loss",
    "normalised_loss",
    "accuracy_nearest",
    "accuracy_barycentric",
)


@dataclass(frozen=True)
class Spread:
    """Count, mean, standard deviation (NaN for one number), minimum and maximum of numbers."""

    n: int
    mean: float
    sd: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        numbers = np.array(values, dtype=np.float64)
        sd = float(numbers.std(ddof=1)) if len(numbers) > 1 else math.nan
        return cls(
            len(numbers),
            float(numbers.mean()),
            sd,
            float(numbers.min()),
            float(numbers.max()),
        )


@dataclass(frozen=True)
class Results:
    """The statistics of the complete runs of a grid; ``n_target`` is by skew."""

    grid: Grid
    runs: tuple[int, ...]
    spreads: dict[Setting, dict[str, Spread]]
    n_source: int
    n_target: dict[int, int]

    def mean(self, measure: str, *setting: object) -> float:
        """Return the mean of a measure at a setting, given as the fields of `Setting`."""
        return self.spreads[Setting(*setting)][measure].mean  # type: ignore[arg-type]

    def fewer(self, measure: str, *setting: object) -> float:
        """Return the comparisons of SPOTgreedy divided by those of a setting."""
        at = Setting(*setting)  # type: ignore[arg-type]
        mine = self.mean(measure, *at)
        whole = self.mean(measure, at.skew, at.k, "spotgreedy")
        return whole / mine if mine else math.inf


def results(grid: Grid, cells: Iterable[Cell]) -> Results | None:
    """Return the statistics of the complete runs among these cells, or None without any."""
    by_key = {cell.key: cell for cell in cells}
    runs = tuple(
        run
        for run in sorted({key.run for key in by_key})
        if all(key in by_key for skew in grid.skews for key in grid.keys(run, skew))
    )
    if not runs:
        return None
    spreads: dict[Setting, dict[str, Spread]] = {}
    for skew in grid.skews:
        for key in grid.keys(runs[0], skew):
            group = [_measures(by_key, key._replace(run=run)) for run in runs]
            spreads[key.setting] = {
                name: Spread.of([each[name] for each in group]) for name in MEASURES
            }
    some = {skew: by_key[next(grid.keys(runs[0], skew))] for skew in grid.skews}
    n_target = {skew: cell.n_target for skew, cell in some.items()}
    return Results(grid, runs, spreads, next(iter(some.values())).n_source, n_target)


def _measures(by_key: dict[Key, Cell], key: Key) -> dict[str, float]:
    cell = by_key[key]
    others = {"epsilon": 0.0, "nu_step": 0.0}
    greedy = by_key[key._replace(method="spotgreedy", **others)]
    random = by_key[key._replace(method="random", **others)]
    return {
        **{name: getattr(cell, name) for name in MEASURES if hasattr(cell, name)},
        "loss": (greedy.f - cell.f) / greedy.f,
        "normalised_loss": normalised(greedy.f, cell.f, random.f),
    }


def normalised(greedy: float, f: float, random: float) -> float:
    """Return the loss against exact greedy divided by the loss of random rows."""
    return (greedy - f) / (greedy - random) if greedy != random else math.nan


def tidy(found: Results) -> str:
    """Return mean and spread of every measure at every setting as CSV."""
    lines = [",".join(("dataset", *Setting._fields, "measure", "n", "mean", "sd", "min", "max"))]
    for setting, measures in found.spreads.items():
        name = ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in setting)
        for measure, s in measures.items():
            numbers = ",".join(f"{v:.6g}" for v in (s.mean, s.sd, s.low, s.high))
            lines.append(f"{found.grid.name},{name},{measure},{s.n},{numbers}")
    return "\n".join(lines) + "\n"
