"""Greedy methods on exact gains, and random rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit._guarantee import Guarantee
from protobandit._limits import Limits
from protobandit._oracle import Oracle
from protobandit._problem import Problem
from protobandit.arms import Exhaustive, Lazy, Subset
from protobandit.drivers import Pick, greedy
from protobandit.methods._method import (
    Forecast,
    Memoize,
    Outcome,
    exact_coverage,
    exact_forecast,
    require_count,
    require_epsilon,
    require_memoize,
)
from protobandit.objectives import SampledCoverage

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
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_count(self.r, "r")
        require_memoize(self.memoize)

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        coverage = exact_coverage(oracle, self.memoize, limits)
        return greedy(Exhaustive(), coverage, **_size(oracle), r=self.r, random=random)

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return exact_forecast(problem, _n_gains(problem, self.r, 1.0), self.memoize, limits)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return _guarantee(self.name) if self.r == 1 else None


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
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_count(self.r, "r")
        require_memoize(self.memoize)

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        coverage = exact_coverage(oracle, self.memoize, limits)
        return greedy(Lazy(), coverage, **_size(oracle), r=self.r, random=random)

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return exact_forecast(
            problem, _n_gains(problem, self.r, _STILL_LOOKED_AT), self.memoize, limits
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return _guarantee(self.name) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class StochasticGreedy:
    """Exact gains on a random subset of the source at every iteration.

    Parameters
    ----------
    epsilon
        What may be lost on average, in 0 < epsilon < 1 - 1/e; a subset has |S| / k ln(1 / epsilon)
        rows.
    memoize
        As in `SpotGreedy`.

    References
    ----------
    Mirzasoleiman, Badanidiyuru, Karbasi, Vondrák, Krause (2015), Lazier than lazy greedy.
    """

    name: ClassVar[str] = "stochasticgreedy"
    epsilon: float = 0.1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_memoize(self.memoize)

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        strategy = Subset(inner=Exhaustive(), size=subset_size(oracle.problem, self.epsilon))
        coverage = exact_coverage(oracle, self.memoize, limits)
        return greedy(strategy, coverage, **_size(oracle), random=random)

    def least_evaluations(self, oracle: Oracle) -> int:
        return subset_size(oracle.problem, self.epsilon) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        n_gains = problem.k * subset_size(problem, self.epsilon) * len(problem.target)
        return exact_forecast(problem, n_gains, self.memoize, limits)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return Guarantee(
            method=self.name,
            statement=f"E[f] >= (1 - 1/e - {self.epsilon:g}) f*",
            epsilon=self.epsilon,
        )


@dataclass(frozen=True, kw_only=True)
class Random:
    """Rows drawn at random: what any method must beat."""

    name: ClassVar[str] = "random"

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        # A subset no larger than what is asked for leaves nothing to decide: no arm is pulled.
        k = oracle.problem.k
        strategy = Subset(inner=Exhaustive(), size=k)
        return greedy(
            strategy, SampledCoverage.of(oracle, scale=1.0), **_size(oracle), r=k, random=random
        )

    def least_evaluations(self, oracle: Oracle) -> int:
        return 0

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return Forecast(evaluations=0, memory=0)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return None


def subset_size(problem: Problem, epsilon: float) -> int:
    """Return how many arms an iteration of stochastic greedy looks at."""
    return math.ceil(len(problem.source) / problem.k * -math.log(epsilon))


def _n_gains(problem: Problem, r: int, share: float) -> int:
    """Return the terms of all gains: whole on the first two iterations, then ``share`` of them."""
    iterations = -(-problem.k // r)
    whole = min(2, iterations)
    return round((whole + share * (iterations - whole)) * len(problem.source) * len(problem.target))


def _size(oracle: Oracle) -> dict[str, int]:
    return {"n_source": len(oracle.problem.source), "k": oracle.problem.k}


def _guarantee(name: str) -> Guarantee:
    return Guarantee(method=name, statement="f >= (1 - 1/e) f*")
