"""k-medoids in the manner of k-means: assign, recentre, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from protobandit._guarantee import Guarantee
from protobandit._limits import Limits
from protobandit._oracle import Oracle
from protobandit._problem import Problem
from protobandit.drivers import Pick, voronoi_passes
from protobandit.methods._inits import BUILD, as_init
from protobandit.methods._method import Forecast, Outcome
from protobandit.methods._sweeps import require_passes, start_guarantee, swept, whole_forecast


@dataclass(frozen=True, kw_only=True)
class Alternate:
    """Every prototype moves to the middle of its cell, until none does (Voronoi iteration).

    A pass reads a k-th of the matrix, but prototypes never leave their neighbourhood, so the result
    is worse than by swaps. Evaluations: |S||T|, all of which are kept.

    Parameters
    ----------
    init, max_iter
        As in `PAM`.

    References
    ----------
    Maranzana (1963); Park, Jun (2009), A simple and fast algorithm for k-medoids clustering.
    """

    name: ClassVar[str] = "alternate"
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
            passes=voronoi_passes,
        )

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return whole_forecast(problem)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return start_guarantee(self.name, self.init, outcome)
