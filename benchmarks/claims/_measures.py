"""What several claims need: rows, runs, the paper's bound, and exponents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.paper._counting import paper_comparisons, recorded
from protobandit.methods import ProtoBandit

COLUMNS, _CENTRES, _PIECE = 64, 50, 10**5
EPSILON, DELTA = 0.2, 0.05
SHARE = 1 - 1 / math.e - EPSILON  # of f*, in the theorem


def mixture(n_rows: int, seed: int) -> Iterator[np.ndarray]:
    """Yield pieces of rows around 50 centres, the same centres for every seed."""
    centres = 2 * np.random.default_rng(0).standard_normal((_CENTRES, COLUMNS), dtype=np.float32)
    random = np.random.default_rng([1, seed])
    for start in range(0, n_rows, _PIECE):
        n = min(_PIECE, n_rows - start)
        rows = random.standard_normal((n, COLUMNS), dtype=np.float32)
        rows += centres[random.integers(_CENTRES, size=n)]
        yield rows


def rows_of_mixture(n_rows: int, seed: int) -> np.ndarray:
    """Return rows of the mixture as one array."""
    return np.concatenate([*mixture(n_rows, seed)])


@dataclass(frozen=True)
class Run:
    """A selection, and what it took: by our count, by the paper's rule, and in seconds.

    Judging the outcome on fresh rows is not part of the search and is not in ``evaluations``.
    """

    selection: pb.Selection
    evaluations: int
    comparisons: int
    seconds: float
    cpu_seconds: float


def run(source: Any, target: Any, *, k: int, method: Any, seed: int, **options: Any) -> Run:
    """Run a method once, counting by both rules."""
    started, worked = perf_counter(), process_time()
    with recorded() as record:
        selection = pb.select(source, target, k=k, method=method, random_state=seed, **options)
    seconds, cpu_seconds = perf_counter() - started, process_time() - worked
    phases = selection.evaluations_by_phase
    comparisons = paper_comparisons(record.rounds)
    evaluations = phases["build"] + phases["swap"]
    return Run(selection, evaluations, comparisons, seconds, cpu_seconds)


def comparisons_bound(n_source: int, method: ProtoBandit, k: int) -> float:
    """Return the theorem's bound, 9 k^3 |S| (nu / (1 - e - 1/e))^-2 ln(1/e) ln(k / d)."""
    share = 1 - 1 / math.e - method.epsilon
    _, nu = method.steps(k)
    logs = math.log(1 / method.epsilon) * math.log(k / method.delta)
    return 9 * k**3 * n_source * (nu / share) ** -2 * logs


@dataclass(frozen=True)
class Exponent:
    """How a number grows: as the power ``mean``; ``spread`` is the deviation over the seeds."""

    mean: float
    spread: float

    def __str__(self) -> str:
        mean = round(self.mean, 2) + 0.0  # never -0.00
        return f"{mean:.2f} ± {self.spread:.2f}"


def exponent(x: Sequence[float], series: Sequence[Sequence[float]]) -> Exponent:
    """Fit a power law to each series (one a seed) by least squares of the logarithms."""
    slopes = [np.polyfit(np.log(x), np.log(y), 1)[0] for y in series]
    spread = float(np.std(slopes, ddof=1)) if len(slopes) > 1 else 0.0
    return Exponent(float(np.mean(slopes)), spread)


def by_seed(
    rows: Sequence[dict[str, Any]], x: str, y: str, **where: Any
) -> tuple[list[float], list[list[float]]]:
    """Return the values of ``x``, and for each seed those of ``y``, of the rows that match."""
    chosen = [row for row in rows if all(row[name] == value for name, value in where.items())]
    xs = sorted({row[x] for row in chosen})
    seeds = sorted({row["seed"] for row in chosen})
    at = {(row["seed"], row[x]): row[y] for row in chosen}
    return xs, [[at[seed, value] for value in xs] for seed in seeds]
