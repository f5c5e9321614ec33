"""Prove how far a selection can be from the best one.

Theory of operation
-------------------
M is the selection, D_j the distance of target row j to it, q_j the row's weight (they sum to 1) and
c = sum of q_j D_j its cost. M* is a best set of k source rows, W_j the distance of row j to it.

*One set, not many.* Nobody knows M*, but it is one set, settled before any row is drawn here. So
the mean over fresh rows of anything made of W_j is a plain sample mean: no union over source rows,
let alone over sets, is to be paid for. And whichever set M* is, its mean over these rows is at
least the smallest that any k source rows reach on them: a k-median problem on the rows drawn, which
`dual_bound` bounds from below, with prices that may be tuned on those same rows. (Mak, Morton and
Wood 1999 bound the optimum of a stochastic programme in this way.)

*Draw.* Let s_j = (D_j + c) / 2. Row j is drawn with probability p_j = q_j s_j / c: the target is
sorted by nearest prototype and cut into n slices of probability 1/n, and each gives one row,
independently of the others. X_j = (W_j - D_j) / s_j is above -2, and its mean under p is
m = (cost(M*) - c) / c.

*Bet.* Let 0 < b < 1/2 be fixed beforehand, and m_t the mean of X in slice t. Then
E prod (1 + b X_t) = prod (1 + b m_t) <= (1 + b m)^n, since a geometric mean is at most the
arithmetic one. By Markov's inequality, with probability at least 1 - delta,

    ln(1 + b m)  >=  mean_t ln(1 + b X_t)  -  ln(1 / delta) / n.                                 (1)

This is the bound of a bettor who stakes the share b each time (Waudby-Smith and Ramdas 2023). A bad
b makes it loose, never wrong.

*Price.* y_ti = ln(1 + b (d(t, i) - D_t) / s_t) / b grows with d, so ln(1 + b X_t) / b is the least
y_ti over i in M*, and its mean is at least the dual bound of the y_ti. With (1) that bounds m, and
with m the cost of M*.

*Asymptotic.* Rows are drawn by q, s_j is constant, D_j is read off the drawn rows alone, and the
central limit theorem stands in for Markov: mean ln(1 + b X) is at most its expectation,
ln(1 + b m) - b^2 v / 2 up to b^3 (v the variance of X), plus z b sqrt(v / n), and together that is
at most ln(1 + b m) + z^2 / 2n whatever v is. So (1) holds with z^2 / 2 in place of ln(1 / delta);
times 1 - n / |T| for rows drawn without replacement.

*Exact.* With every row nothing is left to chance: y is the plain difference, the limit b = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from protobandit.certificate.certificate import Certificate, is_real, stated
from protobandit.certificate.dual import DualSample, dual_bound, rows_held, tabulate
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import as_generator
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows
from protobandit.problem.problem import Problem

_LEAST_ROWS = 16
_FEW_ROWS = 1024  # below which a quarter of the target is too few
_ENOUGH_ROWS = 4096  # above which it may be too many, with more for each prototype
_ROWS_A_PROTOTYPE = 128
_LARGEST_BET = 0.45
_SPREAD = 0.05  # of X, where nothing is known of it
_LEAST_SPREAD = 1e-3
_FAR = 1e30  # a float32 holds it
_SHARE_OF_COST = 0.1  # of delta, for a cost that is itself estimated
_OWN_STREAM = 0xCE27


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """What is to be certified: prototypes of a problem, and their cost as far as it is known."""

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
        return len(self.problem.source) * len(self.problem.target)

    def n_surveyed(self, kind: str) -> int:
        """Return what a kind takes before the first row is drawn."""
        return self.k * len(self.problem.target) if kind == "rigorous" else 0


@dataclass(frozen=True, kw_only=True)
class _Finding:
    """The cost is within ``margin`` of ``cost``, and that of the best set at most ``drop`` less."""

    kind: str
    confidence: float
    cost: float
    drop: float
    n_rows: int
    margin: float = 0.0
    conditions: tuple[str, ...] = ()


def certify(
    claim: Claim,
    *,
    confidence: Any,
    kind: Any,
    evaluations: Any,
    random_state: Any,
    n_jobs: int | None,
) -> Certificate:
    """Return a `Certificate`, or one that says that nothing is proven, and why.

    Cost: |S| evaluations a row, and for the rigorous kind k |T| more.
    """
    _require(confidence, kind)
    budget, random = _as_budget(evaluations), _own_dice(random_state)
    oracle = Oracle(claim.problem, n_jobs=n_jobs)
    n_target = len(claim.problem.target)
    if claim.is_exact and claim.cost == 0:
        return _concluded(_perfect(n_target), claim.k, evaluations=0)
    n_rows = _rows_within(claim, kind, budget)
    if budget is not None and n_rows < min(_LEAST_ROWS, n_target):
        return _nothing(claim, kind, float(confidence), budget)
    prove = _exact if n_rows == n_target else KINDS[kind]
    with oracle.at_work(), oracle.during("certify"):
        finding = prove(oracle, claim, n_rows, float(confidence), random)
    return _concluded(finding, claim.k, oracle.evaluations["certify"])


# -- what was asked for ---------------------------------------------------------------------------


def _require(confidence: Any, kind: Any) -> None:
    if not is_real(confidence) or not 0 < confidence < 1:
        raise InvalidInput(
            f"confidence={confidence!r} is not a probability. Pass a number between 0 and 1, such "
            f"as 0.95."
        )
    if not isinstance(kind, str) or kind not in KINDS:
        known = " or ".join(map(repr, KINDS))
        raise InvalidInput(f"kind={kind!r} is not known. Use {known}.")


def _as_budget(evaluations: Any) -> int | None:
    if evaluations is None:
        return None
    is_whole = is_real(evaluations) and math.isfinite(evaluations) and evaluations % 1 == 0
    if not is_whole or evaluations < 1:
        raise InvalidInput(
            f"evaluations={evaluations!r} is not a budget. Pass a whole number >= 1, or None."
        )
    return int(evaluations)


def _own_dice(random_state: Any) -> np.random.Generator:
    """Return dice that fall otherwise than those of a search with the same seed."""
    seeds = as_generator(random_state).integers(2**63, size=4)
    return np.random.default_rng([_OWN_STREAM, *seeds.tolist()])


def _rows_within(claim: Claim, kind: str, budget: int | None) -> int:
    """Return on how many rows to judge every source row; all of them means exactly."""
    n_source, n_target = len(claim.problem.source), len(claim.problem.target)
    if budget is None:
        enough = _ENOUGH_ROWS + _ROWS_A_PROTOTYPE * claim.k
        wanted = max(_FEW_ROWS, min(n_target // 4, enough))
        is_all = claim.n_surveyed(kind) + wanted * n_source >= claim.n_pairs
    else:
        wanted = max(0, budget - claim.n_surveyed(kind)) // n_source
        is_all = budget >= claim.n_pairs
    most = rows_held(n_source, claim.k)
    return n_target if is_all and n_target <= most else min(wanted, most, n_target - 1)


# -- what is proven -------------------------------------------------------------------------------


def _exact(
    oracle: Oracle, claim: Claim, n_rows: int, confidence: float, random: np.random.Generator
) -> _Finding:
    """Compute every dissimilarity; nothing is left to chance."""
    unit = claim.cost or 1.0
    sample = DualSample(
        rows=None, weights=_weights(claim.problem), value=_valued(np.full(n_rows, unit), 0.0)
    )
    table = tabulate(oracle, claim.prototypes, sample)
    drop = min(-unit * dual_bound(table, claim.k), table.cost)
    return _Finding(kind="exact", confidence=1.0, cost=table.cost, drop=drop, n_rows=n_rows)


def _rigorous(
    oracle: Oracle, claim: Claim, n_rows: int, confidence: float, random: np.random.Generator
) -> _Finding:
    """Survey the target, draw rows by their distance to the selection, and bet."""
    survey = _survey(oracle, claim.prototypes)
    if survey.cost == 0:
        return _perfect(len(survey.nearest))
    level = -math.log1p(-confidence)
    bet = _best_bet(level / n_rows, survey.spread)
    rows, counts = np.unique(survey.draw(n_rows, random), return_counts=True)
    sample = DualSample(rows=rows, weights=counts / n_rows, value=_valued(survey.units[rows], bet))
    table = tabulate(oracle, claim.prototypes, sample)
    return _Finding(
        kind="rigorous",
        confidence=confidence,
        cost=survey.cost,
        drop=-survey.cost * _least_mean(dual_bound(table, claim.k), bet, level / n_rows),
        n_rows=len(rows),
    )


def _asymptotic(
    oracle: Oracle, claim: Claim, n_rows: int, confidence: float, random: np.random.Generator
) -> _Finding:
    """Draw rows by weight, and trust in the normal approximation."""
    problem = claim.problem
    unit, share = claim.cost or 1.0, 0.0 if claim.is_exact else _SHARE_OF_COST
    left = 1 - n_rows / len(problem.target) if problem.weights is None else 1.0
    doubt = max(_normal(1 - (1 - share) * (1 - confidence)), 0.0) ** 2 / 2 * left / n_rows
    bet = _best_bet(doubt, _SPREAD)
    drawn = draw_rows(len(problem.target), problem.weights, n_rows, random)
    rows, counts = np.unique(drawn, return_counts=True)
    value = _valued(np.full(len(rows), unit), bet)
    table = tabulate(
        oracle, claim.prototypes, DualSample(rows=rows, weights=counts / n_rows, value=value)
    )
    cost, margin = claim.cost, 0.0
    if not claim.is_exact:
        cost = table.cost
        variance = float(table.weights @ (table.nearest - cost) ** 2)
        margin = _normal(1 - share * (1 - confidence) / 2) * math.sqrt(variance * left / n_rows)
    return _Finding(
        kind="asymptotic",
        confidence=confidence,
        cost=cost,
        margin=margin,
        drop=-unit * _least_mean(dual_bound(table, claim.k), bet, doubt),
        n_rows=len(rows),
        conditions=(f"means over {n_rows:,} rows are close to normal",),
    )


KINDS: Final[dict[str, Callable[..., _Finding]]] = {
    "rigorous": _rigorous,
    "asymptotic": _asymptotic,
}


def _perfect(n_rows: int) -> _Finding:
    """Nothing costs less than nothing."""
    return _Finding(kind="exact", confidence=1.0, cost=0.0, drop=0.0, n_rows=n_rows)


def _normal(probability: float) -> float:
    return NormalDist().inv_cdf(probability)


def _best_bet(doubt: float, spread: float) -> float:
    """Return the b that suits X of this variance: b v / 2 + doubt / b is least there."""
    return min(math.sqrt(2 * doubt / spread), _LARGEST_BET)


def _valued(units: Doubles, bet: float) -> Callable[[Doubles, slice], Doubles]:
    """Return what makes y of the gaps between distances."""

    def value(gaps: Doubles, cut: slice) -> Doubles:
        relative = np.minimum(gaps / units[cut, None], _FAR)
        # The floor is reached in the asymptotic kind only, where units do not follow D.
        return relative if bet == 0 else np.log1p(np.maximum(bet * relative, -0.9)) / bet

    return value


def _least_mean(bound: float, bet: float, doubt: float) -> float:
    """Return the lower bound on m by (1)."""
    return bound if bet == 0 else math.expm1(bet * bound - doubt) / bet


# -- where the rows come from ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Survey:
    """What the prototypes are to every target row.

    ``contrast`` is how much nearer the even prototypes are than the odd ones; None for one alone.
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
        return (self.nearest + self.cost) / 2

    @property
    def spread(self) -> float:
        """Return a guess at the variance of X: two halves of M differ more than M and M* do."""
        if self.contrast is None:
            return _SPREAD
        squares = np.minimum((self.contrast / self.units) ** 2, 1.0)
        return max(float(squares @ (self.weights * self.units)) / self.cost / 3, _LEAST_SPREAD)

    def draw(self, n: int, random: np.random.Generator) -> Ids:
        """Return ``n`` rows, one from each slice of the sorted target."""
        order = np.lexsort((self.nearest, self.labels))
        ladder = np.cumsum((self.weights * self.units)[order])
        places = (np.arange(n) + random.random(n)) / n * ladder[-1]
        last = int(np.searchsorted(ladder, ladder[-1]))  # where rounding up must end
        drawn = np.searchsorted(ladder, places, side="right")
        rows: Ids = order[np.minimum(drawn, last)]
        return rows


