"""Solve random samples one after the other, and compare the results on more rows.

Theory of operation
-------------------
A sample has target rows, drawn by weight, and source rows. If source and target are the same rows,
the source rows of a sample are its target rows; otherwise they are drawn uniformly. The best
prototypes so far and fixed rows are always among them. Greedy selection and then swaps until none
lowers the cost give the prototypes of the sample. These are compared with the best so far on the
validation rows: all of the target, or rows drawn before the first sample. The validation rows never
change, so the best result never gets worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import draw_rows
from protobandit.problem.feasibility import Feasibility
from protobandit.search.drivers.full_swaps import eager_passes
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.drivers.table_greedy import picks_on_table
from protobandit.search.objectives.medoids import Medoids


@dataclass(frozen=True, eq=False)
class CandidateSet:
    """Prototypes, ascending, with their distances to the validation rows and their cost there."""

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
    """Yield the best prototypes so far after each sample of ``n_rows`` rows; never ends.

    ``best`` are the best prototypes of an earlier run.

    Evaluations: under "build" ``n_rows`` times the source rows of the sample, which are at most k
    more; under "assign" the number of validation rows for each prototype that is not among the best
    so far.

    Reference: Kaufman, Rousseeuw (1990), CLARA.
    """
    while True:
        prototypes = _solve_sample(validation.oracle, n_rows, best, random)
        best = _better(validation.evaluate(prototypes, best), best)
        yield best


def _better(found: CandidateSet, best: CandidateSet | None) -> CandidateSet:
    return found if best is None or found.cost < best.cost else best


def sample_target(oracle: Oracle, n: int, random: np.random.Generator) -> tuple[Ids, Doubles]:
    """Return distinct target rows and their weights: all rows, or ``n`` drawn by weight.

    The weight of a drawn row is the number of times it was drawn.
    """
    weights, n_target = oracle.problem.weights, len(oracle.problem.target)
    if n >= n_target:
        return np.arange(n_target), weights_or_ones(weights, n_target)
    drawn = draw_rows(n_target, weights, n, random)
    rows, counts = np.unique(drawn, return_counts=True)
    return rows, counts.astype(np.float64)


def greedy_medoids(table: FullTable, weights: Doubles, random: np.random.Generator) -> Medoids:
    """Return the prototypes that greedy selection finds on a table."""
    problem = table.oracle.problem
    feasibility = problem.feasibility.among(table.arms)
    picks = picks_on_table(table, weights, problem.k, random, feasibility)
    members = np.concatenate([pick.arms for pick in picks])
    return Medoids(table, members, weights, problem.feasibility)


def _solve_sample(
    oracle: Oracle, n_rows: int, best: CandidateSet | None, random: np.random.Generator
) -> Ids:
    """Return the prototypes of a random sample, ascending."""
    problem = oracle.problem
    rows, weights = sample_target(oracle, n_rows, random)
    needed = rows if problem.target is problem.source else rows[:0]
    needed = np.union1d(needed, _required_rows(problem.feasibility, problem.k, best, random))
    arms = _with_random_rows(needed, len(problem.source), n_rows, random)
    table = FullTable.of(oracle, arms, oracle.targets(rows))
    with oracle.during("swap"):
        medoids = greedy_medoids(table, weights, random)
        for _ in eager_passes(medoids):
            pass
    return np.sort(arms[medoids.members])


def _required_rows(
    feasibility: Feasibility, k: int, best: CandidateSet | None, random: np.random.Generator
) -> Ids:
    """Return rows that a sample must have: the best so far, or rows that fulfil the constraints."""
    if best is not None:
        return best.prototypes
    return random_rows(feasibility, k, random) if feasibility.has_quotas else feasibility.fixed


def _with_random_rows(needed: Ids, n_source: int, n: int, random: np.random.Generator) -> Ids:
    """Return the ``needed`` source rows, and random ones up to ``n`` in all, ascending."""
    others = draw_rows(n_source, None, n, random)
    others = others[~np.isin(others, needed)][: max(0, n - len(needed))]
    return np.union1d(needed, others)


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """The target rows on which sets of prototypes are compared, with their weights."""

    oracle: Oracle
    rows: Ids
    weights: Doubles

    @classmethod
    def of(cls, oracle: Oracle, n: int, random: np.random.Generator) -> ValidationRows:
        """Return all target rows, or ``n`` drawn by weight."""
        return cls(oracle, *sample_target(oracle, n, random))

    def evaluate(self, prototypes: Ids, best: CandidateSet | None) -> CandidateSet:
        """Return prototypes with their cost; distances of those among ``best`` are looked up."""
        matrix = np.empty((len(prototypes), len(self.rows)), dtype=self.oracle.dtype)
        is_new = np.ones(len(prototypes), dtype=bool)
        if best is not None:
            is_new = ~np.isin(prototypes, best.prototypes)
            old = np.searchsorted(best.prototypes, prototypes[~is_new])
            matrix[~is_new] = best.matrix[old]
        with self.oracle.during("assign"):
            self.oracle.look_up(int((~is_new).sum()) * len(self.rows))
            self._compute(prototypes, np.flatnonzero(is_new), matrix)
        nearest = matrix.min(axis=0).astype(np.float64)
        cost = float(nearest @ self.weights / self.weights.sum())
        return CandidateSet(prototypes, matrix, self.weights, cost)

    def _compute(self, prototypes: Ids, new: Ids, matrix: Floats) -> None:
        """Fill the rows ``new`` of the matrix."""

        def place(block: Floats, cut: slice) -> None:
            matrix[new, cut] = block

        is_all = len(self.rows) == len(self.oracle.problem.target)
        if len(new):
            self.oracle.each_chunk(prototypes[new], place, None if is_all else self.rows)
