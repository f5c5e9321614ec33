"""k-medoids by swaps on the whole matrix: PAM for a source and a target, and its faster forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from protobandit._guarantee import Guarantee
from protobandit._limits import Limits
from protobandit._oracle import Oracle
from protobandit._problem import Problem
from protobandit.drivers import Pick, best_passes, eager_passes
from protobandit.methods._inits import BUILD, as_init
from protobandit.methods._method import Forecast, Outcome, require_count
from protobandit.methods._sweeps import require_passes, start_guarantee, swept, whole_forecast


@dataclass(frozen=True, kw_only=True)
class PAM:
    """Partitioning around medoids, for any source and target: BUILD, then the best swap of all.

    Every pass sums over the target for each pair of a prototype and another row; `FastPAM1` finds
    the same swaps in a k-th of the time. Evaluations: |S||T|, all of which are kept.

    Parameters
    ----------
    init
        "build" (greedy), "random", "heuristic" (the most central rows), "k-medoids++" (rows that
        are far apart), the numbers of k source rows, or a `Selection`.
    max_iter
        How many passes at most; 0 leaves the start as it is.
    r
        How many rows an iteration of BUILD takes.
    n_swaps
        How many swaps a pass makes at most, each for another prototype.

    References
    ----------
    Kaufman, Rousseeuw (1990), Finding Groups in Data, chapter 2.
    """

    name: ClassVar[str] = "pam"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    init: Any = BUILD
    max_iter: int = 300
    r: int = 1
    n_swaps: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "init", as_init(self.init))
        require_passes(self.max_iter, "max_iter")
        require_count(self.r, "r")
        require_count(self.n_swaps, "n_swaps")

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        passes = partial(best_passes, n_swaps=self.n_swaps, is_pairwise=True)
        return swept(
            oracle,
            random,
            limits,
            name=self.name,
            init=self.init,
            r=self.r,
            max_iter=self.max_iter,
            passes=passes,
        )

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return whole_forecast(problem)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return start_guarantee(self.name, self.init, outcome) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class FastPAM1:
    """The result of `PAM`, with each pass k times as fast.

    What an arm gains by itself and what it saves of each removal add up row by row, so one pass
    over its distances tells its best swap.

    Parameters
    ----------
    init, max_iter
        As in `PAM`.

    References
    ----------
    Schubert, Rousseeuw (2019), Faster k-medoids clustering.
    """

    name: ClassVar[str] = "fastpam1"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    init: Any = BUILD
    max_iter: int = 300

    def __post_init__(self) -> None:
        object.__setattr__(self, "init", as_init(self.init))
        require_passes(self.max_iter, "max_iter")

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        return swept(
            oracle,
            random,
            limits,
            name=self.name,
            init=self.init,
            max_iter=self.max_iter,
            passes=best_passes,
        )

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return whole_forecast(problem)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return start_guarantee(self.name, self.init, outcome)


@dataclass(frozen=True, kw_only=True)
class FasterPAM:
    """Swaps made as soon as they help, in few passes over all rows.

    It ends, like `PAM`, where no single swap lowers the cost, though not always at the same place.

    Parameters
    ----------
    init, max_iter
        As in `PAM`; random rows by default, from where few passes are needed too.

    References
    ----------
    Schubert, Rousseeuw (2021), Fast and eager k-medoids clustering.
    """

    name: ClassVar[str] = "fasterpam"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    init: Any = "random"
    max_iter: int = 300

    def __post_init__(self) -> None:
        object.__setattr__(self, "init", as_init(self.init))
        require_passes(self.max_iter, "max_iter")

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        return swept(
            oracle,
            random,
            limits,
            name=self.name,
            init=self.init,
            max_iter=self.max_iter,
            passes=eager_passes,
        )

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return whole_forecast(problem)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return start_guarantee(self.name, self.init, outcome)
