"""k-center by farthest-first traversal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SearchControl
from protobandit.search.drivers.farthest import farthest_first
from protobandit.search.drivers.pick import Pick
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule


@dataclass(frozen=True, kw_only=True)
class KCenter(Method):
    """Farthest-first traversal: each prototype is the target row farthest from the others.

    The objective is the **largest** distance of a target row to its prototype, not the mean. The
    status reports it. This method follows outliers, and its cost is often higher than that of
    random rows. Weights have one effect: rows of weight 0 are ignored. The first prototype is the
    first row.

    If the source is not the target, the prototype is the source row nearest to the farthest target
    row. Target rows whose nearest source row is already a prototype are skipped.

    Evaluations: k |T|. If the source is not the target, |S| more for each target row whose nearest
    source row is computed: k of them, or more if some are skipped. Memory: a few blocks.

    References
    ----------
    Gonzalez (1985), Clustering to minimize the maximum intercluster distance; Hochbaum, Shmoys
    (1986), for a source other than the target (k-supplier).
    """

    name: ClassVar[str] = "kcenter"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed"})

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        return farthest_first(oracle, k=oracle.problem.k, random=random, control=control)

    def least_evaluations(self, problem: Problem) -> int:
        return _per_iteration(problem)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        is_same = problem.target is problem.source
        evaluations = problem.k * _per_iteration(problem)
        return Schedule(
            evaluations=evaluations,
            most_evaluations=evaluations if is_same else None,
            memory=working_bytes(problem),
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.feasibility.is_free:
            return None
        is_same = outcome.problem.target is outcome.problem.source
        factor = 2 if is_same else 3
        return Guarantee(
            method=self.name,
            statement=f"the largest distance is at most {factor} times the least possible",
            conditions=("the dissimilarity is symmetric and obeys the triangle inequality",),
        )


def _per_iteration(problem: Problem) -> int:
    n_source, n_target = len(problem.source), len(problem.target)
    return n_target if problem.target is problem.source else n_source + n_target
