"""What several claims need: rows, runs, the paper's bound, and exponents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.claims._caps import Caps, watched_caps
from benchmarks.paper._counting import paper_comparisons, recorded
from protobandit.methods import ProtoBandit

COLUMNS, CLUSTERS, _PIECE = 64, 50, 10**5
EPSILON, DELTA = 0.2, 0.05
SHARE = 1 - 1 / math.e - EPSILON  # of f*, in the theorem
_AT_ONCE = 4096  # target rows, where all distances are looked at
_ROUNDING = 1e-5  # more than what a float32 distance may be off by


def mixture(n_rows: int, seed: int) -> Iterator[np.ndarray]:
    """Yield pieces of rows around 50 centres, the same centres for every seed."""
    centres = 2 * np.random.default_rng(0).standard_normal((CLUSTERS, COLUMNS), dtype=np.float32)
    random = np.random.default_rng([1, seed])
    for start in range(0, n_rows, _PIECE):
        n = min(_PIECE, n_rows - start)
        rows = random.standard_normal((n, COLUMNS), dtype=np.float32)
        rows += centres[random.integers(CLUSTERS, size=n)]
        yield rows


def rows_of_mixture(n_rows: int, seed: int) -> np.ndarray:
    """Return rows of the mixture as one array."""
    return np.concatenate([*mixture(n_rows, seed)])


def largest_distance(source: np.ndarray, target: np.ndarray) -> float:
    """Return C, the largest euclidean distance of a target row to a source row, rounded up."""
    left = np.column_stack([source, (source**2).sum(axis=1), np.ones_like(source[:, 0])])
    most = 0.0
    for start in range(0, len(target), _AT_ONCE):
        rows = np.asarray(target[start : start + _AT_ONCE])
        right = np.column_stack([-2 * rows, np.ones_like(rows[:, 0]), (rows**2).sum(axis=1)])
        most = max(most, float((left @ right.T).max()))
    return (1 + _ROUNDING) * math.sqrt(most)


def scale_in_words(rows: Sequence[dict[str, Any]]) -> str:
    """Say which C protobandit was given in these runs."""
    given = [row["scale"] for row in rows if row.get("scale") is not None]
    if not given:
        return "protobandit estimates C, the unit of nu, from 256 rows of either side."
    return f"protobandit is given C = {max(given):.4g}, the largest distance, as the unit of nu."


@dataclass(frozen=True)
class Run:
    """A selection, and what it took: by our count, by the paper's rule, and in seconds.

    Judging the outcome on fresh rows is not part of the search and is not in ``evaluations``.
    """

    selection: pb.Selection
    evaluations: int
    comparisons: int
    caps: Caps
    seconds: float
    cpu_seconds: float


def run(source: Any, target: Any, *, k: int, method: Any, seed: int, **options: Any) -> Run:
    """Run a method once, counting by both rules."""
    started, worked = perf_counter(), process_time()
    with watched_caps() as caps, recorded() as record:
        selection = pb.select(source, target, k=k, method=method, random_state=seed, **options)
    seconds, cpu_seconds = perf_counter() - started, process_time() - worked
    phases = selection.evaluations_by_phase
    comparisons = paper_comparisons(record.rounds)
    evaluations = phases["build"] + phases["swap"]
    return Run(selection, evaluations, comparisons, caps, seconds, cpu_seconds)


def comparisons_bound(n_source: int, method: ProtoBandit, k: int) -> float:
    """Return the theorem's bound, 9 k^3 |S| (nu / (1 - e - 1/e))^-2 ln(1/e) ln(k / d)."""
    share = 1 - 1 / math.e - method.epsilon
    _, nu = method.steps(k)
    logs = math.log(1 / method.epsilon) * math.log(k / method.delta)
    return 9 * k**3 * n_source * (nu / share) ** -2 * logs


@dataclass(frozen=True)
class Exponent:
    """How a number grows: as the powers ``local`` between neighbouring x, overall as ``fit``.

    Where local powers differ there is no power law, and ``fit``, the least-squares line through the
    logarithms, sums up one range of x. ``spread`` is its deviation over the seeds, which says
    nothing of how well it fits.
    """

    fit: float
    spread: float
    local: tuple[float, ...]

    def __str__(self) -> str:
        return f"{between(self.local)} (overall fit {short(self.fit)})"


def exponent(x: Sequence[float], series: Sequence[Sequence[float]]) -> Exponent:
    """Return the powers of each series (one a seed), and the mean of the seeds."""
    steps, logs = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(series, dtype=float))
    fits = [np.polyfit(steps, each, 1)[0] for each in logs]
    spread = float(np.std(fits, ddof=1)) if len(fits) > 1 else 0.0
    local = np.diff(logs.mean(axis=0)) / np.diff(steps)
    return Exponent(float(np.mean(fits)), spread, tuple(local.tolist()))


def between(values: Sequence[float]) -> str:
    """Return the least and the largest of some powers in words."""
    least, most = short(min(values)), short(max(values))
    return least if least == most else f"between {least} and {most}"


def short(value: float) -> str:
    """Return a power with two decimals, never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def by_seed(
    rows: Sequence[dict[str, Any]], x: str, y: str, **where: Any
) -> tuple[list[float], list[list[float]]]:
    """Return the values of ``x``, and for each seed those of ``y``, of the rows that match."""
    chosen = [row for row in rows if all(row[name] == value for name, value in where.items())]
    xs = sorted({row[x] for row in chosen})
    seeds = sorted({row["seed"] for row in chosen})
    at = {(row["seed"], row[x]): row[y] for row in chosen}
    return xs, [[at[seed, value] for value in xs] for seed in seeds]
