"""The same rows for every arm, as many as Hoeffding's inequality requires."""

from __future__ import annotations

from dataclasses import dataclass

from protobandit.foundation.array_types import Ids
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    choose_all,
    top,
)
from protobandit.search.arms.pac import Pac, hoeffding_rows


@dataclass(frozen=True, kw_only=True)
class Uniform(Pac):
    """Pull every arm on the same m rows and choose the best means.

    Guarantee: with probability ``1 - delta`` every chosen arm is within ``nu`` of the r-th best,
    and one of them is within ``nu`` of the best.
    Cost: ``m * n`` pulls for n arms and r picks, m = ceil(2 / nu**2 * ln(r * (n - r) / delta)),
    never more than one pass over the target, where the choice is exact.

    Proof. Consider pairs of an arm i of the r best and an arm j of the others that is more than
    ``nu`` below i. On m shared rows their paired differences lie in [-1, 1] and have a mean below
    ``-nu``. By Hoeffding (1963; Theorem 4 covers rows without replacement) such a sum reaches 0
    with probability at most ``exp(-m * nu**2 / 2) <= delta / (r * (n - r))``, and there are at most
    r (n - r) such pairs. If none does, and i is not chosen, then an arm that is not one of the r
    best is chosen, and each such arm, having at least the mean of i on the rows, is within ``nu``
    of i. For i any of the r best this is the first statement, for i the best arm the second.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    """

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return arms within ``nu`` of the r-th best, with probability ``1 - delta``."""
        if len(arms) <= terms.picks:
            return choose_all(arms)
        n_rows = min(self.n_rows(len(arms), terms.picks), terms.population)
        seen = yield Pull(arms, n_rows)
        chosen, means = top(arms, seen.mean, terms.picks)
        return Choice(arms=chosen, means=means)

    def n_rows(self, n_arms: int, picks: int = 1) -> int:
        """Return m, the number of rows that every arm is pulled on."""
        return hoeffding_rows(self.nu, picks * (n_arms - picks) / self.delta)
