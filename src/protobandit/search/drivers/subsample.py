"""Subsample: solve small samples, one after the other, and judge what comes out on more rows.

Theory of operation
-------------------
A sample is some target rows, drawn by weight, and some source rows: those same rows where source
and target are one, else as many drawn evenly; the best prototypes so far are always among them, and
so are rows that are fixed. Greedy builds on the sample, swaps improve it until none helps, and the
outcome is judged on the jury: all of the target, or one set of rows drawn before the first sample.
The jury never changes, so the best so far never gets worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import draw_rows
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.full_swaps import eager_passes
from protobandit.search.drivers.greedy import greedy
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.medoids import Medoids


@dataclass(frozen=True, eq=False)
class CandidateSet:
    """Prototypes, ascending, their distances to the rows of the jury, and what they cost there."""

    prototypes: Ids
    matrix: Floats
    weights: Doubles
    cost: float


def subsample(
    validation: ValidationRows,
    *,
    n_rows: int,
    random: np.random.Generator,
    best: CandidateSet | None = None,
) -> Iterator[CandidateSet]:
    """Yield the best so far after each sample of ``n_rows`` on both sides, for ever.

    ``best`` is what an earlier run has found.

    Cost: ``n_rows`` times the source rows of the sample, at most k more, under "build"; the rows of
    the jury for each prototype that is not among the best so far, under "assign".

    Reference: Kaufman, Rousseeuw (1990), CLARA.
    """
    while True:
        found = validation.judge(_solved(validation.oracle, n_rows, best, random), best)
        if best is None or found.cost < best.cost:
            best = found
        yield best


def drawn_rows(oracle: Oracle, n: int, random: np.random.Generator) -> tuple[Ids, Doubles]:
    """Return distinct target rows and their weights: all, or ``n`` drawn by weight.

    A row that was drawn several times weighs as much.
    """
    weights, n_target = oracle.problem.weights, len(oracle.problem.target)
    if n >= n_target:
        return np.arange(n_target), np.ones(n_target) if weights is None else weights
    drawn = draw_rows(n_target, weights, n, random)
    rows, counts = np.unique(drawn, return_counts=True)
    return rows, counts.astype(np.float64)


def built(table: FullTable, weights: Doubles, random: np.random.Generator) -> Medoids:
    """Return the prototypes that greedy builds on a table."""
    problem = table.oracle.problem
    picks = greedy(
        Lazy(),
        ExactCoverage.over(table, weights),
        k=problem.k,
        random=random,
        feasibility=_among(problem.feasibility, table.arms),
    )
    members = np.concatenate([pick.arms for pick in picks])
    return Medoids(table, members, weights, problem.feasibility)


def _among(feasibility: Feasibility, arms: Ids) -> Feasibility:
    """Return the rules for some source rows, ascending, by their places among them."""
    groups = feasibility.groups[arms]
    sizes = np.bincount(groups, minlength=len(feasibility.names))
    fixed = np.searchsorted(arms, feasibility.fixed)
    return replace(
        feasibility, fixed=fixed, groups=groups, most=np.minimum(feasibility.most, sizes)
    )


def _solved(
    oracle: Oracle, n_rows: int, best: CandidateSet | None, random: np.random.Generator
) -> Ids:
    """Return the prototypes of a sample, ascending."""
    problem = oracle.problem
    rows, weights = drawn_rows(oracle, n_rows, random)
    known = rows if problem.target is problem.source else rows[:0]
    known = np.union1d(known, _some_allowed(problem.feasibility, problem.k, best, random))
    arms = _filled(known, len(problem.source), n_rows, random)
    table = FullTable.of(oracle, arms, oracle.targets(rows))
    with oracle.during("swap"):
        medoids = built(table, weights, random)
        for _ in eager_passes(medoids):
            pass
    return np.sort(arms[medoids.members])


def _some_allowed(
    feasibility: Feasibility, k: int, best: CandidateSet | None, random: np.random.Generator
) -> Ids:
    """Return rows that a sample must have: the best so far, or else enough to keep quotas."""
    if best is not None:
        return best.prototypes
    if not feasibility.has_quotas:
        return feasibility.fixed
    return np.append(
        feasibility.fixed, feasibility.draw(feasibility.fixed, k - len(feasibility.fixed), random)
    )


def _filled(known: Ids, n_source: int, n: int, random: np.random.Generator) -> Ids:
    """Return ``known`` source rows, and others drawn evenly up to ``n`` in all, ascending."""
    others = draw_rows(n_source, None, n, random)
    others = others[~np.isin(others, known)][: max(0, n - len(known))]
    return np.union1d(known, others)


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """The rows on which prototypes are judged, with their weights."""

    oracle: Oracle
    rows: Ids
    weights: Doubles

    @classmethod
    def of(cls, oracle: Oracle, n: int, random: np.random.Generator) -> ValidationRows:
        """Return a jury of all target rows, or of ``n`` drawn by weight."""
        return cls(oracle, *drawn_rows(oracle, n, random))

    def judge(self, prototypes: Ids, best: CandidateSet | None) -> CandidateSet:
        """Compute how prototypes do; those among the best so far are looked up."""
        matrix = np.empty((len(prototypes), len(self.rows)), dtype=self.oracle.dtype)
        is_new = np.ones(len(prototypes), dtype=bool)
        if best is not None:
            is_new = ~np.isin(prototypes, best.prototypes)
            old = np.searchsorted(best.prototypes, prototypes[~is_new])
            matrix[~is_new] = best.matrix[old]
        with self.oracle.during("assign"):
            self.oracle.look_up(int((~is_new).sum()) * len(self.rows))
            self._measure(prototypes, np.flatnonzero(is_new), matrix)
        nearest = matrix.min(axis=0).astype(np.float64)
        cost = float(nearest @ self.weights / self.weights.sum())
        return CandidateSet(prototypes, matrix, self.weights, cost)

    def _measure(self, prototypes: Ids, new: Ids, matrix: Floats) -> None:
        def place(block: Floats, cut: slice) -> None:
            matrix[new, cut] = block

        is_all = len(self.rows) == len(self.oracle.problem.target)
        if len(new):
            self.oracle.each_chunk(prototypes[new], place, None if is_all else self.rows)
