"""Keep three arms in a hundred: a reconstruction of ABA (Hassidim, Kupfer, Singer 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds, Identification, Terms
from protobandit.search.arms.elimination import EliminationStage, Plan, eliminate
from protobandit.search.arms.pac import check_promise, rows_to_tell


@dataclass(frozen=True, kw_only=True)
class AggressiveElimination:
    """Pull all survivors on rows drawn anew, keep a small share of them, and repeat.

    This is a reconstruction: it stands for ABA of Hassidim, Kupfer and Singer (2020), an optimal
    elimination algorithm for learning a best arm, and meets the same bounds on error and cost, but
    its stages and constants are ours.

    Guarantee: with probability ``1 - delta`` the chosen arm is within ``nu`` of the best.
    Cost: for the default ``alpha`` and ``keep`` and delta <= 0.05 at most
    ``18 * n / nu**2 * ln(1 / delta)`` pulls of n arms (at most 0.89 of that for n up to a million),
    never more than one pass over the target, where the choice is exact.

    Proof. Stage s = 1, 2, ... has the tolerance e = (1 - alpha) * alpha**(s - 1) * nu and the error
    d = delta / 2**s; these sum to at most ``nu`` and ``delta``. It pulls its n survivors on
    m = ceil(2 / e**2 * ln((1 + 1 / keep) / d)) rows, drawn anew and so independent of how the
    survivors were found, and keeps ceil(keep * n). Call an arm bad if it is more than e below the
    best survivor, and let p = exp(-m * e**2 / 2). The stage loses more than e only if every arm it
    keeps is bad, with a mean at least the best survivor's; then either the best was
    under-estimated by e / 2, which has probability at most p (Hoeffding), or at least keep * n bad
    arms were over-estimated by e / 2; at most n * p of these are expected, so by Markov's
    inequality that has probability at most p / keep. Together p * (1 + 1 / keep) <= d. Once
    keep * n < 1 one arm is kept, on m = ceil(2 / e**2 * ln(n / d)) rows: the best or one of fewer
    than n bad arms is wrong by e / 2 with probability at most n * p <= d.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    alpha
        The ratio of one stage's tolerance to that of the stage before.
    keep
        The share of arms that survive a stage.
    """

    nu: float
    delta: float
    alpha: float = 0.35
    keep: float = 0.03

    def __post_init__(self) -> None:
        check_promise(self.nu, self.delta)
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"alpha={self.alpha} is not a ratio. Pass 0 < alpha < 1.")
        if not 0 < self.keep <= 0.5:
            raise InvalidInput(f"keep={self.keep} eliminates too little. Pass 0 < keep <= 0.5.")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return an arm within ``nu`` of the best, with probability ``1 - delta``."""
        return (yield from eliminate(self.plan(len(arms)), arms, terms))

    def plan(self, n_arms: int) -> Plan:
        """Return the stages that take ``n_arms`` down to one."""
        stages: list[EliminationStage] = []
        tolerance, error = (1 - self.alpha) * self.nu, self.delta / 2
        while n_arms > 1:
            is_last = self.keep * n_arms < 1
            odds = n_arms if is_last else 1 + 1 / self.keep
            n_keep = 1 if is_last else math.ceil(self.keep * n_arms)
            stages.append(EliminationStage(n_arms, rows_to_tell(tolerance, odds / error), n_keep))
            n_arms, tolerance, error = n_keep, self.alpha * tolerance, error / 2
        return stages
