"""Fewer arms: another strategy on a random subset of them, as in stochastic greedy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds, Identification, Strategy, Terms, unseen


@dataclass(frozen=True, kw_only=True)
class Subset:
    """Draw ``size`` arms without replacement and leave the decision among them to ``inner``.

    Guarantee and cost: those of ``inner`` on the drawn arms. When no more than ``picks`` are drawn
    there is nothing to decide and nothing is pulled; they come in the order drawn.
    Reference: Mirzasoleiman et al. (2015), Lazier than lazy greedy.

    Parameters
    ----------
    inner
        The strategy that decides.
    size
        How many arms to draw; never fewer than ``picks``, and all where there are no more.
    """

    inner: Strategy
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidInput(f"size={self.size} arms cannot be drawn. Pass size >= 1.")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the choice of the inner strategy among the drawn arms."""
        size = min(max(self.size, terms.picks), len(arms))
        drawn = terms.random.choice(len(arms), size=size, replace=False)
        if size <= terms.picks:
            return unseen(arms[drawn], bounds)
        choice = yield from self.inner.identify(arms[np.sort(drawn)], terms, bounds)
        return replace(choice, is_of_all=size == len(arms))
