"""A certificate that computes every dissimilarity; nothing in it is random."""

from __future__ import annotations

import math

from protobandit.certificate.betting import Bound
from protobandit.certificate.dual import DualSample, dual_table, solve_dual
from protobandit.foundation.array_types import Doubles, Ids
from protobandit.oracle.oracle import Oracle


def exact_bound(oracle: Oracle, prototypes: Ids) -> Bound:
    """Compute every dissimilarity, and bound the best cost by the dual.

    Cost: |S||T| evaluations.
    """
    problem = oracle.problem

    def value(gaps: Doubles, cut: slice) -> Doubles:
        return gaps

    sample = DualSample(rows=None, weights=problem.target_weights / problem.total, value=value)
    table = dual_table(oracle, prototypes, sample)
    best = table.cost + solve_dual(table, len(prototypes)).bound
    return Bound(
        kind="exact",
        confidence=1.0,
        cost=table.cost,
        best=best,
        ratio=table.cost / best if best > 0 else 1.0 if table.cost == 0 else math.inf,
        n_rows=problem.n_target,
    )
