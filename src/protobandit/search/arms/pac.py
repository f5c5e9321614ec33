"""PAC parameters: an arm within ``nu`` of the best, with probability at least ``1 - delta``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput

# The number of rows is proportional to nu**-2, which must be a finite double.
_SMALLEST_NU = 1e-100


@dataclass(frozen=True, kw_only=True)
class Pac:
    """The tolerance ``nu`` and the probability of error ``delta`` of a strategy."""

    nu: float
    delta: float

    def __post_init__(self) -> None:
        if not (is_number(self.nu) and _SMALLEST_NU <= self.nu < math.inf):
            raise InvalidInput(
                f"nu={self.nu!r} is not a tolerance. Pass a finite number > 0, in units of a "
                f"reward, which lies in [0, 1]."
            )
        if not (is_number(self.delta) and 0 < self.delta < 1):
            raise InvalidInput(
                f"delta={self.delta!r} is not a probability of error. Pass 0 < delta < 1, for "
                f"example 0.05."
            )


def hoeffding_rows(tolerance: float, odds: float) -> int:
    """Return the smallest m with ``exp(-m * tolerance**2 / 2) <= 1 / odds``.

    By Hoeffding's inequality this bounds the probability that the mean of m rewards in [0, 1] is
    wrong by ``tolerance / 2`` to one side, and the probability that m paired differences in [-1, 1]
    with the mean ``-tolerance`` have a sum of at least 0. It also holds for rows drawn without
    replacement (Hoeffding 1963, Theorem 4).
    """
    return math.ceil(2 / tolerance**2 * math.log(odds))
