"""Any build, improved by swaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._guarantee import Guarantee
from protobandit._limits import Limits
from protobandit._oracle import Oracle
from protobandit._problem import Problem
from protobandit._table import Batch, Table
from protobandit._typing import Ids
from protobandit.drivers import Lap, Pick, Rung, refine_best, refine_eagerly
from protobandit.methods._greedy import LazyGreedy, Random, SpotGreedy, StochasticGreedy
from protobandit.methods._lazybandit import EFFORTS, in_order, race_forecast, raced
from protobandit.methods._method import Forecast, Method, Outcome, require_count
from protobandit.methods._protobandit import ProtoBandit
from protobandit.objectives import Standing

BUILDS: dict[str, type[Any]] = {
    build.name: build for build in (LazyGreedy, SpotGreedy, StochasticGreedy, ProtoBandit, Random)
}
SWAPS = ("eager", "best", "local")


@dataclass(frozen=True, kw_only=True)
class Refined:
    """The prototypes of another method, improved by swaps and put in order again.

    "eager" and "best" look at all of S and T: |S||T| evaluations, unless the build kept them, and
    twice the matrix in memory. No swap raises the cost, so what is proven of an exact greedy build
    holds of the result. "local" races on sampled target rows, as `LazyBandit` does, from the build
    on.

    Parameters
    ----------
    build
        The name of the method that builds, or one of its values.
    swaps
        "eager" (FasterPAM: whatever helps), "best" (FastPAM1: the best swap of each pass, with the
        result of PAM's SWAP), or "local" (near an arm's own cells, on a growing sample).
    passes
        How often "eager" goes over all arms at most, or how many swaps "best" makes at most.
    """

    name: ClassVar[str] = "refined"
    build: Any = "lazygreedy"
    swaps: str = "eager"
    passes: int = 100

    def __post_init__(self) -> None:
        require_count(self.passes, "passes")
        if not (isinstance(self.swaps, str) and self.swaps in SWAPS):
            raise InvalidInput(f"swaps={self.swaps!r} is not known. Use one of {list(SWAPS)}.")
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

    def picks(self, oracle: Oracle, random: np.random.Generator, limits: Limits) -> Iterator[Pick]:
        started, built = perf_counter(), []
        for pick in self.builder.picks(oracle, random, limits):
            built.append(pick)
            spent = sum(oracle.evaluations.values())
            stopped = limits.reached(spent, perf_counter() - started)
            if stopped:
                remark = f"The limit of {stopped} left no room for swaps."
                yield from (replace(pick, before=None, remark=remark) for pick in built)
                return
        start = np.concatenate([pick.arms for pick in built])
        if self.swaps == "local":
            yield from raced(oracle, random, limits, effort=EFFORTS["balanced"], start=start)
        else:
            is_proven = all(pick.is_proven for pick in built)
            lap = self._swapped(oracle, start, limits, is_proven)
            yield from in_order(oracle, lap, random)

    def _swapped(self, oracle: Oracle, start: Ids, limits: Limits, is_proven: bool) -> Lap:
        problem = oracle.problem
        n_source, n_target = len(problem.source), len(problem.target)
        needed = n_source * n_target * (oracle.dtype.itemsize + 4)
        if needed > limits.room():
            raise InvalidInput(
                f"swaps={self.swaps!r} needs {needed / 1e9:.1f} GB for all of S and T but "
                f"{limits.room() / 1e9:.1f} GB may be used. Pass swaps='local'."
            )
        weights = np.ones(n_target) if problem.weights is None else problem.weights
        batch = Batch(0, oracle.targets(slice(0, n_target)), weights)
        refine = refine_eagerly if self.swaps == "eager" else refine_best
        with oracle.during("swap"):
            table = Table.whole(oracle, batch.targets)
            standing = Standing(start, table.matrix[start], weights)
            n_swaps = refine(standing, table.patchwork(batch), passes=self.passes)
        rung = Rung(n_source, n_target, 0, self.passes)
        return Lap(rung, table.arms, standing, n_swaps, n_source, is_proven)

    def least_evaluations(self, oracle: Oracle) -> int:
        return self.builder.least_evaluations(oracle)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        built = self.builder.forecast(problem, limits)
        if self.swaps == "local":
            swapped = race_forecast(problem, limits, EFFORTS["balanced"])
        else:
            n_pairs = len(problem.source) * len(problem.target)
            is_kept = built.memory > 0 and built.evaluations == n_pairs
            n_bytes = n_pairs * (problem.dtype.itemsize + 4)
            swapped = Forecast(evaluations=0 if is_kept else n_pairs, memory=n_bytes)
        return Forecast(
            evaluations=built.evaluations + swapped.evaluations,
            memory=max(built.memory, swapped.memory),
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        is_greedy = isinstance(self.builder, (LazyGreedy, SpotGreedy)) and self.builder.r == 1
        if self.swaps == "local" or not is_greedy:
            return None
        return Guarantee(method=self.name, statement="f >= (1 - 1/e) f*")
