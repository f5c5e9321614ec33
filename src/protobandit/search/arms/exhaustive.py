"""Look at everything: the exact reference for all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Bounds, Choice, Identification, Pull, Terms, top


@dataclass(frozen=True, kw_only=True)
class Exhaustive:
    """Pull every arm on the whole target and take the best.

    Guarantee: the ``picks`` best arms; of equal arms those that come first.
    Cost: ``len(arms) * population`` pulls.
    """

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the best arms and, as bounds for the next round, the exact gain of every arm."""
        seen = yield Pull(arms, terms.population)
        chosen, means = top(arms, seen.mean, terms.picks)
        upper = uppers(arms, bounds)
        upper[arms] = seen.mean
        return Choice(arms=chosen, means=means, bounds=Bounds(upper))


def uppers(arms: Ids, bounds: Bounds | None) -> Doubles:
    """Return a copy of the upper bounds that covers all of ``arms``; infinity where unknown."""
    known = np.empty(0) if bounds is None else bounds.upper
    upper = np.full(max(len(known), arms.max(initial=-1) + 1), np.inf)
    upper[: len(known)] = known
    return upper
