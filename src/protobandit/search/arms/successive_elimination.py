"""Drop arms whose confidence interval lies below that of the best, batch by batch.

Theory of operation
-------------------
All remaining arms read the same order, at the same positions. The first batch estimates the
variance of each arm. From then on the error of its mean after n rows is assumed to be at most
``sigma * sqrt(2 * ln(1 / d) / n)``, where d is ``delta`` divided by the number of arms, times
sqrt(1 - n / N) because the N rows are read without replacement. An arm whose upper end lies below
the lower end of the best is dropped. An arm that has read the whole target is exact: its interval
is a point.

After four batches, batches grow by a quarter, so that a pass over the target takes dozens of pulls
instead of thousands. Every search uses the same steps, so that the next one can look up what an
earlier one computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import require_integer, require_number
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    choose_all,
    top,
)

_WIDEST = 1e300  # not infinity, because infinity times zero is NaN
_GROWTH = 4  # after this many batches, a pull adds one row for every four


@dataclass(frozen=True, kw_only=True)
class SuccessiveElimination:
    """Pull the arms whose interval overlaps that of the best, until none does or all rows are read.

    Rewards may be any numbers, also negative ones.

    Status: heuristic. If the rewards of every arm were sub-Gaussian with the variance of its first
    batch, an interval would miss its mean at one check with probability at most 2 d, d = delta / n
    for n arms, and the best arm would be chosen with probability at least 1 - 2 * delta * checks.
    (If all intervals are correct, the upper end of the best arm never lies below the lower end of
    another.) But the variance is an estimate, and it is zero for an arm that has no reward in the
    first batch. And if rounds share one order, later arms depend on the rows by which earlier ones
    were chosen. So ``is_proven`` is True only if every arm has read the whole target: then the
    choice is exact.
    Cost: about 8 * sigma**2 / gap**2 * ln(n / delta) pulls for an arm ``gap`` below the best, never
    more than one pass over the target.

    Reference: Tiwari, Zhang, Mayclin, Thrun, Piech, Shomorony (2020), BanditPAM, Algorithm 1.

    Parameters
    ----------
    delta
        The probability of error, divided equally among the arms.
    batch
        The number of rows of the first pull.
    """

    delta: float = 0.001
    batch: int = 100

    def __post_init__(self) -> None:
        require_number(self.delta, "delta", above=0, below=1)
        require_integer(self.batch, "batch")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the best ``terms.picks`` arms of those that were not dropped."""
        if len(arms) <= terms.picks:
            return choose_all(arms)
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
        """Return the number of rows of the next pull of an arm that has read ``count`` rows."""
        return min(max(self.batch, count // _GROWTH), population - count)
