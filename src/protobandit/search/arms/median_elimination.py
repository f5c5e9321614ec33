"""Drop the lower half of the arms in each stage (Even-Dar, Mannor, Mansour 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protobandit.search.arms.elimination import EliminationStage, PacElimination, Plan


@dataclass(frozen=True, kw_only=True)
class MedianElimination(PacElimination):
    """Pull all survivors on new rows, drop those below the median, and repeat.

    Guarantee: with probability ``1 - delta`` the chosen arm is within ``nu`` of the best.
    Cost: for n arms, n a power of two, at most ``n / nu**2 * (576 * ln(3 / delta) + 3594) + 2 * n``
    pulls (other n: as the next power of two), never more than one pass over the target, where the
    choice is exact.

    Proof. Stage s = 1, 2, ... has the tolerance e = nu / 4 * (3 / 4)**(s - 1) and the error
    d = delta / 2**s; these sum to at most ``nu`` and ``delta``. It pulls its n survivors on
    m = ceil(4 / e**2 * ln(3 / d)) new rows, which are independent of how the survivors were found,
    and keeps ceil(n / 2). A mean is wrong by e / 2 to one side with probability at most
    exp(-m * e**2 / 2) <= d / 3 (Hoeffding). The stage loses more than e only if the best survivor
    is underestimated by e / 2, or if n / 2 arms that are e below it are overestimated by e / 2.
    The expected number of these is at most n * d / 3, so by Markov's inequality this has
    probability at most 2 * d / 3. The cost is the sum of
    n / 2**(s - 1) * 64 / nu**2 * (16 / 9)**(s - 1) * (ln(3 / delta) + s * ln(2)), a series in
    (8 / 9)**(s - 1).

    Reference: Even-Dar, Mannor, Mansour (2006), Action elimination and stopping conditions for the
    multi-armed bandit and reinforcement learning problems, Algorithm 3.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    """

    def plan(self, n_arms: int) -> Plan:
        """Return the stages that reduce ``n_arms`` to one."""
        stages: list[EliminationStage] = []
        tolerance, error = self.nu / 4, self.delta / 2
        while n_arms > 1:
            n_rows = math.ceil(4 / tolerance**2 * math.log(3 / error))
            n_keep = (n_arms + 1) // 2
            stages.append(EliminationStage(n_arms, n_rows, n_keep))
            n_arms, tolerance, error = n_keep, 0.75 * tolerance, error / 2
        return stages
