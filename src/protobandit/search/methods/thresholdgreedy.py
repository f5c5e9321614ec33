"""Greedy by thresholds: fewer looks at gains, nearly the same promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.threshold import Threshold
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import Pick, greedy
from protobandit.search.methods.method import (
    Memoize,
    Method,
    Outcome,
    Schedule,
    exact_coverage,
    exact_schedule,
    require_epsilon,
    require_memoize,
)

_STILL_LOOKED_AT = 0.04  # of all rows, for a prototype after the second (measured on MNIST)


@dataclass(frozen=True, kw_only=True)
class ThresholdGreedy(Method):
    """Exact gains; the first row that reaches a threshold is taken, and the threshold comes down.

    The first prototype is the best single row. For the others the threshold starts at the largest
    gain and is multiplied by 1 - epsilon when no row reaches it, down to epsilon / |S| of the
    largest; a row that fell short of a threshold is looked at again only when the threshold has
    come down to its last gain. The promise holds for every C, as that of greedy does.

    Parameters
    ----------
    epsilon
        What may be lost, in 0 < epsilon < 1 - 1/e.
    memoize
        As in `SpotGreedy`.

    References
    ----------
    Badanidiyuru, Vondrák (2014), Fast algorithms for maximizing submodular functions.
    """

    name: ClassVar[str] = "thresholdgreedy"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    epsilon: float = 0.1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_memoize(self.memoize)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        return greedy(
            Threshold(epsilon=self.epsilon),
            exact_coverage(oracle, self.memoize, control.limits, schedule),
            k=problem.k,
            random=random,
            feasibility=problem.feasibility,
            control=control,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * len(problem.target)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_pairs = len(problem.source) * len(problem.target)
        whole = min(2, problem.k)  # the first two look at every row
        n_gains = round((whole + _STILL_LOOKED_AT * (problem.k - whole)) * n_pairs)
        return exact_schedule(problem, n_gains, self.memoize, limits)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if outcome.feasibility.has_quotas:
            return None
        is_free = outcome.feasibility.is_free
        return Guarantee(
            method=self.name,
            statement=f"f >= (1 - 1/e - {self.epsilon:g}) f*",
            epsilon=self.epsilon,
            conditions=() if is_free else ("f* is the best f within the constraints",),
        )
