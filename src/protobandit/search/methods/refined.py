"""Any build, improved by swaps."""

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
from protobandit.search.drivers.greedy import Pick
from protobandit.search.methods.greedy import (
    LazyGreedy,
    Random,
    SpotGreedy,
    StochasticGreedy,
    exact_guarantee,
)
from protobandit.search.methods.lazybandit import EFFORTS, race_schedule, raced
from protobandit.search.methods.method import Method, Outcome, Schedule
from protobandit.search.methods.protobandit import ProtoBandit
from protobandit.search.methods.swap_passes import (
    as_built,
    build,
    improved,
    require_room,
    weights_of,
    whole_table,
)
from protobandit.search.objectives.medoids import Medoids

BUILDS: dict[str, type[Any]] = {
    build.name: build for build in (LazyGreedy, SpotGreedy, StochasticGreedy, ProtoBandit, Random)
}
SWAPS = ("eager", "best", "local")


@dataclass(frozen=True, kw_only=True)
class Refined(Method):
    """The prototypes of another method, improved by swaps and put in order again.

    Fixed rows stay and quotas hold, in the build and in every swap; prices do not: a swap can spend
    more than was left.

    "eager" and "best" look at all of S and T: |S||T| evaluations, unless the build kept them, and
    the matrix in memory. No swap raises the cost, so what is proven of an exact greedy build holds
    of the result. "local" races on sampled target rows, as `LazyBandit` does, from the build
    on.

    Parameters
    ----------
    build
        The name of the method that builds, one of its values, or what ``Selection.parameters``
        holds of one.
    swaps
        "eager" (FasterPAM: whatever helps), "best" (FastPAM1: the best swap of each pass, with the
        result of PAM's SWAP), or "local" (near an arm's own cells, on a growing sample).
    passes
        How often "eager" goes over all arms at most, or how many swaps "best" makes at most.
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
                f"build={self.build!r:.60} is not known. Use one of {list(BUILDS)}, or a value "
                f"such as methods.LazyGreedy()."
            )

    @property
    def builder(self) -> Method:
        """Return the method that builds."""
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
            require_room(oracle, control.limits, f"swaps={self.swaps!r}", "Pass swaps='local'.")
        built = build(self.builder, oracle, random, control, schedule)
        if control.stopped or (self.swaps != "local" and not control.allows(_missing(oracle))):
            assert control.stopped is not None
            yield from as_built(built, control.stopped)
            return
        start = np.concatenate([pick.arms for pick in built])
        if self.swaps == "local":
            yield from raced(oracle, random, control, schedule, start=start)
            return
        try:
            with oracle.during("swap"):
                table = whole_table(oracle)
        except Halt:
            control.stop()
            yield from as_built(built, INTERRUPTED)
            return
        with oracle.during("swap"):
            medoids = Medoids(table, start, weights_of(oracle.problem), oracle.problem.feasibility)
        passes = eager_passes if self.swaps == "eager" else best_passes
        found = improved(medoids, passes, control, random, max_iter=self.passes, name="passes")
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
        if self.swaps == "local" or not self.builder.is_exact_greedy:
            return None
        return exact_guarantee(self.name, outcome.feasibility)


def _missing(oracle: Oracle) -> int:
    """Return how many dissimilarities swaps need that the build has not kept."""
    return (len(oracle.problem.source) - oracle.n_kept) * len(oracle.problem.target)
