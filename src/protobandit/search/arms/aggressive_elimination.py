"""Keep three percent of the arms: a reconstruction of ABA (Hassidim, Kupfer, Singer 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protobandit.foundation.checks import is_number, require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.elimination import EliminationStage, PacElimination, Plan
from protobandit.search.arms.pac import hoeffding_rows


@dataclass(frozen=True, kw_only=True)
class AggressiveElimination(PacElimination):
    """Pull all survivors on new rows, keep a small share of them, and repeat.

    This is a reconstruction of ABA of Hassidim, Kupfer and Singer (2020), an optimal elimination
    algorithm for learning a best arm. It satisfies the same bounds on error and cost, but its
    stages and constants are ours.

    Guarantee: with probability ``1 - delta`` the chosen arm is within ``nu`` of the best.
    Cost: for the default ``alpha`` and ``keep`` and delta <= 0.05 at most
    ``18 * n / nu**2 * ln(1 / delta)`` pulls of n arms (at most 0.89 of that for n up to a million),
    never more than one pass over the target, where the choice is exact.

    Proof. Stage s = 1, 2, ... has the tolerance e = (1 - alpha) * alpha**(s - 1) * nu and the error
    d = delta / 2**s; these sum to at most ``nu`` and ``delta``. It pulls its n survivors on
    m = ceil(2 / e**2 * ln((1 + 1 / keep) / d)) new rows, which are independent of how the survivors
    were found, and keeps ceil(keep * n). Call an arm bad if it is more than e below the best
    survivor, and let p = exp(-m * e**2 / 2). The stage loses more than e only if every arm it keeps
    is bad and has a mean of at least that of the best survivor. Then either the best was
    underestimated by e / 2, which has probability at most p (Hoeffding), or at least keep * n bad
    arms were overestimated by e / 2. The expected number of these is at most n * p, so by Markov's
    inequality this has probability at most p / keep. Together p * (1 + 1 / keep) <= d. Once
    keep * n < 1, one arm is kept, on m = ceil(2 / e**2 * ln(n / d)) rows: the best or one of fewer
    than n bad arms is wrong by e / 2 with probability at most n * p <= d.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    alpha
        The ratio of the tolerance of a stage to that of the stage before.
    keep
        The share of arms that survive a stage.
    """

    alpha: float = 0.35
    keep: float = 0.03

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.alpha, "alpha", above=0, below=1)
        if not (is_number(self.keep) and 0 < self.keep <= 0.5):
            raise InvalidInput(f"keep={self.keep!r} is not allowed. Pass 0 < keep <= 0.5.")

    def plan(self, n_arms: int) -> Plan:
        """Return the stages that reduce ``n_arms`` to one."""
        stages: list[EliminationStage] = []
        tolerance, error = (1 - self.alpha) * self.nu, self.delta / 2
        while n_arms > 1:
            is_last = self.keep * n_arms < 1
            odds = n_arms if is_last else 1 + 1 / self.keep
            n_keep = 1 if is_last else math.ceil(self.keep * n_arms)
            stages.append(EliminationStage(n_arms, hoeffding_rows(tolerance, odds / error), n_keep))
            n_arms, tolerance, error = n_keep, self.alpha * tolerance, error / 2
        return stages
