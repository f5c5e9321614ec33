"""Coverage of the whole target: exact gains, costs and mass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import coverage as coverage_kernels
from protobandit.kernels import greedy as greedy_kernels
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import CHUNK, Tile, Visit
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import Objective


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
class ExactCoverage(Objective):
    """The mean drop of d(target, nearest prototype) over every target row.

    Before the first prototype the gain of a source row is minus its mean distance. A constant could
    be added, but it would not change the order.

    Attributes
    ----------
    prototypes
        Source rows chosen so far.
    nearest, labels
        For each target row the distance to its nearest prototype, and the number of that prototype.
    costs
        The weighted mean of ``nearest`` after each prototype.
    """

    distances: DistanceSource
    weights: Doubles
    nearest: Floats
    labels: Ids
    prototypes: Ids
    costs: tuple[float, ...] = ()

    @classmethod
    def of(cls, oracle: Oracle) -> ExactCoverage:
        """Return the coverage of the problem without prototypes."""
        problem = oracle.problem
        return cls.over(oracle, weights_or_ones(problem.weights, len(problem.target)))

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
    def population(self) -> int:
        return len(self.nearest)

    @property
    def is_bounding(self) -> bool:
        return len(self.prototypes) > 0

    @property
    def has_read_target(self) -> bool:
        return True

    @property
    def exact_coverage(self) -> ExactCoverage:
        return self

    @property
    def mass(self) -> Doubles:
        """Return for each prototype the share of the target that is nearest to it."""
        share = np.bincount(self.labels, self.weights, minlength=len(self.prototypes))
        return np.asarray(share / share.sum(), dtype=np.float64)

    def open(self, arms: Ids, random: np.random.Generator) -> ExactCoverage:
        return self

    def pull(self, pull: Pull) -> Moments:
        """Return the exact gains of the arms; ``pull`` must be for the whole target."""
        assert pull.n == self.population, "exact gains need the whole target"
        parts = np.zeros((len(pull.arms), len(self.distances.groups)))
        is_first = len(self.prototypes) == 0

        def visit(tile: Tile) -> None:
            sums = np.zeros(len(tile.rows))
            weights, place = self.weights[tile.columns], (tile.matrix, tile.rows, tile.first)
            if is_first:
                coverage_kernels.costs(*place, weights, CHUNK, sums)
            else:
                coverage_kernels.gains(*place, self.nearest[tile.columns], weights, CHUNK, sums)
            parts[tile.positions, tile.group] += sums

        self.distances.scan(pull.arms, visit)
        # cumsum adds from left to right, so the bits do not depend on how groups are computed.
        total = np.cumsum(parts, axis=1)[:, -1] / self.weights.sum()
        if not np.isfinite(total).all():
            raise InvalidInput(
                f"The metric overflows {self.distances.dtype} on these rows of source and target. "
                f"Rescale them, or pass float64."
            )
        n = len(pull.arms)
        return Moments(np.full(n, pull.n), -total if is_first else total, np.zeros(n))

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
