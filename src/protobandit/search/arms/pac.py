"""The two numbers of a promise: within ``nu`` of the best, except with probability ``delta``."""

from __future__ import annotations

import math

from protobandit.foundation.errors import InvalidInput

# The number of rows goes as nu**-2, which must stay a finite double.
_SMALLEST_NU = 1e-100


def check_promise(nu: float, delta: float) -> None:
    """Raise `InvalidInput` unless ``nu`` is a tolerance and ``delta`` a probability of error."""
    if not _SMALLEST_NU <= nu < math.inf:
        raise InvalidInput(
            f"nu={nu} is not a tolerance. Pass nu > 0, in units of a reward, which is in [0, 1]."
        )
    if not 0 < delta < 1:
        raise InvalidInput(
            f"delta={delta} is not a probability of error. Pass 0 < delta < 1, for example 0.05."
        )


def rows_to_tell(tolerance: float, odds: float) -> int:
    """Return the m for which Hoeffding's ``exp(-m * tolerance**2 / 2)`` is at most ``1 / odds``.

    That is the probability that the mean of m rewards in [0, 1] is off by ``tolerance / 2`` to one
    side, and equally that m paired differences in [-1, 1] of mean ``-tolerance`` sum to 0 or more.
    Hoeffding (1963, Theorem 4): it holds as well for rows drawn without replacement.
    """
    return math.ceil(2 / tolerance**2 * math.log(odds))
