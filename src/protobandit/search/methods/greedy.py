"""Greedy methods on exact gains, and random rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.lazy import Lazy
from protobandit.search.arms.subset import Subset
from protobandit.search.control import SearchControl
from protobandit.search.drivers.budgeted import budgeted_greedy
from protobandit.search.drivers.greedy import Pick, given, greedy
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
from protobandit.search.objectives.sampled_coverage import SampledCoverage


@dataclass(frozen=True, kw_only=True)
class _ExactGreedy(Method):
    """Greedy on exact gains: what `SpotGreedy` and `LazyGreedy` share."""

    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups", "costs", "until"})
    strategy: ClassVar[Strategy]
    share: ClassVar[float]  # of all arms, whose gains an iteration after the second computes
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_integer(self.r, "r")
        require_memoize(self.memoize)

    @property
    def is_exact_greedy(self) -> bool:
        return self.r == 1

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return exact_schedule(problem, _n_gains(problem, self.r, self.share), self.memoize, limits)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        coverage = exact_coverage(oracle, self.memoize, control.limits, schedule)
        problem = oracle.problem
        driver = greedy if problem.feasibility.prices is None else budgeted_greedy
        return driver(
            self.strategy,
            coverage,
            feasibility=problem.feasibility,
            k=problem.k,
            r=self.r,
            random=random,
            control=control,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * len(problem.target)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class SpotGreedy(_ExactGreedy):
    """Exact greedy: every gain, at every iteration (SPOTgreedy; PAM's BUILD).

    Evaluations: |S||T| if memoized, else the sum of (|S| - |M|)|T| over the iterations, and |T| per
    prototype under "assign". Memory: the |S| x |T| matrix if memoized, else a few blocks.

    Parameters
    ----------
    r
        Number of rows per iteration.
    memoize
        Whether to keep every dissimilarity. "auto" keeps them if half the free memory suffices.

    References
    ----------
    Gurumoorthy, Jawanpuria, Mishra (2021), SPOT; Kaufman, Rousseeuw (1990), PAM.
    """

    name: ClassVar[str] = "spotgreedy"
    strategy: ClassVar[Strategy] = Exhaustive()
    share: ClassVar[float] = 1.0


@dataclass(frozen=True, kw_only=True)
class LazyGreedy(_ExactGreedy):
    """The result of `SpotGreedy`; gains are recomputed only where they may matter.

    Gains only shrink as prototypes are added, so an old gain is an upper bound, and the gains of
    most rows are never computed again.

    Parameters
    ----------
    r, memoize
        As in `SpotGreedy`.

    References
    ----------
    Minoux (1978), Accelerated greedy algorithms.
    """

    name: ClassVar[str] = "lazygreedy"
    strategy: ClassVar[Strategy] = Lazy()
    share: ClassVar[float] = 0.03  # measured on MNIST


@dataclass(frozen=True, kw_only=True)
class StochasticGreedy(Method):
    """Exact gains on a random subset of the source at every iteration.

    Parameters
    ----------
    epsilon
        The expected loss, in 0 < epsilon < 1 - 1/e. A subset has |S| / k ln(1 / epsilon) rows,
        where k is the number of rows to choose.
    memoize
        As in `SpotGreedy`.

    References
    ----------
    Mirzasoleiman, Badanidiyuru, Karbasi, Vondrák, Krause (2015), Lazier than lazy greedy.
    """

    name: ClassVar[str] = "stochasticgreedy"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    epsilon: float = 0.1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_memoize(self.memoize)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_gains = problem.k * subset_size(problem, self.epsilon) * len(problem.target)
        return exact_schedule(problem, n_gains, self.memoize, limits)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        return greedy(
            Subset(inner=Exhaustive(), size=subset_size(problem, self.epsilon)),
            exact_coverage(oracle, self.memoize, control.limits, schedule),
            feasibility=problem.feasibility,
            k=problem.k,
            random=random,
            control=control,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return subset_size(problem, self.epsilon) * len(problem.target)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if outcome.feasibility.has_quotas:
            return None
        return Guarantee(
            method=self.name,
            statement=f"E[f] >= (1 - 1/e - {self.epsilon:g}) f*",
            epsilon=self.epsilon,
            conditions=conditions_of(outcome.feasibility),
        )


@dataclass(frozen=True, kw_only=True)
class Random(Method):
    """Rows drawn at random: the baseline that every method must beat."""

    name: ClassVar[str] = "random"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return Schedule(evaluations=0, memory=0)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem, coverage = oracle.problem, SampledCoverage.of(oracle, scale=1.0)
        feasibility = problem.feasibility
        drawn = feasibility.draw(feasibility.fixed, problem.k - len(feasibility.fixed), random)
        return iter([given(coverage, np.append(feasibility.fixed, drawn))])

    def least_evaluations(self, problem: Problem) -> int:
        return 0


def subset_size(problem: Problem, epsilon: float) -> int:
    """Return how many arms an iteration of stochastic greedy looks at."""
    n_chosen = max(1, problem.k - len(problem.feasibility.fixed))
    return math.ceil(len(problem.source) / n_chosen * -math.log(epsilon))


def exact_guarantee(name: str, feasibility: Feasibility) -> Guarantee | None:
    """Return what is proven of greedy on exact gains under these rules."""
    if feasibility.prices is None:
        share = "f*/2" if feasibility.has_quotas else "(1 - 1/e) f*"
        return Guarantee(
            method=name, statement=f"f >= {share}", conditions=conditions_of(feasibility)
        )
    if feasibility.has_quotas:
        return None
    return Guarantee(
        method=name,
        statement="f >= (1 - 1/e)/2 f*",
        conditions=(
            *conditions_of(feasibility),
            "C is at least twice the cost of the worst single row",
        ),
    )


def conditions_of(feasibility: Feasibility) -> tuple[str, ...]:
    """Return what a guarantee must say of the rules it was reached under."""
    return () if feasibility.is_free else ("f* is the best f within the constraints",)


def _n_gains(problem: Problem, r: int, share: float) -> int:
    """Return the terms of all gains: whole on the first two iterations, then ``share`` of them."""
    iterations = -(-problem.k // r)
    whole = min(2, iterations)
    return round((whole + share * (iterations - whole)) * len(problem.source) * len(problem.target))
