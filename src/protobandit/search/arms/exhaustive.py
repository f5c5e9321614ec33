"""Pull every arm on every row: the exact reference for all other strategies."""

from __future__ import annotations

from dataclasses import dataclass

from protobandit.foundation.array_types import Ids
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    top,
    upper_bounds,
)


@dataclass(frozen=True, kw_only=True)
class Exhaustive:
    """Pull every arm on the whole target and take the best.

    Guarantee: the ``picks`` best arms; of equal arms, the first ones.
    Cost: ``len(arms) * population`` pulls.
    """

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the best arms, and the exact gain of every arm as bounds for the next round."""
        seen = yield Pull(arms, terms.population)
        chosen, means = top(arms, seen.mean, terms.picks)
        upper = upper_bounds(arms, bounds)
        upper[arms] = seen.mean
        return Choice(arms=chosen, means=means, bounds=Bounds(upper))
