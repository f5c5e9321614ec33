"""Give each round the same budget and keep the better half (Karnin, Koren, Somekh 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protobandit.search.arms.elimination import EliminationStage, PacElimination, Plan


@dataclass(frozen=True, kw_only=True)
class SequentialHalving(PacElimination):
    """Divide a budget equally among rounds, each of which drops half of its arms.

    In the paper the budget of pulls is given; here it is the smallest that proves the guarantee.

    Guarantee: with probability ``1 - delta`` the chosen arm is within ``nu`` of the best.
    Cost: for n arms at most ``24 * n * L / nu**2 * ln(2 * L / delta) + 2 * n`` pulls, n a power of
    two (other n: as the next power of two) and L = log2(n) the number of rounds; never more than
    one pass over the target, where the choice is exact.

    Proof. Round r has n_r arms and pulls each on the same m_r >= B / (L * n_r) new rows. Let
    e_r = sqrt(2 * ln(2 * L / delta) / m_r). For an arm that is more than e_r below the best of the
    round, the paired differences to the best lie in [-1, 1] and have a mean below -e_r. So its mean
    is at least that of the best with probability at most exp(-m_r * e_r**2 / 2) = delta / (2 * L)
    (Hoeffding). The round loses more than e_r only if this happens for all n_r / 2 arms that it
    keeps. By Markov's inequality that has probability at most delta / L. With
    B = 2 * L * ln(2 * L / delta) * (sum of sqrt(n_r))**2 / nu**2 the e_r sum to at most ``nu``. The
    cost is B, and rounding up adds at most one row per arm and round. For powers of two the sum of
    sqrt(n_r) is below sqrt(n) / (1 - sqrt(1 / 2)), whose square is below 12 * n.

    Reference: Karnin, Koren, Somekh (2013), Almost optimal exploration in multi-armed bandits.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    """

    def plan(self, n_arms: int) -> Plan:
        """Return the rounds that reduce ``n_arms`` to one."""
        sizes = []
        while n_arms > 1:
            sizes.append(n_arms)
            n_arms = (n_arms + 1) // 2
        rounds = len(sizes)
        if rounds == 0:
            return []
        roots = sum(math.sqrt(size) for size in sizes)
        share = 2 / self.nu**2 * math.log(2 * rounds / self.delta) * roots**2  # B / L
        keeps = [*sizes[1:], 1]
        return [
            EliminationStage(n, math.ceil(share / n), m) for n, m in zip(sizes, keeps, strict=True)
        ]
