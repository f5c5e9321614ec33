"""Greedy methods on exact gains, and random rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.progress.watch import Watch
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.lazy import Lazy
from protobandit.search.arms.subset import Subset
from protobandit.search.drivers.budgeted import budgeted_greedy
from protobandit.search.drivers.greedy import Pick, given, greedy
from protobandit.search.methods.method import (
    Forecast,
    Memoize,
    Outcome,
    exact_coverage,
    exact_forecast,
    require_count,
    require_epsilon,
    require_memoize,
)
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.sampled_coverage import SampledCoverage

_STILL_LOOKED_AT = 0.03  # of all arms, at an iteration of lazy greedy (measured on MNIST)


@dataclass(frozen=True, kw_only=True)
class SpotGreedy:
    """Exact greedy: every gain, at every iteration (SPOTgreedy; PAM's BUILD).

    Evaluations: |S||T| when memoized, else the sum of (|S| - |M|)|T| over the iterations, and |T| a
    prototype under "assign". Memory: the |S| x |T| matrix when memoized, else a few blocks.

    Parameters
    ----------
    r
        How many rows an iteration takes.
    memoize
        Whether to keep every dissimilarity; "auto" does if half the free memory holds them.

    References
    ----------
    Gurumoorthy, Jawanpuria, Mishra (2021), SPOT; Kaufman, Rousseeuw (1990), PAM.
    """

    name: ClassVar[str] = "spotgreedy"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups", "costs", "until"})
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_count(self.r, "r")
        require_memoize(self.memoize)

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        coverage = exact_coverage(oracle, self.memoize, watch)
        return _picks(Exhaustive(), coverage, oracle, self.r, random, watch)

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return exact_forecast(problem, _n_gains(problem, self.r, 1.0), self.memoize, limits)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class LazyGreedy:
    """The answer of `SpotGreedy`, with gains recomputed only where they may matter.

    Gains only shrink as prototypes are added, so an old gain is an upper bound and most rows are
    never looked at again.

    Parameters
    ----------
    r, memoize
        As in `SpotGreedy`.

    References
    ----------
    Minoux (1978), Accelerated greedy algorithms.
    """

    name: ClassVar[str] = "lazygreedy"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups", "costs", "until"})
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_count(self.r, "r")
        require_memoize(self.memoize)

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        coverage = exact_coverage(oracle, self.memoize, watch)
        return _picks(Lazy(), coverage, oracle, self.r, random, watch)

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return exact_forecast(
            problem, _n_gains(problem, self.r, _STILL_LOOKED_AT), self.memoize, limits
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class StochasticGreedy:
    """Exact gains on a random subset of the source at every iteration.

    Parameters
    ----------
    epsilon
        What may be lost on average, in 0 < epsilon < 1 - 1/e; a subset has |S| / k ln(1 / epsilon)
        rows, with k the number that is to be chosen.
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

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        strategy = Subset(inner=Exhaustive(), size=subset_size(oracle.problem, self.epsilon))
        coverage = exact_coverage(oracle, self.memoize, watch)
        return greedy(strategy, coverage, **_size(oracle.problem), random=random, watch=watch)

    def least_evaluations(self, oracle: Oracle) -> int:
        return subset_size(oracle.problem, self.epsilon) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        n_gains = problem.k * subset_size(problem, self.epsilon) * len(problem.target)
        return exact_forecast(problem, n_gains, self.memoize, limits)

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
class Random:
    """Rows drawn at random: what any method must beat."""

    name: ClassVar[str] = "random"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        problem, coverage = oracle.problem, SampledCoverage.of(oracle, scale=1.0)
        feasibility = problem.feasibility
        drawn = feasibility.draw(feasibility.fixed, problem.k - len(feasibility.fixed), random)
        return iter([given(coverage, np.append(feasibility.fixed, drawn))])

    def least_evaluations(self, oracle: Oracle) -> int:
        return 0

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return Forecast(evaluations=0, memory=0)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return None


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


def _picks(
    strategy: Strategy,
    coverage: ExactCoverage,
    oracle: Oracle,
    r: int,
    random: np.random.Generator,
    watch: Watch,
) -> Iterator[Pick]:
    """Yield greedy's picks, or what is bought where rows have costs."""
    problem = oracle.problem
    if problem.feasibility.prices is None:
        return greedy(strategy, coverage, **_size(problem), r=r, random=random, watch=watch)

    def reached() -> str | None:
        return None if watch.allows() else watch.stopped

    return budgeted_greedy(
        strategy,
        coverage,
        feasibility=problem.feasibility,
        k=problem.k,
        r=r,
        random=random,
        reached=reached,
    )


def _n_gains(problem: Problem, r: int, share: float) -> int:
    """Return the terms of all gains: whole on the first two iterations, then ``share`` of them."""
    iterations = -(-problem.k // r)
    whole = min(2, iterations)
    return round((whole + share * (iterations - whole)) * len(problem.source) * len(problem.target))


def _size(problem: Problem) -> dict[str, Any]:
    return {"n_source": len(problem.source), "k": problem.k, "feasibility": problem.feasibility}
