"""How well prototypes represent the target, for every prefix at once."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows
from protobandit.search.drivers.race.far_rows import FarRowScan

ASSESSED_ROWS = 4096  # fresh rows on which the result of a sampled method is judged
_FAR = 5.0  # times the mean distance of the other rows
_FEW = 0.02  # of the weight; far rows are at most that many
_MUCH = 0.08  # of the cost; some ordinary distributions have almost as much
_SCANNED_ROWS = 20_000  # more rows in which very far ones are looked for
_VERY_FAR = 15.0  # times the mean distance of the nearest rows
_MUCH_VERY_FAR = 0.05  # of the cost; of 10 %, less than 8 % is often measured, since rows are few
_NEAREST = 0.95  # share of rows whose distances are typical
_HEAVY = 10.0  # times the mean weight
_MUCH_HEAVY = 0.5  # of the cost
_EVALUATIONS_PER_SCAN = 32  # if the metric is expensive: evaluations of the search per row scanned
_VIEWED_ROWS = 256  # whose distances to all prototypes guide the scan
_SCANNED_AT_ONCE = 4096


@dataclass(frozen=True)
class FarRows:
    """The rows that lie much farther from their prototype than nearly all others.

    ``row_share`` is their share of the weight, ``cost_share`` their share of the cost, measured on
    ``n_rows`` rows. ``is_very_far`` is whether only very far rows count.
    """

    n_rows: int
    row_share: float
    cost_share: float
    is_very_far: bool = False

    @property
    def is_much(self) -> bool:
        """Return whether their share of the cost is so large that a cluster may be missing."""
        return self.cost_share > (_MUCH_VERY_FAR if self.is_very_far else _MUCH)

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
            return FarRows(len(nearest), 0.0, 0.0)
        rest = weight.sum() * (1 - share)
        left = np.maximum(carried[-1] - carried, 0.0)
        mean_of_rest = np.divide(left, rest, out=np.full(len(rest), np.inf), where=rest > 0)
        # With the farthest m rows left out, how do these compare with the mean of the rest?
        is_far = (distances > _FAR * mean_of_rest) & (share <= _FEW)
        if not is_far.any():
            return FarRows(len(nearest), 0.0, 0.0)
        last = int(np.flatnonzero(is_far)[-1])
        return FarRows(len(nearest), float(share[last]), float(carried[last] / carried[-1]))


@dataclass(frozen=True)
class HeavyRows:
    """The fewest rows of large weight that together have more than half of the cost.

    They are so few that they could have prototypes of their own, at most a quarter of all.
    """

    n_rows: int
    cost_share: float

    @staticmethod
    def among(
        rows: Ids, costs: Doubles, weights: Doubles | None, n_prototypes: int
    ) -> HeavyRows | None:
        """Return them, or None; ``costs`` belong to ``rows``, of which some may be repeated.

        ``weights`` are those of all target rows.
        """
        if weights is None:
            return None
        is_heavy = weights[rows] > _HEAVY * weights.mean()
        total, most = costs.sum(), max(1, n_prototypes // 4)
        _, same = np.unique(rows[is_heavy], return_inverse=True)
        largest = np.sort(np.bincount(same, costs[is_heavy]))[::-1][:most]
        shares = np.cumsum(largest) / total if total > 0 else np.zeros(0)
        n = int(np.searchsorted(shares, _MUCH_HEAVY, side="right"))
        return HeavyRows(n + 1, float(shares[n])) if n < len(shares) else None


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The cost of each prefix, the mass of each prototype, and the error of the cost.

    ``error`` is the standard error of the last cost; 0.0 when all of the target was read, and NaN
    if the sample does not show it. ``far`` is what the farthest rows carry of the cost; None if it
    was not measured. ``heavy`` are rows of large weight that carry most of it; None if there are
    none.
    """

    costs: Doubles
    mass: Doubles
    error: float
    n_rows: int
    far: FarRows | None = None
    heavy: HeavyRows | None = None