def _survey(oracle: Oracle, prototypes: Ids) -> _Survey:
    n = len(oracle.problem.target)
    nearest, labels = np.empty(n), np.empty(n, dtype=np.int64)
    contrast = np.empty(n) if len(prototypes) > 1 else None

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        nearest[cut] = block.min(axis=0)
        if contrast is not None:
            contrast[cut] = block[::2].min(axis=0) - block[1::2].min(axis=0)

    oracle.each_chunk(prototypes, visit)
    weights = _weights(oracle.problem)
    return _Survey(weights=weights, nearest=nearest, labels=labels, contrast=contrast)


def _weights(problem: Problem) -> Doubles:
    n = len(problem.target)
    return np.full(n, 1 / n) if problem.weights is None else problem.weights / problem.total


# -- what is said of it ---------------------------------------------------------------------------


def _concluded(finding: _Finding, k: int, evaluations: int) -> Certificate:
    lowest = finding.cost - finding.margin
    bound = max(lowest - finding.drop, 0.0)
    ratio = lowest / bound if bound > 0 else 1.0 if finding.drop == 0 else math.inf
    return Certificate(
        kind=finding.kind,
        confidence=finding.confidence,
        cost=finding.cost,
        cost_margin=finding.margin,
        cost_bound=bound,
        cost_ratio=ratio,
        evaluations=evaluations,
        n_rows=finding.n_rows,
        statement=stated(finding.kind, finding.confidence, ratio, k=k, n_rows=finding.n_rows),
        conditions=finding.conditions if math.isfinite(ratio) else (),
    )


def _nothing(claim: Claim, kind: str, confidence: float, budget: int) -> Certificate:
    n_source = len(claim.problem.source)
    needed = min(claim.n_surveyed(kind) + _LEAST_ROWS * n_source, claim.n_pairs)
    return Certificate(
        kind=kind,
        confidence=confidence,
        cost=claim.cost,
        cost_margin=0.0,
        cost_bound=0.0,
        cost_ratio=math.inf,
        evaluations=0,
        n_rows=0,
        statement=(
            f"Nothing is proven and nothing was spent: to judge {n_source:,} source rows takes at "
            f"least {needed:,} evaluations, and {budget:,} are allowed. Pass evaluations={needed} "
            f"or more; the more, the sharper"
        ),
    )
