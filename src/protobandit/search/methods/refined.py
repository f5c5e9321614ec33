"""The prototypes of another method, improved by swaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.checks import require_choice, require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import INTERRUPTED, SearchControl
from protobandit.search.drivers.full_swaps import best_passes, eager_passes
from protobandit.search.drivers.pick import Pick
from protobandit.search.methods.greedy import LazyGreedy, SpotGreedy, StochasticGreedy
from protobandit.search.methods.greedy_bounds import exact_guarantee
from protobandit.search.methods.lazybandit import EFFORTS, race_schedule, run_race
from protobandit.search.methods.locality import with_locality
from protobandit.search.methods.method import Method, Outcome, Schedule
from protobandit.search.methods.protobandit import ProtoBandit
from protobandit.search.methods.random_rows import Random
from protobandit.search.methods.swap_passes import (
    build,
    improve,
    require_matrix_memory,
    whole_table,
    without_swaps,
)
from protobandit.search.objectives.medoids import Medoids

BUILDS: dict[str, type[Any]] = {
    build.name: build for build in (LazyGreedy, SpotGreedy, StochasticGreedy, ProtoBandit, Random)
}
SWAPS = ("eager", "best", "local")


@dataclass(frozen=True, kw_only=True)
class Refined(Method):
    """The prototypes of another method, improved by swaps and ordered by greedy gain.

    The start and every swap satisfy fixed rows and quotas. Costs with a budget are not supported,
    because a swap could exceed the budget.

    "eager" and "best" use the whole matrix. Evaluations: those of the start, and |S||T| unless the
    start kept them. Memory: the |S| x |T| matrix. No swap raises the cost, so what is proven about
    exact greedy selection holds for the result. "local" runs the race of `LazyBandit` on sampled
    target rows from the start; its evaluations and memory are those of the start and the race.

    Parameters
    ----------
    build
        The method of the start: a name, an instance, or its entry in ``Selection.parameters``.
    swaps
        "eager" (FasterPAM: every swap that lowers the cost), "best" (FastPAM1: the best swap of
        each pass, with the result of PAM's SWAP), or "local" (within the home cells of a source
        row, on a growing sample).
    passes
        Largest number of passes of "eager", or of swaps of "best".
    """

    name: ClassVar[str] = "refined"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    build: Any = "lazygreedy"
    swaps: str = "eager"
    passes: int = 100

    def __post_init__(self) -> None:
        require_integer(self.passes, "passes")
        if isinstance(self.build, Mapping) and self.build.get("method") in BUILDS:
            parameters = {name: value for name, value in self.build.items() if name != "method"}
            object.__setattr__(self, "build", BUILDS[self.build["method"]](**parameters))
        require_choice(self.swaps, "swaps", SWAPS)
        is_name = isinstance(self.build, str) and self.build in BUILDS
        if not is_name and type(self.build) not in BUILDS.values():
            raise InvalidInput(
                f"build={self.build!r:.60} is not known. Use one of {list(BUILDS)}, or an instance "
                f"such as methods.LazyGreedy()."
            )

    @property
    def builder(self) -> Method:
        """Return the method of the start."""
        method: Method = BUILDS[self.build]() if isinstance(self.build, str) else self.build
        return method

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        if self.swaps != "local":
            user, instead = f"swaps={self.swaps!r}", "Pass swaps='local'."
            require_matrix_memory(oracle, control.limits, user, instead)
        picks = self.builder.picks(oracle, random, control, schedule)
        built = build(picks, oracle, control)
        if control.stopped or (self.swaps != "local" and not control.allows(_n_missing(oracle))):
            assert control.stopped is not None
            yield from without_swaps(built, control.stopped)
            return
        start = np.concatenate([pick.arms for pick in built])
        if self.swaps == "local":
            yield from run_race(oracle, random, control, schedule, start=start)
            return
        try:
            with oracle.during("swap"):
                table = whole_table(oracle)
        except Halt:
            control.stop()
            yield from without_swaps(built, INTERRUPTED)
            return
        with oracle.during("swap"):
            problem = oracle.problem
            medoids = Medoids(table, start, problem.target_weights, problem.feasibility)
        passes = eager_passes if self.swaps == "eager" else best_passes
        found = improve(medoids, passes, control, random, max_iter=self.passes, name="passes")
        is_proven = all(pick.is_proven for pick in built)
        yield from (replace(pick, is_proven=is_proven) for pick in found)

    def least_evaluations(self, problem: Problem) -> int:
        return self.builder.least_evaluations(problem)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        built = self.builder.schedule(problem, limits)
        if self.swaps == "local":
            swapped = race_schedule(problem, limits, EFFORTS["balanced"])
        else:
            n_pairs = len(problem.source) * len(problem.target)
            n_kept = min(built.evaluations, n_pairs) if built.memory else 0
            n_bytes = n_pairs * problem.distance_dtype.itemsize
            swapped = Schedule(evaluations=n_pairs - n_kept, memory=n_bytes)
        return replace(
            swapped,
            evaluations=built.evaluations + swapped.evaluations,
            memory=max(built.memory, swapped.memory),
            keeps_matrix=built.keeps_matrix,
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if self.swaps == "local":
            return None
        is_exact_greedy = self.builder.is_exact_greedy
        built = exact_guarantee(self.name, outcome.feasibility) if is_exact_greedy else None
        return with_locality(built, self.name, outcome)


def _n_missing(oracle: Oracle) -> int:
    """Return the number of dissimilarities that swaps need and the start has not kept."""
    return (len(oracle.problem.source) - oracle.n_kept) * len(oracle.problem.target)
