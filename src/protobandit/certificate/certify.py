"""Prove how far a selection can be from the best one.

Theory of operation
-------------------
M is the selection, D_j the distance of target row j to it, q_j the weight of the row (the weights
sum to 1) and c = sum of q_j D_j its cost. M* is a best set of k source rows, W_j the distance of
row j to it.

*One set, no union bound.* M* is unknown, but it is one set, fixed before any row is drawn here. So
for any function of W_j, the mean over the drawn rows is an ordinary sample mean. No union bound
over source rows or over sets is needed. Whichever set M* is, its mean over these rows is at least
the smallest mean that any k source rows reach on them. That minimum is a k-median problem on the
drawn rows. `dual_bound` bounds it from below, and its prices may be tuned on the same rows. (Mak,
Morton and Wood 1999 bound the optimum of a stochastic programme in this way.)

*Sampling.* Let s_j = (D_j + c) / 2. Row j is drawn with probability p_j = q_j s_j / c: the target
is sorted by nearest prototype and divided into n strata of probability 1/n, and one row is drawn
from each, independently of the others. X_j = (W_j - D_j) / s_j is greater than -2, and its mean
under p is m = (cost(M*) - c) / c.

*Betting.* Let 0 < b < 1/2 be fixed in advance, and m_t the mean of X in stratum t. Then
E prod (1 + b X_t) = prod (1 + b m_t) <= (1 + b m)^n, since a geometric mean is at most the
arithmetic mean. By Markov's inequality, with probability at least 1 - delta,

    ln(1 + b m)  >=  mean_t ln(1 + b X_t)  -  ln(1 / delta) / n.                                 (1)

This is the betting bound of Waudby-Smith and Ramdas (2023), with the share b staked on each row. A
badly chosen b makes the bound loose, never wrong.

*From sets to rows.* y_ti = ln(1 + b (d(t, i) - D_t) / s_t) / b increases with d, so
ln(1 + b X_t) / b is the smallest y_ti over i in M*, and its mean is at least the dual bound of the
y_ti. With (1) this bounds m, and m gives the cost of M*.

*Asymptotic.* Rows are drawn by q, s_j is constant, D_j is computed for the drawn rows only, and the
central limit theorem replaces Markov's inequality: mean ln(1 + b X) is at most its expectation,
which is ln(1 + b m) - b^2 v / 2 up to b^3 (v is the variance of X), plus z b sqrt(v / n). Together
this is at most ln(1 + b m) + z^2 / 2n for every v. So (1) holds with z^2 / 2 in place of
ln(1 / delta), times 1 - n / |T| for rows drawn without replacement.

*Exact.* If every row is evaluated, nothing is random: y is the plain difference, the limit b = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from protobandit.certificate.certificate import Certificate, statement_of
from protobandit.certificate.dual import DualSample, dual_bound, dual_table, most_rows
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import optional_count, require_choice, require_number
from protobandit.foundation.generators import as_generator
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows, rows_at_shares
from protobandit.problem.problem import Problem

_LEAST_ROWS = 16  # below this number nothing is computed
# Rows by default: a quarter of the target, but at least the first number and at most the second
# plus the third per prototype.
_FEW_ROWS = 1024
_MANY_ROWS = 4096
_ROWS_PER_PROTOTYPE = 128
_LARGEST_BET = 0.45
_VARIANCE = 0.05  # of X, if it cannot be estimated
_LEAST_VARIANCE = 1e-3
_LARGEST_GAP = 1e30  # relative to the unit; float32 can hold it
_COST_SHARE = 0.1  # of delta, for the error of a cost that is itself estimated
_STREAM_KEY = 0xCE27


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """What to certify: the prototypes of a problem and their cost, which may be an estimate."""

    problem: Problem
    prototypes: Ids
    cost: float
    is_exact: bool

    @property
    def k(self) -> int:
        """Return the number of prototypes."""
        return len(self.prototypes)

    @property
    def n_pairs(self) -> int:
        """Return the number of all dissimilarities."""
        return self.problem.n_source * self.problem.n_target

    def n_assigned(self, kind: str) -> int:
        """Return the evaluations that a kind needs before the first row is drawn."""
        return self.k * self.problem.n_target if kind == "rigorous" else 0


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """The cost is within ``margin`` of ``cost``; the best set costs at most ``drop`` less."""

    kind: str
    confidence: float
    cost: float
    drop: float
    n_rows: int
    margin: float = 0.0
    conditions: tuple[str, ...] = ()


def certify(
    solution: Solution,
    *,
    confidence: Any,
    kind: Any,
    evaluations: Any,
    random_state: Any,
    n_jobs: int | None,
) -> Certificate:
    """Return a `Certificate`; if nothing is proven, its statement says why.

    Cost: |S| evaluations per row, and for the rigorous kind k |T| more.
    """
    require_number(confidence, "confidence", above=0, below=1)
    require_choice(kind, "kind", KINDS)
    budget = optional_count(evaluations, "evaluations")
    random = _independent_generator(random_state)
    oracle = Oracle(solution.problem, n_jobs=n_jobs)
    n_target = solution.problem.n_target
    if solution.is_exact and solution.cost == 0:
        return _certificate(_zero_cost(n_target), solution.k, evaluations=0)
    n_rows = _rows_within(solution, kind, budget)
    if budget is not None and n_rows < min(_LEAST_ROWS, n_target):
        return _budget_too_small(solution, kind, float(confidence), budget)
    prove = _exact if n_rows == n_target else KINDS[kind]
    with oracle.at_work(), oracle.during("certify"):
        bound = prove(oracle, solution, n_rows, float(confidence), random)
    return _certificate(bound, solution.k, oracle.evaluations["certify"])


def _independent_generator(random_state: Any) -> np.random.Generator:
    """Return a generator that is independent of the one of a search with the same seed.

    The drawn rows must not be those on which the search chose the prototypes.
    """
    seeds = as_generator(random_state).integers(2**63, size=4)
    return np.random.default_rng([_STREAM_KEY, *seeds.tolist()])


def _rows_within(solution: Solution, kind: str, budget: int | None) -> int:
    """Return on how many rows to evaluate every source row; all rows make the bound exact."""
    n_source, n_target = solution.problem.n_source, solution.problem.n_target
    if budget is None:
        many = _MANY_ROWS + _ROWS_PER_PROTOTYPE * solution.k
        wanted = max(_FEW_ROWS, min(n_target // 4, many))
        is_all = solution.n_assigned(kind) + wanted * n_source >= solution.n_pairs
    else:
        wanted = max(0, budget - solution.n_assigned(kind)) // n_source
        is_all = budget >= solution.n_pairs
    most = most_rows(n_source, solution.k)
    return n_target if is_all and n_target <= most else min(wanted, most, n_target - 1)


# -- proofs ---------------------------------------------------------------------------------------


def _exact(
    oracle: Oracle, solution: Solution, n_rows: int, confidence: float, random: np.random.Generator
) -> _Bound:
    """Compute every dissimilarity; the result is not random."""
    unit = solution.cost or 1.0
    sample = DualSample(
        rows=None,
        weights=_normalised_weights(solution.problem),
        value=_value_function(np.full(n_rows, unit), 0.0),
    )
    table = dual_table(oracle, solution.prototypes, sample)
    drop = min(-unit * dual_bound(table, solution.k), table.cost)
    return _Bound(kind="exact", confidence=1.0, cost=table.cost, drop=drop, n_rows=n_rows)


def _rigorous(
    oracle: Oracle, solution: Solution, n_rows: int, confidence: float, random: np.random.Generator
) -> _Bound:
    """Assign the target, draw rows by their distance to the selection, and bet."""
    assignment = _assign_target(oracle, solution.prototypes)
    if assignment.cost == 0:
        return _zero_cost(len(assignment.nearest))
    penalty = -math.log1p(-confidence) / n_rows
    bet = _best_bet(penalty, assignment.variance)
    rows, counts = np.unique(assignment.draw(n_rows, random), return_counts=True)
    value = _value_function(assignment.units[rows], bet)
    sample = DualSample(rows=rows, weights=counts / n_rows, value=value)
    table = dual_table(oracle, solution.prototypes, sample)
    return _Bound(
        kind="rigorous",
        confidence=confidence,
        cost=assignment.cost,
        drop=-assignment.cost * _least_mean(dual_bound(table, solution.k), bet, penalty),
        n_rows=len(rows),
    )


def _asymptotic(
    oracle: Oracle, solution: Solution, n_rows: int, confidence: float, random: np.random.Generator
) -> _Bound:
    """Draw rows by weight, and use the normal approximation."""
    problem = solution.problem
    unit, cost_share = solution.cost or 1.0, 0.0 if solution.is_exact else _COST_SHARE
    # The finite population correction: rows of equal weight are drawn without replacement.
    unseen = 1 - n_rows / problem.n_target if problem.weights is None else 1.0
    z = max(NormalDist().inv_cdf(1 - (1 - cost_share) * (1 - confidence)), 0.0)
    penalty = z**2 / 2 * unseen / n_rows
    bet = _best_bet(penalty, _VARIANCE)
    drawn = draw_rows(problem.n_target, problem.weights, n_rows, random)
    rows, counts = np.unique(drawn, return_counts=True)
    value = _value_function(np.full(len(rows), unit), bet)
    sample = DualSample(rows=rows, weights=counts / n_rows, value=value)
    table = dual_table(oracle, solution.prototypes, sample)
    cost, margin = solution.cost, 0.0
    if not solution.is_exact:
        cost = table.cost
        variance = float(table.weights @ (table.nearest - cost) ** 2)
        z = NormalDist().inv_cdf(1 - cost_share * (1 - confidence) / 2)
        margin = z * math.sqrt(variance * unseen / n_rows)
    return _Bound(
        kind="asymptotic",
        confidence=confidence,
        cost=cost,
        margin=margin,
        drop=-unit * _least_mean(dual_bound(table, solution.k), bet, penalty),
        n_rows=len(rows),
        conditions=(f"means over {n_rows:,} rows are close to normal",),
    )


KINDS: Final[dict[str, Callable[..., _Bound]]] = {
    "rigorous": _rigorous,
    "asymptotic": _asymptotic,
}


def _zero_cost(n_rows: int) -> _Bound:
    """Return the bound of a selection that costs 0: no set costs less."""
    return _Bound(kind="exact", confidence=1.0, cost=0.0, drop=0.0, n_rows=n_rows)


def _best_bet(penalty: float, variance: float) -> float:
    """Return the b that minimises b v / 2 + penalty / b, the slack of (1) for X of variance v."""
    return min(math.sqrt(2 * penalty / variance), _LARGEST_BET)


def _value_function(units: Doubles, bet: float) -> Callable[[Doubles, slice], Doubles]:
    """Return the function that computes y from the gaps between distances."""

    def value(gaps: Doubles, cut: slice) -> Doubles:
        relative = np.minimum(gaps / units[cut, None], _LARGEST_GAP)
        # Only the asymptotic kind reaches the floor, since its units do not depend on D.
        return relative if bet == 0 else np.log1p(np.maximum(bet * relative, -0.9)) / bet

    return value


def _least_mean(bound: float, bet: float, penalty: float) -> float:
    """Return the lower bound on m by (1)."""
    return bound if bet == 0 else math.expm1(bet * bound - penalty) / bet


# -- the target and its rows ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Assignment:
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
        """Return s_j of each target row."""
        return (self.nearest + self.cost) / 2

    @property
    def variance(self) -> float:
        """Return a guess at the variance of X: two halves of M differ more than M and M* do."""
        if self.contrast is None:
            return _VARIANCE
        squares = np.minimum((self.contrast / self.units) ** 2, 1.0)
        return max(float(squares @ (self.weights * self.units)) / self.cost / 3, _LEAST_VARIANCE)

    def draw(self, n: int, random: np.random.Generator) -> Ids:
        """Return ``n`` rows, one from each stratum of the sorted target."""
        order = np.lexsort((self.nearest, self.labels))
        cumulative = np.cumsum((self.weights * self.units)[order])
        shares = (np.arange(n) + random.random(n)) / n
        rows: Ids = order[rows_at_shares(cumulative, shares)]
        return rows


def _assign_target(oracle: Oracle, prototypes: Ids) -> _Assignment:
    n = oracle.problem.n_target
    nearest, labels = np.empty(n), np.empty(n, dtype=np.int64)
    contrast = np.empty(n) if len(prototypes) > 1 else None

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        nearest[cut] = block.min(axis=0)
        if contrast is not None:
            contrast[cut] = block[::2].min(axis=0) - block[1::2].min(axis=0)

    oracle.each_chunk(prototypes, visit)
    weights = _normalised_weights(oracle.problem)
    return _Assignment(weights=weights, nearest=nearest, labels=labels, contrast=contrast)


def _normalised_weights(problem: Problem) -> Doubles:
    return problem.target_weights / problem.total


# -- certificates ---------------------------------------------------------------------------------


def _certificate(bound: _Bound, k: int, evaluations: int) -> Certificate:
    lowest = bound.cost - bound.margin
    cost_bound = max(lowest - bound.drop, 0.0)
    ratio = lowest / cost_bound if cost_bound > 0 else 1.0 if bound.drop == 0 else math.inf
    return Certificate(
        kind=bound.kind,
        confidence=bound.confidence,
        cost=bound.cost,
        cost_margin=bound.margin,
        cost_bound=cost_bound,
        cost_ratio=ratio,
        evaluations=evaluations,
        n_rows=bound.n_rows,
        statement=statement_of(bound.kind, bound.confidence, ratio, k=k, n_rows=bound.n_rows),
        conditions=bound.conditions if math.isfinite(ratio) else (),
    )


def _budget_too_small(solution: Solution, kind: str, confidence: float, budget: int) -> Certificate:
    n_source = solution.problem.n_source
    needed = min(solution.n_assigned(kind) + _LEAST_ROWS * n_source, solution.n_pairs)
    return Certificate(
        kind=kind,
        confidence=confidence,
        cost=solution.cost,
        cost_margin=0.0,
        cost_bound=0.0,
        cost_ratio=math.inf,
        evaluations=0,
        n_rows=0,
        statement=(
            f"Nothing is proven and nothing was computed: {n_source:,} source rows need at least "
            f"{needed:,} evaluations, and {budget:,} are allowed. Pass evaluations={needed} or "
            f"more; more evaluations give a sharper bound"
        ),
    )
