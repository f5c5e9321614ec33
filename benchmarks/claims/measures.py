"""Shared by several claims: rows, runs, the bound of the paper, and exponents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import largest_distance, search_evaluations
from benchmarks.common.counting import FullReads, paper_comparisons, recorded
from protobandit.methods import ProtoBandit

COLUMNS, CLUSTERS, _BLOCK = 64, 50, 10**5
EPSILON, DELTA = 0.2, 0.05
SHARE = 1 - 1 / math.e - EPSILON  # of f*, in the theorem
_ROUNDING = 1e-5  # larger than the relative error of a float32 distance


def mixture(n_rows: int, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks of rows around 50 centres, which are the same for every seed."""
    centres = 2 * np.random.default_rng(0).standard_normal((CLUSTERS, COLUMNS), dtype=np.float32)
    random = np.random.default_rng([1, seed])
    for start in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - start)
        rows = random.standard_normal((n, COLUMNS), dtype=np.float32)
        rows += centres[random.integers(CLUSTERS, size=n)]
        yield rows


def rows_of_mixture(n_rows: int, seed: int) -> np.ndarray:
    """Return rows of the mixture as one array."""
    return np.concatenate([*mixture(n_rows, seed)])


def upper_scale(source: np.ndarray, target: np.ndarray) -> float:
    """Return C, the largest distance, rounded up so that no float32 distance exceeds it."""
    return (1 + _ROUNDING) * largest_distance(source, target)


def scale_sentence(rows: Sequence[dict[str, Any]]) -> str:
    """Return a sentence about the C that protobandit used in these runs."""
    given = [row["scale"] for row in rows if row.get("scale") is not None]
    if not given:
        return "protobandit estimates C, the unit of nu, from 256 rows of source and target."
    return f"protobandit is given C = {max(given):.4g}, the largest distance, as the unit of nu."


@dataclass(frozen=True)
class Run:
    """A selection, its evaluations, its comparisons by the paper's rule, and its seconds.

    ``evaluations`` does not include those that estimate the cost of the result.
    """

    selection: pb.Selection
    evaluations: int
    comparisons: int
    full_reads: FullReads
    seconds: float
    cpu_seconds: float


def run(source: Any, target: Any, *, k: int, method: Any, seed: int, **options: Any) -> Run:
    """Run a method once, counting by both rules."""
    started, worked = perf_counter(), process_time()
    with recorded() as record:
        selection = pb.select(source, target, k=k, method=method, random_state=seed, **options)
    seconds, cpu_seconds = perf_counter() - started, process_time() - worked
    return Run(
        selection,
        search_evaluations(selection),
        paper_comparisons(record.rounds),
        record.full_reads,
        seconds,
        cpu_seconds,
    )


def comparisons_bound(n_source: int, method: ProtoBandit, k: int) -> float:
    """Return the theorem's bound, 9 k^3 |S| (nu / (1 - e - 1/e))^-2 ln(1/e) ln(k / d)."""
    share = 1 - 1 / math.e - method.epsilon
    _, nu = method.steps(k)
    logs = math.log(1 / method.epsilon) * math.log(k / method.delta)
    return 9 * k**3 * n_source * (nu / share) ** -2 * logs


@dataclass(frozen=True)
class Exponent:
    """The powers of x with which a number grows: ``local`` between neighbouring x, ``fit`` overall.

    If the local powers differ, there is no power law, and ``fit``, the least-squares slope of the
    logarithms, describes this range of x only. ``spread`` is its standard deviation over the seeds;
    it does not measure the quality of the fit.
    """

    fit: float
    spread: float
    local: tuple[float, ...]

    def __str__(self) -> str:
        return f"{between(self.local)} (overall fit {two_decimals(self.fit)})"


def exponent(x: Sequence[float], series: Sequence[Sequence[float]]) -> Exponent:
    """Return the exponent of several series, one per seed."""
    steps, logs = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(series, dtype=float))
    fits = [np.polyfit(steps, each, 1)[0] for each in logs]
    spread = float(np.std(fits, ddof=1)) if len(fits) > 1 else 0.0
    local = np.diff(logs.mean(axis=0)) / np.diff(steps)
    return Exponent(float(np.mean(fits)), spread, tuple(local.tolist()))


def between(values: Sequence[float]) -> str:
    """Return "between" the smallest and the largest power, or the power if they are equal."""
    low, high = two_decimals(min(values)), two_decimals(max(values))
    return low if low == high else f"between {low} and {high}"


def two_decimals(value: float) -> str:
    """Return a number with two decimals, never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def by_seed(
    rows: Sequence[dict[str, Any]], x: str, y: str, **where: Any
) -> tuple[list[float], list[list[float]]]:
    """Return the values of ``x``, and for each seed those of ``y``, in the matching rows."""
    chosen = [row for row in rows if all(row[name] == value for name, value in where.items())]
    xs = sorted({row[x] for row in chosen})
    seeds = sorted({row["seed"] for row in chosen})
    at = {(row["seed"], row[x]): row[y] for row in chosen}
    return xs, [[at[seed, value] for value in xs] for seed in seeds]
