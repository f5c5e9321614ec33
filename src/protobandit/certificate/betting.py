"""The betting bound: what the certificates that draw rows have in common.

Theory of operation
-------------------
M is the selection, D_j the distance of target row j to it, q_j the weight of the row (the weights
sum to 1) and c = sum of q_j D_j its cost. M* is a best set of k source rows, W_j the distance of
row j to it.

*One set, no union bound.* M* is unknown, but it is one set, fixed before any row is drawn here. So
for any function of W_j, the mean over the drawn rows is an ordinary sample mean. No union bound
over source rows or over sets is needed. Whichever set M* is, its mean over these rows is at least
the smallest mean that any k source rows reach on them. That minimum is a k-median problem on the
drawn rows. `solve_dual` bounds it from below, and its prices may be tuned on the same rows. (Mak,
Morton and Wood 1999 bound the optimum of a stochastic programme in this way.)

*Betting.* Let X be a function of the row with mean m, b > 0 fixed before the rows are drawn, and
1 + b X >= 0 for every row of the target. For n independent draws, E prod (1 + b X_t) = (1 + b m)^n.
If the draws are one from each of n strata of equal probability, with means m_t, the expectation is
prod (1 + b m_t) <= (1 + b m)^n, since a geometric mean is at most the arithmetic mean. If n
distinct rows are drawn, it is at most (1 + b m)^n by Maclaurin's inequality for symmetric means. By
Markov's inequality, with probability at least 1 - delta,

    ln(1 + b m)  >=  mean_t ln(1 + b X_t)  -  ln(1 / delta) / n.                                 (1)

This is the betting bound of Waudby-Smith and Ramdas (2023), with the share b staked on each row. A
badly chosen b makes the bound loose, never wrong.

*From sets to rows.* Let X_t = (W_t - A_t) / s_t, with A_t and s_t > 0 that do not depend on M*.
y_ti = ln(1 + b (d(t, i) - A_t) / s_t) / b increases with d, so ln(1 + b X_t) / b is the smallest
y_ti over i in M*, and its mean is at least the dual bound of the y_ti. With (1) this bounds m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles

# 1 + b X is at least 1 minus this number. At 1, one row could lose the whole stake.
LARGEST_LOSS = 0.9
_BETS = 2.0 ** np.arange(0, -16, -0.5)
_LARGEST_GAP = 1e30  # relative to the unit; float32 can hold it


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a proof found: the cost is within ``margin`` of ``cost``.

    The best set costs at least ``best``. The ratio of the two costs is at most ``ratio``.
    ``n_rows`` is the number of target rows on which every source row was evaluated.
    """

    kind: str
    confidence: float
    cost: float
    best: float
    ratio: float
    n_rows: int
    margin: float = 0.0
    conditions: tuple[str, ...] = ()


def no_cost(n_rows: int) -> Bound:
    """Return the bound of a selection that costs 0: no set costs less."""
    return Bound(kind="exact", confidence=1.0, cost=0.0, best=0.0, ratio=1.0, n_rows=n_rows)


def best_bet(penalty: float, variance: float, most: float) -> float:
    """Return the b <= most that minimises b v / 2 + penalty / b, the slack of (1)."""
    return min(math.sqrt(2 * penalty / variance), most)


def best_bet_for(sample: Doubles, penalty: float, most: float) -> float:
    """Return the b <= most that would give the highest bound on m if X were like ``sample``."""
    bets = most * _BETS
    logs = np.log1p(bets[:, None] * sample).mean(axis=1)
    return float(bets[np.argmax(np.expm1(logs - penalty) / bets)])


def value_function(units: Doubles | float, bet: float) -> Callable[[Doubles, slice], Doubles]:
    """Return the function that computes y from the differences d(t, i) - A_t."""

    def value(gaps: Doubles, cut: slice) -> Doubles:
        unit = units if isinstance(units, float) else units[cut, None]
        relative = np.minimum(gaps / unit, _LARGEST_GAP)
        values: Doubles = np.log1p(bet * relative) / bet
        return values

    return value


def least_mean(bound: float, bet: float, penalty: float) -> float:
    """Return the lower bound on m by (1)."""
    return math.expm1(bet * bound - penalty) / bet
