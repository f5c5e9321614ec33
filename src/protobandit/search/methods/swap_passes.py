"""Prototypes improved by passes over all arms of a full table: what these methods share.

Memory: the |S| x |T| matrix and a few numbers a row. Evaluations: |S||T|, each dissimilarity once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.checks import require_integer, weights_or_ones
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import Tile
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SavedState, SearchControl, StopReason
from protobandit.search.drivers.full_swaps import Pass, ordered
from protobandit.search.drivers.greedy import Pick, SwapPasses
from protobandit.search.methods.greedy import LazyGreedy, exact_guarantee
from protobandit.search.methods.initial_rows import BUILD, as_init, require_init, starting_rows
from protobandit.search.methods.method import Method, Outcome, Schedule
from protobandit.search.objectives.medoids import Medoids

Passes: TypeAlias = Callable[..., Iterator[Pass]]  # of Medoids

_STATE = "passes"


def sentence(passes: SwapPasses) -> str:
    """Return what the user should know of the passes."""
    end = f", ended by {passes.ended_by} before no other helped" if passes.ended_by else ""
    swaps = f"{passes.n_swaps:,} swap{'' if passes.n_swaps == 1 else 's'}"
    return f"{swaps} in {passes.n_passes:,} pass{'' if passes.n_passes == 1 else 'es'}{end}."


@dataclass(frozen=True, kw_only=True)
class SwapPassMethod(Method, ABC):
    """A start, improved by passes over the whole matrix: what methods that do so share.

    Parameters
    ----------
    init
        "build" (greedy), "random", "heuristic" (the most central rows), "k-medoids++" (rows that
        are far apart), the numbers of k source rows, or a `Selection`.
    max_iter
        How many passes at most; 0 leaves the start as it is.
    """

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    init: Any = BUILD
    max_iter: int = 300

    def __post_init__(self) -> None:
        object.__setattr__(self, "init", as_init(self.init))
        require_integer(self.max_iter, "max_iter", at_least=0)

    @property
    @abstractmethod
    def passes(self) -> Passes:
        """Return what goes over the arms."""

    @property
    def builder(self) -> LazyGreedy:
        """Return the method of ``init="build"``."""
        return LazyGreedy(memoize=True)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        require_room(oracle, control.limits, f"method={self.name!r}", "Use method='lazybandit'.")
        require_init(self.init, oracle.problem)
        weights = weights_of(oracle.problem)
        control.report("computing all dissimilarities")
        table = whole_table(oracle)
        if self.init == BUILD:
            built = build(self.builder, oracle, random, control, schedule)
            if control.stopped:
                yield from as_built(built, control.stopped)
                return
            start = np.concatenate([pick.arms for pick in built])
        else:
            start = starting_rows(self.init, oracle.problem, table, weights, random)
        medoids = Medoids(table, start, weights, oracle.problem.feasibility)
        yield from improved(medoids, self.passes, control, random, max_iter=self.max_iter)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return whole_schedule(problem)

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * len(problem.target)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven of a greedy build; no swap makes it worse."""
        is_greedy = self.init == BUILD and self.builder.is_exact_greedy
        return exact_guarantee(self.name, outcome.feasibility) if is_greedy else None


def improved(
    medoids: Medoids,
    passes: Passes,
    control: SearchControl,
    random: np.random.Generator,
    *,
    max_iter: int,
    name: str = "max_iter",
) -> Iterator[Pick]:
    """Run passes until one is the last, or ``max_iter`` or a limit ends them; yield in order.

    ``name`` is the user's name of ``max_iter``.
    """
    oracle = medoids.table.oracle
    with oracle.during("swap"):
        made = _run(medoids, passes, control, max_iter, name) if max_iter else SwapPasses(0, 0)
    fixed = oracle.problem.feasibility.fixed
    for pick in ordered(medoids, fixed, random, sentence(made)):
        yield replace(pick, passes=made)


