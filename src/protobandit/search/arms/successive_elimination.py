"""Drop whatever is told apart from the best, batch by batch, each arm by its own spread.

Theory of operation
-------------------
All arms still in the game read the same order, in step. The first batch tells each arm's spread;
from then on its mean is taken to be right within ``sigma * sqrt(2 * ln(1 / d) / n)`` after n rows,
d being ``delta`` shared out among the arms, and, as the N rows come without replacement, within
sqrt(1 - n / N) of that. An arm whose upper end lies below the lower end of the best is dropped. An
arm that has seen the whole target is exact: its interval is a point.

Batches grow by a quarter once there are four of them, so that a pass over the target takes dozens
of turns instead of thousands; every search climbs the same steps, so that what one has computed the
next can look up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    top,
    unseen,
)

_WIDEST = 1e300  # so that times zero it is zero
_GROWTH = 4  # after so many batches a pull adds one row to as many


@dataclass(frozen=True, kw_only=True)
class SuccessiveElimination:
    """Pull the arms not yet told apart from the best, until they are or all is seen.

    Rewards may be any numbers, negative ones too.

    Status: heuristic. If every arm's rewards were sub-Gaussian with the spread that its first batch
    shows, an interval would miss its mean at one look with probability at most 2 d, d = delta / n
    for n arms, and the best arm would be chosen with probability 1 - 2 * delta * looks or more.
    (Were all intervals right, the best arm's upper end would never lie below another's lower end.)
    But the spread is an estimate, and zero for an arm none of whose rewards the first batch holds;
    and where rounds share one order, later arms depend on the rows by which earlier ones were
    chosen. So ``is_proven`` is True only when every arm has
    seen the whole target: then the choice is exact.
    Cost: about 8 * sigma**2 / gap**2 * ln(n / delta) pulls for an arm ``gap`` below the best, never
    more than one pass over the target.

    Reference: Tiwari, Zhang, Mayclin, Thrun, Piech, Shomorony (2020), BanditPAM, Algorithm 1.

    Parameters
    ----------
    delta
        The probability of error, shared out among the arms.
    batch
        How many rows every arm is pulled on at first.
    """

    delta: float = 0.001
    batch: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InvalidInput(
                f"delta={self.delta} is not a probability of error. Pass 0 < delta < 1, for "
                f"example 0.001."
            )
        if self.batch < 1:
            raise InvalidInput(f"batch={self.batch} rows cannot be pulled. Pass batch >= 1.")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the arms that are not told apart from the best, the best of them first."""
        if len(arms) <= terms.picks:
            return unseen(arms)
        rate = 2 * math.log(len(arms) / self.delta)
        seen = yield Pull(arms, self.n_rows(0, terms.population))
        count, mean = seen.count, seen.mean
        width = np.minimum(np.sqrt(rate * seen.spread), _WIDEST)
        is_proven = True
        while True:
            is_open = count < terms.population
            radius = width * np.sqrt(1 / count - 1 / terms.population)
            least = np.partition(mean - radius, -terms.picks)[-terms.picks]
            is_in = mean + radius >= least
            is_proven &= not is_open[~is_in].any()
            arms, count, mean, width = arms[is_in], count[is_in], mean[is_in], width[is_in]
            pulled = np.flatnonzero(is_open[is_in])
            if len(arms) <= terms.picks or len(pulled) == 0:
                break
            n = self.n_rows(int(count[pulled].max()), terms.population)
            seen = yield Pull(arms[pulled], n)
            count[pulled], mean[pulled] = seen.count, seen.mean
        is_proven = is_proven and bool((count == terms.population).all())
        chosen, means = top(arms, mean, terms.picks)
        return Choice(arms=chosen, means=means, is_proven=is_proven)

    def n_rows(self, count: int, population: int) -> int:
        """Return how many more rows an arm is pulled on that has seen ``count``."""
        return min(max(self.batch, count // _GROWTH), population - count)