def assess(
    oracle: Oracle,
    prototypes: Ids,
    *,
    n_rows: int,
    random: np.random.Generator,
    is_endless: bool = False,
    scanned: Oracle | None = None,
) -> Assessment:
    """Judge prototypes on ``n_rows`` fresh target rows drawn by weight, or on all there are.

    All rows of an endless target are a sample too. 20,000 more rows of the target of ``scanned``
    are searched for rows very far from all prototypes: a cluster so small that it has no row in the
    sample matters only if it is very far.

    Cost: k evaluations per row, under the phase "assign", and one to five per row searched.
    """
    problem = oracle.problem
    is_sample = n_rows < len(problem.target)
    if is_sample:
        ids = draw_rows(len(problem.target), problem.weights, n_rows, random)
    else:
        ids = np.arange(len(problem.target))
    weights = weights_or_ones(None if is_sample else problem.weights, len(ids))
    k = len(prototypes)
    parts = defaultdict[int, Doubles](lambda: np.zeros((2, k)))  # sums of costs, and masses
    nearest = np.empty(len(ids))
    viewed: list[Floats] = []

    def visit(block: Floats, cut: slice, part: int) -> None:
        labels = block.argmin(axis=0)
        running = np.minimum.accumulate(block, axis=0).astype(np.float64)
        nearest[cut] = running[-1]
        if cut.start == 0:
            viewed.append(block[:, :_VIEWED_ROWS].copy())
        sums, mass = parts[part]
        sums += running @ weights[cut]
        np.add.at(mass, labels, weights[cut])

    with oracle.during("assign"):
        n_parts = oracle.each_part(prototypes, visit, ids if is_sample else None)
    sums, mass = np.sum([parts[part] for part in range(n_parts)], axis=0)
    costs = np.minimum.accumulate(sums / weights.sum())  # equal sums may round differently
    far = FarRows.among(nearest, weights)
    if scanned is not None and (is_sample or is_endless):
        beyond = _very_far_rows(scanned, prototypes, nearest, viewed[0], random)
        far = max(far, beyond, key=lambda each: (each.is_much, each.cost_share))
    return Assessment(
        costs=costs,
        mass=mass / mass.sum(),
        error=_standard_error(
            nearest, math.inf if is_endless else len(problem.target), problem.weights is None
        ),
        n_rows=len(ids),
        far=far,
        heavy=HeavyRows.among(ids, weights * nearest, problem.weights, len(prototypes)),
    )


def assess_or_refuse(
    oracle: Oracle,
    prototypes: Ids,
    *,
    n_rows: int,
    random: np.random.Generator,
    is_endless: bool = False,
    scanned: Oracle | None = None,
) -> Assessment:
    """Judge prototypes on target rows; raise `InvalidInput` if distances overflow."""
    result = assess(
        oracle,
        prototypes,
        n_rows=n_rows,
        random=random,
        is_endless=is_endless,
        scanned=scanned,
    )
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


def _very_far_rows(
    oracle: Oracle,
    prototypes: Ids,
    nearest: Doubles,
    viewed: Floats,
    random: np.random.Generator,
) -> FarRows:
    """Return the very far rows among those judged, with these distances, and more that are drawn.

    ``viewed`` are the distances of the prototypes to some of the rows judged.
    """
    problem = oracle.problem
    n_more = min(_SCANNED_ROWS, len(problem.target))
    if problem.metric.is_expensive:
        n_more = min(n_more, oracle.evaluations.total() // _EVALUATIONS_PER_SCAN)
    smallest = np.sort(nearest)[: max(1, round(_NEAREST * len(nearest)))]
    limit = _VERY_FAR * float(smallest.mean())
    if not np.isfinite(limit):
        return FarRows(len(nearest), 0.0, 0.0)
    scan = FarRowScan(oracle, prototypes, viewed, limit)
    rows = draw_rows(len(problem.target), problem.weights, n_more, random)
    with oracle.during("assign"):
        found = [
            scan.beyond(oracle.targets(rows[cut]))[1].min(axis=0).astype(np.float64)
            for cut in cuts(n_more, _SCANNED_AT_ONCE)
        ]
    is_far = nearest > limit
    distances = np.concatenate([nearest[is_far], *found])
    n = len(nearest) + n_more
    share, carried = len(distances) / n, float(distances.sum()) / n
    rest = float(nearest[~is_far].mean()) * (1 - share)
    cost_share = carried / (carried + rest) if carried > 0 else 0.0
    return FarRows(n, share, cost_share, is_very_far=True)


def _standard_error(nearest: Doubles, population: float, is_without_replacement: bool) -> float:
    n = len(nearest)
    if n >= population:
        return 0.0
    if nearest.min() == nearest.max():  # which does not show that other rows have this distance
        return math.nan
    left = 1 - n / population if is_without_replacement else 1.0
    return float(np.std(nearest, ddof=1) * np.sqrt(left / n))
