"""The distances that rows of the same distribution have to the prototypes of a selection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids

_LOST_WEIGHT = 0.01  # the largest share of the weight that very large weights may lose


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference:
    """What new rows are compared with: distances of rows that had no part in the selection.

    Attributes
    ----------
    distances
        A few hundred distances, ascending, as those of independent draws from the target.
    evaluations
        The number of dissimilarities that were computed for them.
    """

    distances: Doubles
    evaluations: int

    @property
    def cost(self) -> float:
        """Return the mean distance."""
        return float(self.distances.mean())


def thinned(weights: Doubles, random: np.random.Generator) -> Ids:
    """Return rows in random order, each with a probability that is proportional to its weight."""
    order = random.permutation(len(weights))
    ascending = np.sort(weights)
    above = np.cumsum(ascending[::-1])[::-1] - ascending * np.arange(len(weights), 0, -1)
    largest = ascending[np.flatnonzero(above <= _LOST_WEIGHT * weights.sum())[0]]
    is_in = random.random(len(weights)) * largest < weights[order]
    return order[is_in] if is_in.any() else order[:0]


def effective_size(weights: Doubles) -> float:
    """Return how many rows of equal weight have a mean of the same precision."""
    return float(weights.sum() ** 2 / (weights**2).sum())
