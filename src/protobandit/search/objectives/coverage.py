"""Coverage of the whole target: exact gains, costs and mass."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import coverage as coverage_kernels
from protobandit.kernels import greedy as greedy_kernels
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import CHUNK, Tile, Visit
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import CoverageObjective, ExactObjective


class DistanceSource(Protocol):
    """Returns exact distances: an oracle for the whole target, or a table for part of it."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the dtype of the distances."""
        ...

    @property
    def groups(self) -> list[slice]:
        """Return the groups of columns that are summed separately."""
        ...

    def scan(self, sources: Ids, visit: Visit) -> None:
        """Call ``visit`` with the distances of every target row to each of ``sources``."""
        ...

    def column(self, source: int) -> Floats:
        """Return the distances of every target row to one source row."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactCoverage(CoverageObjective):
    """The mean drop of d(target, nearest prototype) over every target row.

    Before the first prototype the gain of a source row is minus its mean distance. A constant could
    be added, but it would not change the order.
    """

    distances: DistanceSource

    @classmethod
    def of(cls, oracle: Oracle) -> ExactCoverage:
        """Return the coverage of the problem without prototypes."""
        return cls.over(oracle, oracle.problem.target_weights)

    @classmethod
    def over(cls, distances: DistanceSource, weights: Doubles) -> ExactCoverage:
        """Return the coverage of the target rows of a distance source, without prototypes."""
        n = len(weights)
        return cls(
            distances=distances,
            weights=weights,
            nearest=np.full(n, np.inf, dtype=distances.dtype),
            labels=np.full(n, -1, dtype=np.int64),
            prototypes=np.empty(0, dtype=np.int64),
        )

    @property
    def is_bounding(self) -> bool:
        return len(self.prototypes) > 0

    @property
    def exact_coverage(self) -> ExactCoverage:
        return self

    def pull(self, pull: Pull) -> Moments:
        """Return the exact gains of the arms; ``pull`` must be for the whole target."""
        assert pull.n == self.population, "exact gains need the whole target"
        return super().pull(pull)

    def values(self, arms: Ids) -> Doubles:
        is_first = len(self.prototypes) == 0
        nearest = None if is_first else self.nearest
        total = weighted_means(self.distances, arms, self.weights, nearest)
        if not np.isfinite(total).all():
            raise InvalidInput(
                f"The metric overflows {self.distances.dtype} on these rows of source and target. "
                f"Rescale them, or pass float64."
            )
        return -total if is_first else total

    def commit(self, arms: Ids) -> ExactCoverage:
        nearest, labels, costs = self.nearest.copy(), self.labels.copy(), list(self.costs)
        for label, arm in enumerate(arms, start=len(self.prototypes)):
            column = self.distances.column(int(arm))
            labels[column < nearest] = label
            np.minimum(nearest, column, out=nearest)
            costs.append(float(nearest.astype(np.float64) @ self.weights / self.weights.sum()))
        return replace(
            self,
            nearest=nearest,
            labels=labels,
            prototypes=np.append(self.prototypes, arms),
            costs=tuple(costs),
        )


def assigned_coverage(oracle: Oracle, prototypes: Ids) -> ExactCoverage:
    """Return the coverage of the whole target by prototypes, read in blocks of target rows.

    It is what `ExactCoverage.commit` returns; costs may differ in their last bits. Evaluations: k
    per target row.
    """
    weights = oracle.problem.target_weights
    n, k = len(weights), len(prototypes)
    nearest, labels = np.empty(n, dtype=oracle.dtype), np.empty(n, dtype=np.int64)
    sums = defaultdict[int, Doubles](lambda: np.zeros(k))

    def visit(block: Floats, cut: slice, part: int) -> None:
        coverage_kernels.prefix_costs(block, weights[cut], nearest[cut], labels[cut], sums[part])

    n_parts = oracle.each_part(prototypes, visit)
    costs = np.sum([sums[part] for part in range(n_parts)], axis=0) / weights.sum()
    return ExactCoverage(
        distances=oracle,
        prototypes=prototypes,
        nearest=nearest,
        labels=labels,
        weights=weights,
        costs=tuple(np.minimum.accumulate(costs).tolist()),
    )


@dataclass(frozen=True, eq=False)
class Priced(ExactObjective):
    """The exact gains of a coverage, divided by the price of each arm."""

    coverage: ExactCoverage
    prices: Doubles

    @property
    def population(self) -> int:
        return self.coverage.population

    @property
    def is_bounding(self) -> bool:
        return self.coverage.is_bounding

    @property
    def exact_coverage(self) -> ExactCoverage:
        return self.coverage

    def values(self, arms: Ids) -> Doubles:
        assert self.is_bounding, "before the first prototype only the order of gains is known"
        gains: Doubles = self.coverage.values(arms) / self.prices[arms]
        return gains

    def commit(self, arms: Ids) -> Priced:
        return Priced(self.coverage.commit(arms), self.prices)


def weighted_means(
    distances: DistanceSource, arms: Ids, weights: Doubles, nearest: Floats | None = None
) -> Doubles:
    """Return for each arm the weighted mean of its distances, or by how much it lowers ``nearest``.

    Values other than distances are averaged in the same way.
    """
    parts = np.zeros((len(arms), len(distances.groups)))

    def visit(tile: Tile) -> None:
        sums, own = np.zeros(len(tile.rows)), weights[tile.columns]
        place = tile.matrix, tile.rows, tile.first
        if nearest is None:
            coverage_kernels.costs(*place, own, CHUNK, sums)
        else:
            coverage_kernels.gains(*place, nearest[tile.columns], own, CHUNK, sums)
        parts[tile.positions, tile.group] += sums

    distances.scan(arms, visit)
    # cumsum adds from left to right, so the bits do not depend on how groups are computed.
    means: Doubles = np.cumsum(parts, axis=1)[:, -1] / weights.sum()
    return means


def lazy_greedy(
    coverage: ExactCoverage, table: FullTable, arms: Ids, upper: Doubles, n: int
) -> tuple[Ids, Doubles]:
    """Return up to ``n`` of ``arms`` that greedy adds to the coverage of a table, and their gains.

    There are fewer if no arm has a gain. ``upper`` bounds the gains of all arms of the table.
    """
    chosen, gains = np.full(n, -1, dtype=np.int64), np.zeros(n)
    weights, nearest = coverage.weights, coverage.nearest.copy()
    total, n_rows = float(weights.sum()), len(nearest)
    heap = arms[np.argsort(-upper[arms], kind="stable")]
    n_computed = greedy_kernels.lazy_greedy(
        table.matrix, weights, total, nearest, upper.copy(), heap, chosen, gains
    )
    found = chosen >= 0
    table.oracle.look_up((n_computed + int(found.sum())) * n_rows)
    return chosen[found], gains[found]
