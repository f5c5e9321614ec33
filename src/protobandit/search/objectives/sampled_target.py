"""The target as a sampled method sees it: rows drawn by weight, judged in units of a scale."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import (
    RandomOrder,
    TargetOrder,
    WeightedOrder,
    WeightedSampler,
)
from protobandit.search.objectives.seen_rows import SeenRows


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledTarget:
    """Where target rows come from, and how far they are from their nearest prototype.

    Before the first prototype every target row is ``scale`` away from its nearest. A distance above
    ``scale`` counts as ``scale``; ``clipped`` holds the numbers of pulls which that has changed.
    """

    oracle: Oracle
    scale: float
    prototypes: Ids
    seen: SeenRows
    lottery: WeightedSampler | None
    clipped: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, oracle: Oracle, *, scale: float) -> SampledTarget:
        """Return the target of the oracle's problem, represented by no prototype."""
        weights = oracle.problem.weights
        return cls(
            oracle=oracle,
            scale=scale,
            prototypes=np.empty(0, dtype=np.int64),
            seen=SeenRows(oracle),
            lottery=None if weights is None else WeightedSampler(weights),
        )

    @property
    def population(self) -> int:
        """Return the number of target rows."""
        return len(self.oracle.problem.target)

    def new_order(self, random: np.random.Generator) -> TargetOrder:
        """Return a fresh order of target rows: all of them once, or draws by weight."""
        if self.lottery is None:
            return RandomOrder(self.population, random)
        return WeightedOrder(self.lottery, random)

    def nearest(self, ids: Ids, targets: Operand) -> Floats:
        """Return how far these distinct target rows are from their nearest prototype."""
        if len(self.prototypes) == 0:
            return np.full(len(ids), self.scale, dtype=self.oracle.dtype)
        return self.seen.nearest(ids, targets, self.prototypes)

    def with_prototypes(self, arms: Ids) -> SampledTarget:
        """Return the target represented by these arms too."""
        return replace(self, prototypes=np.append(self.prototypes, arms))