def _run(
    medoids: Medoids, passes: Passes, control: SearchControl, max_iter: int, name: str
) -> SwapPasses:
    n_swaps, n_passes, done = _restored(medoids, control)
    remaining = passes(medoids, last=done)
    while True:
        control.report(f"pass {n_passes + 1}", n_picked=medoids.k, cost=medoids.cost)
        if done is not None:
            if done.is_last:
                return SwapPasses(n_swaps, n_passes)
            if not control.allows():
                return SwapPasses(n_swaps, n_passes, str(control.stopped))
            if n_passes == max_iter:
                return SwapPasses(n_swaps, n_passes, f"{name}={max_iter}")
        n_before = medoids.n_exchanged
        try:
            done = next(remaining)
        except Halt:
            control.stop()
            n_swaps += medoids.n_exchanged - n_before
            return SwapPasses(n_swaps, n_passes, str(control.stopped))
        n_swaps, n_passes = n_swaps + done.n_swaps, n_passes + 1
        if control.states.is_active:
            values = {"n_swaps": n_swaps, "n_passes": n_passes, "done": list(astuple(done))}
            control.states.save(_STATE, SavedState(values, medoids.notes()))


def _restored(medoids: Medoids, control: SearchControl) -> tuple[int, int, Pass | None]:
    """Restore the prototypes of an earlier run; return its swaps, passes, and its last pass."""
    saved = control.states.restore(_STATE)
    if saved is None:
        return 0, 0, None
    medoids.recall(saved.arrays)
    return saved.values["n_swaps"], saved.values["n_passes"], Pass(*saved.values["done"])


def build(
    builder: Method,
    oracle: Oracle,
    random: np.random.Generator,
    control: SearchControl,
    schedule: Schedule,
) -> list[Pick]:
    """Return the picks of a build, as many as the limits allow.

    ``schedule`` is that of the whole search: a checkpoint saves it, so that a resumed run keeps the
    matrix if the earlier run did.

    The next pick is expected to compute as much as the last one, unless every dissimilarity has
    been kept: if that would exceed the limit, the build ends before it.
    """
    built: list[Pick] = []
    n_left, spent = oracle.problem.k, 0
    n_source = len(oracle.problem.source)
    try:
        for pick in builder.picks(oracle, random, control, schedule):
            built.append(pick)
            n_left -= len(pick.arms)
            control.report("building", n_picked=oracle.problem.k - n_left)
            spent, before = control.counts.total, spent
            if not control.allows(spent - before if n_left and oracle.n_kept < n_source else 0):
                break
    except Halt:
        if not built:
            raise
        control.stop()
    return built


def as_built(built: Iterable[Pick], stopped: StopReason) -> Iterator[Pick]:
    """Yield what was built before a limit left no room for swaps."""
    remark = f"{stopped.at_start} left no room for swaps."
    return (replace(pick, before=None, remark=remark) for pick in built)


def whole_table(oracle: Oracle) -> FullTable:
    """Return the table of all of S and T; what has not been kept yet is computed now."""
    everyone = np.arange(len(oracle.problem.source))
    if oracle.kept is None:
        # Where an earlier run had kept all rows, this run only computes them again.
        counted = oracle.counts.snapshot() if oracle.n_kept == len(everyone) else None
        oracle.keep()
        oracle.scan(everyone, _ignore)
        if counted is not None:
            oracle.counts.restore(counted)
    assert oracle.kept is not None
    return FullTable(oracle=oracle, arms=everyone, matrix=oracle.kept)


def _ignore(tile: Tile) -> None:
    """Do nothing with what is computed to be kept."""


def weights_of(problem: Problem) -> Doubles:
    """Return the weights of the target rows, ones if all are alike."""
    return weights_or_ones(problem.weights, len(problem.target))


def require_room(oracle: Oracle, limits: Limits, what: str, instead: str) -> None:
    """Refuse to keep more dissimilarities than memory is there for."""
    room = limits.room()
    if oracle.matrix_bytes > room:
        raise InvalidInput(
            f"{what} needs {oracle.matrix_bytes / 1e9:.1f} GB for all of S and T but "
            f"{room / 1e9:.1f} GB may be used. {instead}"
        )


def whole_schedule(problem: Problem) -> Schedule:
    """Return the schedule of computing and keeping every dissimilarity."""
    n_pairs = len(problem.source) * len(problem.target)
    n_bytes = n_pairs * problem.distance_dtype.itemsize
    return Schedule(evaluations=n_pairs, memory=n_bytes, keeps_matrix=True)
