"""The prototypes of another method, improved by swaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import (
    require_choice,
    require_integer,
    require_number,
    significant,
)
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import INTERRUPTED, SearchControl
from protobandit.search.drivers.full_swaps import best_passes, eager_passes
from protobandit.search.drivers.pac_swaps import PacSwaps, PacTerms, reads_whole_target
from protobandit.search.drivers.pick import Pick, SwapPasses
from protobandit.search.methods.effort import EFFORTS
from protobandit.search.methods.greedy import LazyGreedy, SpotGreedy, StochasticGreedy
from protobandit.search.methods.greedy_bounds import exact_guarantee
from protobandit.search.methods.lazybandit import race_schedule, run_race
from protobandit.search.methods.locality import with_locality
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule, require_memory
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
SWAPS = ("eager", "best", "local", "pac")
_SAMPLES = 2.0  # samples of "pac", in units of the first (for predictions only)


@dataclass(frozen=True, kw_only=True)
class Refined(Method):
    """The prototypes of another method, improved by swaps and ordered by greedy gain.

    The start and every swap satisfy fixed rows and quotas. Costs with a budget are not supported,
    because a swap could exceed the budget.

    "eager" and "best" use the whole matrix. Evaluations: those of the start, and |S||T| unless the
    start kept them. Memory: the |S| x |T| matrix. No swap raises the cost, so what is proven about
    exact greedy selection holds for the result. "local" runs the race of `LazyBandit` on sampled
    target rows from the start; its evaluations and memory are those of the start and the race.

    "pac" swaps on samples of the target until a fresh sample proves that little is left: with
    probability at least 1 - delta, no single swap of any prototype for any other source row lowers
    the cost by more than nu times the cost. It makes no assumption on the dissimilarity, on its
    largest value or on the weights; the proof is in ``protobandit.search.drivers.pac_swaps``. No
    swap raises the cost of the whole target. The first sample only finds swaps. A sample has at
    least 3 ln(2 k |S| / delta) / nu rows. If half of the target or more would be needed, or the
    start kept all dissimilarities, "pac" is "eager", and the statement is certain. Evaluations:
    those of the start, |S| per sampled row, and |T| for each prototype and each swap. Memory: |S|
    numbers per row of a sample, and k x |T|.

    Parameters
    ----------
    build
        The method of the start: a name, an instance, or its entry in ``Selection.parameters``.
    swaps
        "eager" (FasterPAM: every swap that lowers the cost), "best" (FastPAM1: the best swap of
        each pass, with the result of PAM's SWAP), "local" (within the home cells of a source
        row, on a growing sample), or "pac" (on samples, ends with a proof).
    passes
        Largest number of passes of "eager", of swaps of "best", or of samples of "pac".
    nu, delta
        For "pac": the largest gain of a swap that may remain, and the probability of error. By
        default nu is 1 / (4 k), with which the cost is at most 20/3 times the best one if the
        dissimilarity obeys the triangle inequality.
    scale
        For "pac": the unit of ``nu``. The default is the cost of the result. (In `ProtoBandit` it
        is C, an upper bound of the dissimilarity; swaps do not need one.)
    """

    name: ClassVar[str] = "refined"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    build: Any = "lazygreedy"
    swaps: str = "eager"
    passes: int = 100
    nu: float | None = None
    delta: float = 0.05
    scale: float | None = None

    def __post_init__(self) -> None:
        require_integer(self.passes, "passes")
        if isinstance(self.build, Mapping) and self.build.get("method") in BUILDS:
            parameters = {name: value for name, value in self.build.items() if name != "method"}
            object.__setattr__(self, "build", BUILDS[self.build["method"]](**parameters))
        require_choice(self.swaps, "swaps", SWAPS)
        require_number(self.nu, "nu", above=0, allows_none=True)
        require_number(self.delta, "delta", above=0, below=1)
        require_number(self.scale, "scale", above=0, allows_none=True)
        if self.scale is None and self.nu is not None and self.nu >= 1:
            raise InvalidInput(
                f"nu={self.nu:g} says nothing: no swap lowers the cost by more than the cost. Pass "
                f"0 < nu < 1, or the unit of nu as scale."
            )
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
        if self.swaps in ("eager", "best"):
            user, instead = f"swaps={self.swaps!r}", "Pass swaps='local'."
            require_matrix_memory(oracle, control.limits, user, instead)
        elif self._samples(schedule):
            self._require_memory(oracle.problem, control.limits, schedule)
        picks = self.builder.picks(oracle, random, control, schedule)
        built = build(picks, oracle, control)
        if control.stopped or not control.allows(self._n_first(oracle, schedule)):
            assert control.stopped is not None
            yield from without_swaps(built, control.stopped)
            return
        start = np.concatenate([pick.arms for pick in built])
        if self.swaps == "local":
            yield from run_race(oracle, random, control, schedule, start=start)
            return
        if self._samples(schedule):
            try:
                with oracle.during("swap"):
                    pac = self._pac_swaps(oracle, start, random, control, schedule)
                    made = pac.run()
            except Halt:
                control.stop()
                yield from without_swaps(built, INTERRUPTED)
                return
            start = pac.state.members.copy()
            if made is None and not control.allows(_n_missing(oracle)):
                made = pac.passes(ended_by=str(control.stopped))
            if made is not None:
                is_proven = all(pick.is_proven for pick in built)
                yield from (replace(pick, is_proven=is_proven) for pick in pac.picks(made))
                return
            del pac
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
        passes = best_passes if self.swaps == "best" else eager_passes
        found = improve(medoids, passes, control, random, max_iter=self.passes, name="passes")
        is_proven = all(pick.is_proven for pick in built)
        yield from (replace(pick, is_proven=is_proven) for pick in found)

    def tolerance(self, k: int) -> float:
        """Return nu."""
        return 1 / (4 * k) if self.nu is None else self.nu

    def _samples(self, schedule: Schedule) -> bool:
        """Return whether swaps are proven on samples; not if the start keeps everything."""
        return self.swaps == "pac" and not schedule.keeps_matrix

    def _n_first(self, oracle: Oracle, schedule: Schedule) -> int:
        """Return the number of evaluations without which no swap can be found."""
        if self._samples(schedule):
            return oracle.problem.k * len(oracle.problem.target)
        return 0 if self.swaps == "local" else _n_missing(oracle)

    def _pac_swaps(
        self,
        oracle: Oracle,
        start: Ids,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> PacSwaps:
        terms = PacTerms(
            nu=self.tolerance(oracle.problem.k),
            delta=self.delta,
            scale=self.scale,
            most_rows=schedule.n_sampled,
            most_samples=self.passes,
        )
        return PacSwaps.start(oracle, start, random=random, control=control, terms=terms)

    def _require_memory(self, problem: Problem, limits: Limits, schedule: Schedule) -> None:
        """Raise if there is no room for the prototypes and one sampled row."""
        itemsize = problem.distance_dtype.itemsize
        needed = (problem.k * problem.n_target + problem.n_source) * itemsize
        if schedule.n_sampled < 1:
            require_memory(
                needed,
                limits,
                user="swaps='pac'",
                contents="the distances of the prototypes to the whole target",
                instead="Pass swaps='local'.",
            )

    def _pac_schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_source, n_target, k = problem.n_source, problem.n_target, problem.k
        itemsize = problem.distance_dtype.itemsize
        room = limits.memory_budget
        fits = n_source * n_target * itemsize <= room
        most = (room - k * n_target * itemsize) // (n_source * itemsize)
        most = n_target if fits else max(0, min(most, n_target - 1))
        nu = self.tolerance(k)
        terms = PacTerms(
            nu=nu, delta=self.delta, scale=None, most_rows=most, most_samples=self.passes
        )
        n_rows = terms.first_rows((n_source - k) * k, nu)
        if fits and reads_whole_target(n_rows, n_target):
            evaluations, kept = (n_source + k) * n_target, n_source * n_target
        else:
            n_rows = min(n_rows, most)
            evaluations = round(2 * k * n_target + _SAMPLES * n_rows * n_source)
            kept = k * n_target + n_rows * n_source
        return Schedule(
            evaluations=evaluations,
            is_rough=True,
            memory=kept * itemsize + working_bytes(problem),
            n_sampled=most,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return self.builder.least_evaluations(problem)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        built = self.builder.schedule(problem, limits)
        if self.swaps == "local":
            swapped = race_schedule(problem, limits, EFFORTS["balanced"])
        elif self.swaps == "pac" and not built.keeps_matrix:
            swapped = self._pac_schedule(problem, limits)
        else:
            n_pairs = len(problem.source) * len(problem.target)
            n_kept = min(built.evaluations, n_pairs) if built.keeps_matrix else 0
            n_bytes = n_pairs * problem.distance_dtype.itemsize
            swapped = Schedule(
                evaluations=n_pairs - n_kept,
                most_evaluations=n_pairs,
                memory=n_bytes + working_bytes(problem),
            )
        return replace(
            swapped,
            evaluations=built.evaluations + swapped.evaluations,
            most_evaluations=_most(built, swapped),
            is_rough=built.is_rough or swapped.is_rough,
            memory=max(built.memory, swapped.memory),
            keeps_matrix=built.keeps_matrix,
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if self.swaps == "local":
            return None
        is_exact_greedy = self.builder.is_exact_greedy
        built = exact_guarantee(self.name, outcome.feasibility) if is_exact_greedy else None
        found = with_locality(built, self.name, outcome)
        passes = outcome.passes
        if self.swaps != "pac" or passes is None or passes.gain_bound is None:
            return found
        return self._pac_guarantee(found, passes, outcome)

    def _pac_guarantee(
        self, found: Guarantee | None, passes: SwapPasses, outcome: Outcome
    ) -> Guarantee:
        """Return what the swaps prove, together with what was proven without it."""
        assert passes.gain_bound is not None
        allowed = "" if outcome.feasibility.is_free else " within the constraints"
        # Exact swaps end at a threshold, which may be above a very small nu.
        share, nu = passes.gain_bound, self.tolerance(outcome.problem.k)
        nu = max(nu, share if self.scale is None else share * outcome.cost / self.scale)
        unit = "the cost" if self.scale is None else f"C = {significant(self.scale, is_up=True)}"
        most = f"{significant(nu, is_up=True)} times {unit}"
        parts = [f"no single swap{allowed} lowers the cost by more than {most}"]
        if found is not None:
            parts.append(found.statement)
        least = significant(1 - passes.delta, is_up=False)
        certainty = f"with probability at least {least}, " if passes.delta else ""
        return Guarantee(
            method=self.name,
            statement=certainty + " and ".join(parts),
            cost_factor=None if found is None else found.cost_factor,
            probability=1 - passes.delta,
            nu=nu,
            delta=passes.delta,
            scale=self.scale,
            conditions=() if found is None else found.conditions,
        )


def _most(built: Schedule, swapped: Schedule) -> int | None:
    """Return the evaluations of both that are never exceeded; a kept matrix is computed once."""
    if built.keeps_matrix and not swapped.rungs:
        return swapped.most_evaluations
    if built.most_evaluations is None or swapped.most_evaluations is None:
        return None
    return built.most_evaluations + swapped.most_evaluations


def _n_missing(oracle: Oracle) -> int:
    """Return the number of dissimilarities that swaps need and the start has not kept."""
    return (len(oracle.problem.source) - oracle.n_kept) * len(oracle.problem.target)
