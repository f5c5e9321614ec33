"""A certificate that holds for any target, from a sample of rows and all nearest prototypes.

Theory of operation
-------------------
The distance D_j of every target row to the selection is computed first, so the cost c is exact. Let
s_j = (D_j + c) / 2. Row j is drawn with probability p_j = q_j s_j / c: the target is sorted by
nearest prototype and divided into n strata of probability 1/n, and one row is drawn from each,
independently of the others. X_j = (W_j - D_j) / s_j is greater than -2, and its mean under p is
m = (cost(M*) - c) / c. With b < 1/2 the bound (1) of `protobandit.certificate.betting` holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from protobandit.certificate.betting import (
    LARGEST_LOSS,
    Bound,
    best_bet,
    least_mean,
    no_cost,
    value_function,
)
from protobandit.certificate.dual import DualSample, dual_table, solve_dual
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import rows_at_shares

DEFAULT_VARIANCE: Final = 0.05  # of X, if it cannot be estimated
LEAST_VARIANCE: Final = 1e-3


def rigorous_bound(
    oracle: Oracle, prototypes: Ids, n_rows: int, confidence: float, random: np.random.Generator
) -> Bound:
    """Assign the target, draw rows by their distance to the selection, and bet.

    Cost: k |T| evaluations, and |S| per row.
    """
    assignment = assign_target(oracle, prototypes)
    if assignment.cost == 0:
        return no_cost(len(assignment.nearest))
    penalty = -math.log1p(-confidence) / n_rows
    bet = best_bet(penalty, assignment.variance, LARGEST_LOSS / 2)
    rows, counts = np.unique(assignment.draw(n_rows, random), return_counts=True)
    value = value_function(assignment.units[rows], bet)
    sample = DualSample(rows=rows, weights=counts / n_rows, value=value)
    table = dual_table(oracle, prototypes, sample)
    lowest = 1 + least_mean(solve_dual(oracle, table, len(prototypes)).bound, bet, penalty)
    return Bound(
        kind="rigorous",
        confidence=confidence,
        cost=assignment.cost,
        best=assignment.cost * lowest,
        ratio=1 / lowest if lowest > 0 else math.inf,
        n_rows=len(rows),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """Weight, distance to the nearest prototype, and its position, of every target row.

    ``contrast`` is the distance to the nearest even prototype minus the distance to the nearest odd
    one; None if there is only one prototype.
    """

    weights: Doubles
    nearest: Doubles
    labels: Ids
    contrast: Doubles | None

    @cached_property
    def cost(self) -> float:
        return float(self.weights @ self.nearest)

    @cached_property
    def units(self) -> Doubles:
        """Return s_j of each row."""
        return (self.nearest + self.cost) / 2

    @property
    def variance(self) -> float:
        """Return a guess at the variance of X: two halves of M differ more than M and M* do."""
        if self.contrast is None:
            return DEFAULT_VARIANCE
        squares = np.minimum((self.contrast / self.units) ** 2, 1.0)
        return max(float(squares @ (self.weights * self.units)) / self.cost / 3, LEAST_VARIANCE)

    def draw(self, n: int, random: np.random.Generator) -> Ids:
        """Return ``n`` rows, one from each stratum of the sorted target."""
        order = np.lexsort((self.nearest, self.labels))
        cumulative = np.cumsum((self.weights * self.units)[order])
        shares = (np.arange(n) + random.random(n)) / n
        rows: Ids = order[rows_at_shares(cumulative, shares)]
        return rows


def assign_target(oracle: Oracle, prototypes: Ids, rows: Ids | None = None) -> Assignment:
    """Compute the distances of all target rows to the prototypes; of draws ``rows`` if given.

    Draws have equal weights: they were drawn by weight.
    """
    n = oracle.problem.n_target if rows is None else len(rows)
    nearest, labels = np.empty(n), np.empty(n, dtype=np.int64)
    contrast = np.empty(n) if len(prototypes) > 1 else None

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        nearest[cut] = block.min(axis=0)
        if contrast is not None:
            contrast[cut] = block[::2].min(axis=0) - block[1::2].min(axis=0)

    oracle.each_chunk(prototypes, visit, rows)
    problem = oracle.problem
    weights = np.full(n, 1 / n) if rows is not None else problem.target_weights / problem.total
    return Assignment(weights=weights, nearest=nearest, labels=labels, contrast=contrast)
