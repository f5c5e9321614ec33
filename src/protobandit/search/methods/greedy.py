"""Greedy methods on exact gains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from protobandit.foundation.checks import require_integer, significant
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.lazy import Lazy
from protobandit.search.arms.subset import Subset
from protobandit.search.arms.threshold import Threshold
from protobandit.search.control import SearchControl
from protobandit.search.drivers.budgeted import budgeted_greedy
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.separation import Separation
from protobandit.search.methods.greedy_bounds import (
    conditions_of,
    exact_guarantee,
    require_epsilon,
    subset_size,
)
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule, require_memory
from protobandit.search.objectives.coverage import ExactCoverage

Memoize: TypeAlias = "bool | Literal['auto']"

_LAZY_SHARE = 0.03  # of all gains, computed per iteration after the second (measured on MNIST)
_THRESHOLD_SHARE = 0.04


class _ExactGains(Method):
    """The part that greedy methods on exact gains have in common."""

    memoize: Memoize
    is_lazy: ClassVar[bool] = False  # the data determine how many gains are computed

    @property
    def rows_per_iteration(self) -> int:
        """Return the number of rows that an iteration picks."""
        return 1

    def strategy(self, problem: Problem) -> Strategy:
        """Return the strategy that chooses the rows of an iteration."""
        raise NotImplementedError

    def n_terms(self, problem: Problem) -> int:
        """Return the expected number of terms of all gains that are computed."""
        raise NotImplementedError

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_target = len(problem.target)
        n_terms, n_pairs = self.n_terms(problem), len(problem.source) * n_target
        n_bytes, beside = n_pairs * problem.distance_dtype.itemsize, working_bytes(problem)
        more = Separation.evaluations(problem)
        if self.memoize is True or (self.memoize == "auto" and n_bytes <= limits.memory_budget):
            return Schedule(
                evaluations=min(n_pairs, n_terms) + more,
                most_evaluations=n_pairs + more,
                memory=n_bytes + beside,
                keeps_matrix=True,
            )
        return Schedule(
            evaluations=n_terms + problem.k * n_target + more, is_rough=self.is_lazy, memory=beside
        )

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        if self.memoize is True:
            require_memory(
                oracle.matrix_bytes,
                control.limits,
                user="memoize=True",
                contents="all dissimilarities",
                instead="Pass memoize=False, or use method='lazybandit'.",
            )
        if schedule.keeps_matrix:
            oracle.keep()
        given: dict[str, Any] = {
            "feasibility": problem.feasibility,
            "k": problem.k,
            "r": self.rows_per_iteration,
            "random": random,
            "control": control,
        }
        strategy, objective = self.strategy(problem), ExactCoverage.of(oracle)
        if problem.feasibility.prices is not None:
            return budgeted_greedy(strategy, objective, **given)
        return greedy(strategy, objective, **given, separation=Separation.of(oracle))

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * len(problem.target)


class _ExactGreedy(_ExactGains):
    """The part that `SpotGreedy` and `LazyGreedy` have in common."""

    supports: ClassVar[frozenset[str]] = frozenset(
        {"fixed", "groups", "costs", "min_distance", "until"}
    )
    share: ClassVar[float]
    r: int

    def __post_init__(self) -> None:
        require_integer(self.r, "r")
        _require_memoize(self.memoize)

    @property
    def is_exact_greedy(self) -> bool:
        return self.r == 1

    @property
    def rows_per_iteration(self) -> int:
        return self.r

    def n_terms(self, problem: Problem) -> int:
        return _n_terms(problem, -(-problem.k // self.r), self.share)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return exact_guarantee(self.name, outcome.feasibility) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class SpotGreedy(_ExactGreedy):
    """Exact greedy selection: all gains are computed at every iteration (SPOTgreedy, PAM's BUILD).

    Evaluations: |S||T| if memoized, otherwise the sum of (|S| - |M|)|T| over the iterations, and
    |T| per prototype under "assign". Memory: the |S| x |T| matrix if memoized, otherwise a few
    blocks.

    Parameters
    ----------
    r
        Number of rows per iteration.
    memoize
        Whether to keep all dissimilarities. "auto" keeps them if they fit into 4 GiB, or into
        ``Limits(memory)``.

    References
    ----------
    Gurumoorthy, Jawanpuria, Mishra (2021), SPOT; Kaufman, Rousseeuw (1990), PAM.
    """

    name: ClassVar[str] = "spotgreedy"
    share: ClassVar[float] = 1.0
    r: int = 1
    memoize: Memoize = "auto"

    def strategy(self, problem: Problem) -> Strategy:
        return Exhaustive()


@dataclass(frozen=True, kw_only=True)
class LazyGreedy(_ExactGreedy):
    """Exact greedy selection that recomputes only the gains that may be the largest.

    The result is that of `SpotGreedy`. Gains never increase as prototypes are added, so an old gain
    is an upper bound, and the gains of most rows are never recomputed.

    Evaluations and memory: as `SpotGreedy` if memoized, otherwise fewer evaluations.

    Parameters
    ----------
    r, memoize
        As in `SpotGreedy`.

    References
    ----------
    Minoux (1978), Accelerated greedy algorithms.
    """

    name: ClassVar[str] = "lazygreedy"
    is_lazy: ClassVar[bool] = True
    share: ClassVar[float] = _LAZY_SHARE
    r: int = 1
    memoize: Memoize = "auto"

    def strategy(self, problem: Problem) -> Strategy:
        return Lazy()


@dataclass(frozen=True, kw_only=True)
class StochasticGreedy(_ExactGains):
    """Greedy selection on the exact gains of a random subset of the source at every iteration.

    Evaluations: k |R||T|, where |R| is the size of a subset; at most |S||T| if memoized. Memory: as
    `SpotGreedy`.

    Parameters
    ----------
    epsilon
        The expected loss, 0 < epsilon < 1 - 1/e. A subset has |S| / k ln(1 / epsilon) rows, where k
        is the number of rows to choose.
    memoize
        As in `SpotGreedy`.

    References
    ----------
    Mirzasoleiman, Badanidiyuru, Karbasi, Vondrák, Krause (2015), Lazier than lazy greedy.
    """

    name: ClassVar[str] = "stochasticgreedy"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups", "min_distance"})
    may_overlook_far_rows: ClassVar[bool] = True
    epsilon: float = 0.1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        _require_memoize(self.memoize)

    def strategy(self, problem: Problem) -> Strategy:
        return Subset(inner=Exhaustive(), size=subset_size(problem, self.epsilon))

    def n_terms(self, problem: Problem) -> int:
        return problem.k * subset_size(problem, self.epsilon) * len(problem.target)

    def least_evaluations(self, problem: Problem) -> int:
        return subset_size(problem, self.epsilon) * len(problem.target)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.feasibility.is_uniform:
            return None
        return Guarantee(
            method=self.name,
            statement=f"E[f] >= (1 - 1/e - {significant(self.epsilon, is_up=True)}) f*",
            epsilon=self.epsilon,
            conditions=conditions_of(outcome.feasibility),
        )


@dataclass(frozen=True, kw_only=True)
class ThresholdGreedy(_ExactGains):
    """Greedy selection that picks the first row whose exact gain reaches a decreasing threshold.

    The first prototype is the best single row. For the others the threshold starts at the largest
    gain. When no row reaches it, it is multiplied by 1 - epsilon, down to epsilon / |S| of the
    largest gain. The gain of a row below the threshold is recomputed only when the threshold has
    decreased to its last value. Like that of greedy selection, the guarantee holds for every C.

    Evaluations and memory: as `LazyGreedy`.

    Parameters
    ----------
    epsilon
        The loss of the guarantee, 0 < epsilon < 1 - 1/e.
    memoize
        As in `SpotGreedy`.

    References
    ----------
    Badanidiyuru, Vondrák (2014), Fast algorithms for maximizing submodular functions.
    """

    name: ClassVar[str] = "thresholdgreedy"
    is_lazy: ClassVar[bool] = True
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups", "min_distance"})
    epsilon: float = 0.1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        _require_memoize(self.memoize)

    def strategy(self, problem: Problem) -> Strategy:
        return Threshold(epsilon=self.epsilon)

    def n_terms(self, problem: Problem) -> int:
        return _n_terms(problem, problem.k, _THRESHOLD_SHARE)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.feasibility.is_uniform:
            return None
        return Guarantee(
            method=self.name,
            statement=f"f >= (1 - 1/e - {significant(self.epsilon, is_up=True)}) f*",
            epsilon=self.epsilon,
            conditions=conditions_of(outcome.feasibility),
        )


def _n_terms(problem: Problem, n_iterations: int, share: float) -> int:
    """Return the number of terms: of all gains on two iterations, then of ``share`` of them."""
    n_first, n_pairs = min(2, n_iterations), len(problem.source) * len(problem.target)
    return round((n_first + share * (n_iterations - n_first)) * n_pairs)


def _require_memoize(memoize: Any) -> None:
    """Raise unless ``memoize`` is True, False or "auto"."""
    if not (isinstance(memoize, bool) or (isinstance(memoize, str) and memoize == "auto")):
        raise InvalidInput(f"memoize={memoize!r:.60} is not allowed. Use True, False or 'auto'.")
