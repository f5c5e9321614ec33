"""Drift: whether prototypes still represent new rows.

Theory of operation
-------------------
New rows are compared with a `Reference`: distances of rows of the target's distribution that had no
part in the selection. If the new rows come from the same distribution, their distances and those of
the reference are exchangeable. So the p-value is that of a permutation test: the share of the ways
to divide all these distances at random in which the mean of the "new" ones is at least as large. It
assumes no distribution and holds for any number of rows. The test is one-sided: rows that are
nearer to the prototypes are no reason to select again.

If new rows have weights, the test uses a random part of them, in which each has a probability that
is proportional to its weight (`problem.reference.thinned`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import WeightedSampler, draw_rows
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.reference import Reference, thinned

SIGNIFICANT = 0.05
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_BEYOND = 0.95  # the share of the reference within the distance of `Drift.share_beyond`
_N_PERMUTATIONS = 1_999
_ENOUGH = 100  # permutations with a larger mean
_N_WORST = 10
_N_ADDED = 10
_N_CANDIDATES = 256  # new rows that may be added
_N_JUDGES = 4_096  # new rows on which they are compared
_ROUNDING = 1e-12
_KEY = 0xD21F


class Quantile(NamedTuple):
    """The distance within which a share of the rows lies: of the reference, and of new rows."""

    share: float
    reference: float
    new: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Drift:
    """How well prototypes represent new rows, compared with rows like those of the target.

    Attributes
    ----------
    cost
        The weighted mean distance of the new rows to their nearest prototypes.
    reference_cost
        The same for rows like those of the target that had no part in the selection. It is more
        than the cost of the selection, which is measured on the rows that it was optimised for.
    ratio
        ``cost / reference_cost``; 1 if the new rows are represented as well.
    p_value
        The probability of a ratio at least as large if the new rows come from the distribution of
        the target.
    quantiles
        Quantiles of the distances of the reference and of the new rows.
    share_beyond
        The share of the new rows that lie farther from their prototype than 95 % of the reference;
        0.05 is expected.
    worst_rows
        The new rows that are represented worst, worst first.
    mass_change
        By how much the share of rows that each prototype represents has changed. The sum is 0.
    rows_to_add
        New rows which, added to the prototypes, lower the cost of the new rows most, best first,
        until it is that of the reference. Empty if ``p_value`` is 0.05 or more, and for a
        precomputed metric.
    n_rows, n_reference
        The numbers of new rows and of distances in the reference.
    evaluations
        The number of dissimilarities computed.
    """

    cost: float
    reference_cost: float
    ratio: float
    p_value: float
    quantiles: tuple[Quantile, ...]
    share_beyond: float
    worst_rows: Ids
    mass_change: Doubles
    rows_to_add: Ids
    n_rows: int
    n_reference: int
    evaluations: int

    @property
    def is_significant(self) -> bool:
        """Return whether the new rows are represented worse than chance explains."""
        return self.p_value < SIGNIFICANT

    @property
    def mass_moved(self) -> float:
        """Return the share of the rows that other prototypes represent than before."""
        return float(np.abs(self.mass_change).sum() / 2)

    @property
    def p_value_text(self) -> str:
        """Return the p-value; the smallest one that the test can find is an upper bound."""
        least = 1 / (_N_PERMUTATIONS + 1)
        return f"≤ {least:g}" if self.p_value <= least else f"{self.p_value:.2g}"

    @property
    def verdict(self) -> str:
        """Return the result as one sentence."""
        if self.is_significant:
            return "Drift was found: new rows are represented worse than rows of the target."
        return "No drift was found: new rows are represented about as well as rows of the target."

    def renumbered(self, numbers: Ids) -> Drift:
        """Return the drift with other row numbers: new row i is row ``numbers[i]``.

        :meta private:
        """
        return replace(
            self, worst_rows=numbers[self.worst_rows], rows_to_add=numbers[self.rows_to_add]
        )

    def __repr__(self) -> str:
        median, ninety = self.quantiles[_LEVELS.index(0.5)], self.quantiles[_LEVELS.index(0.9)]
        lines = [
            self.verdict,
            f"  new rows     {self.n_rows:,}",
            f"  cost         {self.cost:.6g} (reference {self.reference_cost:.6g})",
            f"  ratio        {self.ratio:.4g}",
            f"  p-value      {self.p_value_text}",
            f"  median       {median.new:.6g} (reference {median.reference:.6g})",
            f"  90 % within  {ninety.new:.6g} (reference {ninety.reference:.6g})",
            f"  far rows     {self.share_beyond:.1%} (expected {1 - _BEYOND:.0%})",
            f"  worst rows   {_listed(self.worst_rows)}",
            f"  mass moved   {self.mass_moved:.1%} of the rows",
        ]
        if len(self.rows_to_add):
            lines.append(f"  rows to add  {_listed(self.rows_to_add)}")
        return "\n".join(lines)


def measured_drift(oracle: Oracle, prototypes: Ids, mass: Doubles, reference: Reference) -> Drift:
    """Return the drift of the target rows of ``oracle``, which are the new rows."""
    problem, random = oracle.problem, np.random.default_rng(_KEY)
    n, weights = len(problem.target), problem.target_weights / problem.target_weights.sum()
    labels, distances = np.empty(n, dtype=np.int64), np.empty(n)

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        distances[cut] = block.min(axis=0)

    with oracle.at_work(), oracle.during("assign"):
        oracle.each_chunk(prototypes, visit)
    cost, expected = float(weights @ distances), reference.cost
    drawn = np.arange(n) if problem.weights is None else thinned(problem.weights, random)
    p_value = permutation_p_value(distances[drawn], reference.distances, random)
    found = _quantiles(distances, weights, np.array(_LEVELS))
    usual = np.quantile(reference.distances, _LEVELS)
    limit = usual[_LEVELS.index(_BEYOND)]
    farthest = np.argsort(-distances, kind="stable")
    added: Ids = np.empty(0, dtype=np.int64)
    if p_value < SIGNIFICANT and problem.metric.name != "precomputed":
        added = _rows_to_add(oracle, distances, expected, random)
    return Drift(
        cost=cost,
        reference_cost=expected,
        ratio=_ratio(cost, expected),
        p_value=p_value,
        quantiles=tuple(
            Quantile(level, float(old), float(new))
            for level, old, new in zip(_LEVELS, usual, found, strict=True)
        ),
        share_beyond=float(weights[distances > limit].sum()),
        worst_rows=farthest[weights[farthest] > 0][:_N_WORST],
        mass_change=np.bincount(labels, weights, len(mass)) - mass,
        rows_to_add=added,
        n_rows=n,
        n_reference=len(reference.distances),
        evaluations=oracle.evaluations.total(),
    )


def permutation_p_value(new: Doubles, reference: Doubles, random: np.random.Generator) -> float:
    """Return the p-value of the hypothesis that new distances are no larger than the reference.

    It stops after `_ENOUGH` larger means: then the p-value is not small, and the number of
    permutations so far gives a valid one (Besag, Clifford 1991, Sequential Monte Carlo p-values).
    """
    if len(new) == 0:
        return 1.0
    pool = np.concatenate([new, reference])
    n_few, total = min(len(new), len(reference)), pool.sum()
    least, n_larger = new.sum() - _ROUNDING * abs(total), 0
    for i in range(1, _N_PERMUTATIONS + 1):
        few = pool[random.choice(len(pool), n_few, replace=False, shuffle=False)].sum()
        n_larger += bool((few if len(new) == n_few else total - few) >= least)
        if n_larger == _ENOUGH:
            return n_larger / i
    return (n_larger + 1) / (_N_PERMUTATIONS + 1)


def _quantiles(values: Doubles, weights: Doubles, levels: Doubles) -> Doubles:
    """Return weighted quantiles; with equal weights those of NumPy."""
    if (weights == weights[0]).all():
        return np.quantile(values, levels)
    order = np.argsort(values, kind="stable")
    at = np.searchsorted(np.cumsum(weights[order]), levels)
    return values[order][np.minimum(at, len(values) - 1)]


def _ratio(cost: float, reference: float) -> float:
    if reference > 0:
        return cost / reference
    return float("inf") if cost > 0 else 1.0


def _rows_to_add(
    oracle: Oracle, distances: Doubles, enough: float, random: np.random.Generator
) -> Ids:
    """Return new rows that lower the cost most, chosen one by one until it is ``enough``."""
    problem = oracle.problem
    share = problem.target_weights * distances
    if not 0 < share.sum() < np.inf:
        return np.empty(0, dtype=np.int64)
    candidates = np.unique(WeightedSampler(share).draw(_N_CANDIDATES, random))
    judges = draw_rows(len(distances), problem.weights, _N_JUDGES, random)
    part = replace(
        problem,
        source=problem.target.subset(candidates),
        target=problem.target.subset(judges),
        weights=None,
        k=1,
        feasibility=Feasibility.none(len(candidates)),
        columns=None,
        preparation=None,
    )
    table = np.empty((len(candidates), len(judges)), dtype=oracle.dtype)

    def visit(block: Floats, cut: slice) -> None:
        table[:, cut] = block

    other = oracle.beside(part)
    with other.at_work(), other.during("assign"):
        other.each_chunk(np.arange(len(candidates)), visit)
    nearest = distances[judges]
    chosen: list[int] = []
    while len(chosen) < _N_ADDED and nearest.mean() > enough:
        gains = np.maximum(nearest - table, 0).sum(axis=1)
        best = int(gains.argmax())
        if gains[best] <= 0:
            break
        chosen.append(best)
        nearest = np.minimum(nearest, table[best])
    return candidates[chosen] if chosen else np.empty(0, dtype=np.int64)


def _listed(rows: Ids) -> str:
    return ", ".join(map(str, rows[:_N_WORST]))
