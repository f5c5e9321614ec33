"""A certificate from drawn rows alone, under a condition that no sample can check.

Theory of operation
-------------------
Three samples are drawn by weight, independently of each other. On the *scouts* only the distances
to the selection are computed. They give tau, the largest of these distances, and the unit u, their
mean. On the *guides* every source row is evaluated; a guess at M* there gives the bet b. On the
*rows* every source row is evaluated, and the bet is made.

*The bet needs no condition.* Let A_j = min(D_j, tau) and X_j = (W_j - A_j) / u. X_j >= -tau / u for
every row of the target, also for those that were never drawn, because W_j >= 0. With b <= 0.9 u /
tau, the bound (1) of `protobandit.certificate.betting` holds for any data, and b does not depend on
the rows that it is used on. So with the probability asked for, the mean m of X is at least the
bound, and the best set costs E A + u m.

*The lower bound needs the first condition.* E A is not known. It is bounded from below by the mean
over the rows and the normal distribution, so the probability is approximate. Outliers that were
never drawn make E A larger than estimated; they make the lower bound loose, never wrong. (If the
cost is known, E A is the cost minus R, which the next paragraph bounds; then they matter here too.)

(A bet that does not respect the largest distance must round 1 + b X up where it would be negative.
That raises the lower bound exactly at the rows that matter most, and the bound is then wrong
however many rows are drawn.)

*The ratio needs the second one too.* The cost of the selection is E A + R, where R = E max(D - tau,
0) is what rows beyond tau add. The ratio is at most (E A + R) / (E A + u m), which decreases with
E A. R is bounded from above by its mean over the rows and the normal distribution. If no drawn row
is farther than tau, R is estimated as 0: an outlier that was never drawn cannot be seen. The
certificate names this condition. If the cost is known, E A = cost - R; a cost that is higher
than the rows can explain shows that outliers were missed, and R is then the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from protobandit.certificate.betting import (
    LARGEST_LOSS,
    Bound,
    best_bet_for,
    least_mean,
    value_function,
)
from protobandit.certificate.dual import DualSample, DualTable, dual_table, solve_dual
from protobandit.certificate.rigorous import assign_target
from protobandit.foundation.array_types import Doubles, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows

_NORMAL_SHARE: Final = 0.1  # of delta, for each of three statements about means


class _Mean(NamedTuple):
    """A mean over drawn rows, and its standard error."""

    value: float
    error: float


def asymptotic_bound(
    oracle: Oracle,
    prototypes: Ids,
    n_scouts: int,
    n_rows: int,
    n_guides: int,
    confidence: float,
    random: np.random.Generator,
    cost: float | None,
) -> Bound:
    """Draw rows by weight, and bet; ``cost`` is the cost of the selection if it is known.

    Cost: k evaluations per scout, and |S| per row and per guide.
    """
    problem, delta = oracle.problem, 1 - confidence
    scouts = assign_target(oracle, prototypes, _drawn(oracle, n_scouts, random))
    unit, farthest = scouts.cost, float(scouts.nearest.max())
    conditions = (
        f"the mean distance of {n_rows:,} drawn rows is close to normal",
        f"rows that are farther from the selection than all {n_scouts:,} rows drawn to measure its "
        f"cost add nothing to it (an outlier that was never drawn cannot be seen)",
    )
    if unit == 0:
        return Bound(
            kind="asymptotic",
            confidence=confidence,
            cost=0.0 if cost is None else cost,
            best=0.0,
            ratio=math.inf,
            n_rows=0,
        )
    penalty = -math.log((1 - 3 * _NORMAL_SHARE) * delta) / n_rows
    most = LARGEST_LOSS * unit / farthest

    def table_of(n: int, value: Callable[[Doubles, slice], Doubles]) -> DualTable:
        rows, counts = np.unique(_drawn(oracle, n, random), return_counts=True)
        sample = DualSample(rows=rows, weights=counts / n, value=value, largest=farthest)
        return dual_table(oracle, prototypes, sample)

    guide = table_of(n_guides, lambda gaps, cut: gaps / unit)
    guess = guide.least_values(solve_dual(oracle, guide, len(prototypes)).opened)
    bet = best_bet_for(np.maximum(guess, -farthest / unit), penalty, most)
    table = table_of(n_rows, value_function(unit, bet))
    # Rows of equal weight are drawn without replacement.
    left = 1 - n_rows / problem.n_target if problem.weights is None else 1.0
    z = NormalDist().inv_cdf(1 - _NORMAL_SHARE * delta)

    def mean(values: Doubles) -> _Mean:
        average = float(table.weights @ values)
        variance = float(table.weights @ (values - average) ** 2)
        return _Mean(average, z * math.sqrt(variance * left / n_rows))

    near = mean(np.minimum(table.nearest, farthest))
    beyond = mean(np.maximum(table.nearest - farthest, 0.0))
    tail = beyond.value + beyond.error
    if cost is None:
        lowest, total = near.value - near.error, mean(table.nearest)
    else:
        if cost > near.value + near.error + tail:
            tail = cost - (near.value - near.error)
        lowest, total = cost - tail, _Mean(cost, 0.0)
    best = lowest + unit * least_mean(
        solve_dual(oracle, table, len(prototypes)).bound, bet, penalty
    )
    return Bound(
        kind="asymptotic",
        confidence=confidence,
        cost=total.value,
        margin=total.error,
        best=best,
        ratio=(lowest + tail) / best if best > 0 else math.inf,
        n_rows=len(guide.weights) + len(table.weights),
        conditions=conditions,
    )


def _drawn(oracle: Oracle, n: int, random: np.random.Generator) -> Ids:
    return draw_rows(oracle.problem.n_target, oracle.problem.weights, n, random)
