"""How well prototypes represent the target, for every prefix at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows

ASSESSED_ROWS = 4096  # fresh rows on which the result of a sampled method is judged
_FAR = 5.0  # times the mean distance of the other rows
_FEW = 0.02  # of the weight; far rows are at most that many


@dataclass(frozen=True)
class FarRows:
    """The rows that lie much farther from their prototype than nearly all others.

    ``row_share`` is their share of the weight, ``cost_share`` their share of the cost.
    """

    row_share: float
    cost_share: float

    @staticmethod
    def among(nearest: Floats, weights: Doubles) -> FarRows:
        """Return the far rows among those with these distances to their nearest prototype.

        Far are the farthest rows, at most `_FEW` of the weight, as long as their distance is more
        than `_FAR` times the mean of all rows that are nearer.
        """
        order = np.argsort(nearest, kind="stable")[::-1]
        distances, weight = nearest[order].astype(np.float64), weights[order]
        share = np.cumsum(weight) / weight.sum()
        carried = np.cumsum(distances * weight)
        if not carried[-1] > 0 or not np.isfinite(carried[-1]):
            return FarRows(0.0, 0.0)
        rest = weight.sum() * (1 - share)
        left = np.maximum(carried[-1] - carried, 0.0)
        mean_of_rest = np.divide(left, rest, out=np.full(len(rest), np.inf), where=rest > 0)
        # With the farthest m rows left out, how do these compare with the mean of the rest?
        is_far = (distances > _FAR * mean_of_rest) & (share <= _FEW)
        if not is_far.any():
            return FarRows(0.0, 0.0)
        last = int(np.flatnonzero(is_far)[-1])
        return FarRows(float(share[last]), float(carried[last] / carried[-1]))


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The cost of each prefix, the mass of each prototype, and the error of the cost.

    ``error`` is the standard error of the last cost; 0.0 when all of the target was read. ``far``
    is what the farthest rows carry of the cost; None if it was not measured.
    """

    costs: Doubles
    mass: Doubles
    error: float
    n_rows: int
    far: FarRows | None = None


def assess(
    oracle: Oracle,
    prototypes: Ids,
    *,
    n_rows: int,
    random: np.random.Generator,
    is_endless: bool = False,
) -> Assessment:
    """Judge prototypes on ``n_rows`` fresh target rows drawn by weight, or on all there are.

    All rows of an endless target are a sample too.

    Cost: k evaluations per row, under the phase "assign".
    """
    problem = oracle.problem
    is_sample = n_rows < len(problem.target)
    if is_sample:
        ids = draw_rows(len(problem.target), problem.weights, n_rows, random)
    else:
        ids = np.arange(len(problem.target))
    weights = weights_or_ones(None if is_sample else problem.weights, len(ids))
    parts: dict[int, tuple[Doubles, Doubles]] = {}
    nearest = np.empty(len(ids))

    def visit(block: Floats, cut: slice) -> None:
        labels = block.argmin(axis=0)
        mass = np.bincount(labels, weights[cut], len(prototypes)).astype(np.float64)
        running = np.minimum.accumulate(block, axis=0).astype(np.float64)
        nearest[cut] = running[-1]
        parts[cut.start] = running @ weights[cut], mass

    with oracle.during("assign"):
        oracle.each_chunk(prototypes, visit, ids if is_sample else None)
    sums, mass = (np.sum([parts[at][i] for at in sorted(parts)], axis=0) for i in (0, 1))
    costs = np.minimum.accumulate(sums / weights.sum())  # equal sums may round differently
    return Assessment(
        costs=costs,
        mass=mass / mass.sum(),
        error=_standard_error(
            nearest, math.inf if is_endless else len(problem.target), problem.weights is None
        ),
        n_rows=len(ids),
        far=FarRows.among(nearest, weights),
    )


def assess_or_refuse(
    oracle: Oracle,
    prototypes: Ids,
    *,
    n_rows: int,
    random: np.random.Generator,
    is_endless: bool = False,
) -> Assessment:
    """Judge prototypes on target rows; raise `InvalidInput` if distances overflow."""
    result = assess(oracle, prototypes, n_rows=n_rows, random=random, is_endless=is_endless)
    if not np.isfinite(result.costs).all():
        raise InvalidInput(
            f"metric={oracle.problem.metric.name!r} overflows {oracle.dtype} on these rows. "
            f"Rescale them, or pass float64."
        )
    return result


def assess_prefix(
    oracle: Oracle, prototypes: Ids, *, is_exact: bool, random: np.random.Generator
) -> Assessment:
    """Judge prototypes on the whole target, or on as many fresh rows as a sampled method."""
    n_rows = len(oracle.problem.target) if is_exact else ASSESSED_ROWS
    with oracle.at_work():
        return assess_or_refuse(oracle, prototypes, n_rows=n_rows, random=random)


def _standard_error(nearest: Doubles, population: float, is_without_replacement: bool) -> float:
    n = len(nearest)
    if n >= population:
        return 0.0
    left = 1 - n / population if is_without_replacement else 1.0
    return float(np.std(nearest, ddof=1) * np.sqrt(left / n)) if n > 1 else float("nan")
