"""Another strategy on a random subset of the arms, as in stochastic greedy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import require_integer
from protobandit.search.arms.contract import Bounds, Identification, Strategy, Terms, choose_all


@dataclass(frozen=True, kw_only=True)
class Subset:
    """Draw ``size`` arms without replacement and let ``inner`` choose among them.

    Guarantee and cost: those of ``inner`` on the drawn arms. If no more than ``picks`` arms are
    drawn, there is nothing to decide and nothing is pulled; they are returned in the order drawn.
    Reference: Mirzasoleiman et al. (2015), Lazier than lazy greedy.

    Parameters
    ----------
    inner
        The strategy that decides.
    size
        How many arms to draw: at least ``picks``, and at most all arms.
    """

    inner: Strategy
    size: int

    def __post_init__(self) -> None:
        require_integer(self.size, "size")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the choice of the inner strategy among the drawn arms."""
        size = min(max(self.size, terms.picks), len(arms))
        drawn = terms.random.choice(len(arms), size=size, replace=False)
        if size <= terms.picks:
            return choose_all(arms[drawn], bounds)
        choice = yield from self.inner.identify(arms[np.sort(drawn)], terms, bounds)
        return replace(choice, is_of_all=size == len(arms))
