"""Coverage of the whole target: exact gains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from protobandit import kernels
from protobandit._errors import InvalidInput
from protobandit._oracle import CHUNK, Oracle, Tile
from protobandit._typing import Doubles, Floats, Ids
from protobandit.arms import Moments, Pull


@dataclass(frozen=True, kw_only=True, eq=False)
class Coverage:
    """The mean drop of d(target, nearest prototype), over every target row.

    Before the first prototype a row's worth is minus its mean distance: no constant is needed, and
    none could change the order.

    Attributes
    ----------
    prototypes
        Source rows chosen so far.
    nearest, labels
        For each target row the distance to its nearest prototype, and which of them that is.
    costs
        The weighted mean of ``nearest`` after each prototype.
    """

    oracle: Oracle
    weights: Doubles
    nearest: Floats
    labels: Ids
    prototypes: Ids
    costs: tuple[float, ...] = ()

    @classmethod
    def of(cls, oracle: Oracle) -> Coverage:
        """Return the coverage of the oracle's problem by no prototype."""
        problem = oracle.problem
        n = len(problem.target)
        return cls(
            oracle=oracle,
            weights=np.ones(n) if problem.weights is None else problem.weights,
            nearest=np.full(n, np.inf, dtype=oracle.dtype),
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
    def mass(self) -> Doubles:
        """Return the share of the target that each prototype stands for."""
        share = np.bincount(self.labels, self.weights, minlength=len(self.prototypes))
        return np.asarray(share / share.sum(), dtype=np.float64)

    def open(self, arms: Ids, random: np.random.Generator) -> Coverage:
        return self

    def pull(self, pull: Pull) -> Moments:
        """Return the exact worth of the arms; ``pull`` must ask for the whole target."""
        assert pull.n == self.population, "exact coverage is only known over the whole target"
        parts = np.zeros((len(pull.arms), len(self.oracle.groups)))
        is_first = len(self.prototypes) == 0

        def visit(tile: Tile) -> None:
            sums = np.zeros(len(tile.rows))
            weights, place = self.weights[tile.columns], (tile.matrix, tile.rows, tile.first)
            if is_first:
                kernels.costs(*place, weights, CHUNK, sums)
            else:
                kernels.gains(*place, self.nearest[tile.columns], weights, CHUNK, sums)
            parts[tile.positions, tile.group] += sums

        self.oracle.scan(pull.arms, visit)
        # The running sum adds left to right: bits do not depend on how many groups share the work.
        total = np.cumsum(parts, axis=1)[:, -1] / self.weights.sum()
        if not np.isfinite(total).all():
            raise InvalidInput(
                f"metric={self.oracle.problem.metric.name!r} overflows {self.oracle.dtype} on these "
                f"rows. Rescale them, or pass float64."
            )
        n = len(pull.arms)
        return Moments(np.full(n, pull.n), -total if is_first else total, np.zeros(n))

    def commit(self, arms: Ids) -> Coverage:
        nearest, labels, costs = self.nearest.copy(), self.labels.copy(), list(self.costs)
        with self.oracle.during("assign"):
            for label, arm in enumerate(arms, start=len(self.prototypes)):
                kernels.absorb(self.oracle.column(int(arm)), label, nearest, labels)
                costs.append(float(nearest.astype(np.float64) @ self.weights / self.weights.sum()))
        return replace(
            self,
            nearest=nearest,
            labels=labels,
            prototypes=np.append(self.prototypes, arms),
            costs=tuple(costs),
        )

    def gains(self, means: Doubles) -> Doubles:
        return means
