"""PAC parameters: an arm within ``nu`` of the best, with probability at least ``1 - delta``."""

from __future__ import annotations

import math

from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput

# The number of rows is proportional to nu**-2, which must be a finite double.
_SMALLEST_NU = 1e-100


def require_pac(nu: float, delta: float) -> None:
    """Raise unless ``nu`` is a tolerance and ``delta`` a probability of error."""
    if not (is_number(nu) and _SMALLEST_NU <= nu < math.inf):
        raise InvalidInput(
            f"nu={nu!r} is not a tolerance. Pass a finite number > 0, in units of a reward, which "
            f"lies in [0, 1]."
        )
    if not (is_number(delta) and 0 < delta < 1):
        raise InvalidInput(
            f"delta={delta!r} is not a probability of error. Pass 0 < delta < 1, for example 0.05."
        )


def hoeffding_rows(tolerance: float, odds: float) -> int:
    """Return the smallest m with ``exp(-m * tolerance**2 / 2) <= 1 / odds``.

    By Hoeffding's inequality this bounds the probability that the mean of m rewards in [0, 1] is
    wrong by ``tolerance / 2`` to one side, and the probability that m paired differences in [-1, 1]
    with the mean ``-tolerance`` have a sum of at least 0. It also holds for rows drawn without
    replacement (Hoeffding 1963, Theorem 4).
    """
    return math.ceil(2 / tolerance**2 * math.log(odds))
