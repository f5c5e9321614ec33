"""Prototypes improved by passes over all arms of a full table: what these methods share.

Memory: the |S| x |T| matrix and a few numbers a row. Evaluations: |S||T|, each dissimilarity once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import Tile
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.progress.watch import Watch
from protobandit.search.drivers.full_swaps import Pass, ordered
from protobandit.search.drivers.greedy import Pick
from protobandit.search.methods.greedy import LazyGreedy, exact_guarantee
from protobandit.search.methods.initial_rows import BUILD, as_init, require_init, starting_rows
from protobandit.search.methods.method import Forecast, Method, Outcome
from protobandit.search.objectives.medoids import Medoids

Passes: TypeAlias = Callable[..., Iterator[Pass]]  # of Medoids

_END = "before no other helped"
_SENTENCE = re.compile(rf"([\d,]+) swaps? in ([\d,]+) pass(?:es)?(?:, ended by (.*) {_END})?\.")


@dataclass(frozen=True)
class SwapPassCounts:
    """What the passes did; its words are the remark of a run, from which it can be read again."""

    n_swaps: int
    n_passes: int
    ended_by: str | None = None

    def __str__(self) -> str:
        end = f", ended by {self.ended_by} {_END}" if self.ended_by else ""
        swaps = f"{self.n_swaps:,} swap{'' if self.n_swaps == 1 else 's'}"
        return f"{swaps} in {self.n_passes:,} pass{'' if self.n_passes == 1 else 'es'}{end}."

    @classmethod
    def read(cls, status: str) -> SwapPassCounts | None:
        """Return what the status of a run says of its passes, or None."""
        found = _SENTENCE.search(status)
        if found is None:
            return None
        n_swaps, n_passes = (int(found[i].replace(",", "")) for i in (1, 2))
        return cls(n_swaps, n_passes, found[3])


@dataclass(frozen=True, kw_only=True)
class SwapPassMethod(ABC):
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
        require_passes(self.max_iter, "max_iter")

    @property
    @abstractmethod
    def passes(self) -> Passes:
        """Return what goes over the arms."""

    @property
    def builder(self) -> LazyGreedy:
        """Return the method of ``init="build"``."""
        return LazyGreedy(memoize=True)

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        require_room(oracle, watch.limits, f"method={self.name!r}", "Use method='lazybandit'.")
        require_init(self.init, oracle.problem)
        weights = weights_of(oracle.problem)
        watch.tell("computing all dissimilarities")
        table = whole_table(oracle)
        if self.init == BUILD:
            built = build(self.builder, random, watch)
            if watch.stopped:
                yield from as_built(built, watch)
                return
            start = np.concatenate([pick.arms for pick in built])
        else:
            start = starting_rows(self.init, oracle.problem, table, weights, random)
        medoids = Medoids(table, start, weights, oracle.problem.feasibility)
        yield from improved(medoids, self.passes, watch, random, max_iter=self.max_iter)

    def least_evaluations(self, oracle: Oracle) -> int:
        return len(oracle.problem.source) * len(oracle.problem.target)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        return whole_forecast(problem)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven of a greedy build, which no swap makes worse."""
        is_greedy = self.init == BUILD and self.builder.r == 1
        return exact_guarantee(self.name, outcome.feasibility) if is_greedy else None


def improved(
    medoids: Medoids,
    passes: Passes,
    watch: Watch,
    random: np.random.Generator,
    *,
    max_iter: int,
    name: str = "max_iter",
) -> Iterator[Pick]:
    """Run passes until one is the last, or ``max_iter`` or a limit ends them; yield in order.

    ``name`` is what the user knows ``max_iter`` by.
    """
    oracle = medoids.table.oracle
    with oracle.during("swap"):
        sweeps = _run(medoids, passes, watch, max_iter, name) if max_iter else SwapPassCounts(0, 0)
    yield from ordered(medoids, oracle.problem.feasibility.fixed, random, str(sweeps))


def _run(
    medoids: Medoids, passes: Passes, watch: Watch, max_iter: int, name: str
) -> SwapPassCounts:
    n_swaps, n_passes, done = _earlier(medoids, watch)
    if done is not None and done.n_unchanged:
        passes = partial(passes, n_unchanged=done.n_unchanged)
    going = passes(medoids)
    while True:
        watch.tell(f"pass {n_passes + 1}", n_picked=medoids.k, cost=medoids.cost)
        if done is not None:
            if done.is_last:
                return SwapPassCounts(n_swaps, n_passes)
            if not watch.allows():
                return SwapPassCounts(n_swaps, n_passes, watch.stopped)
            if n_passes == max_iter:
                return SwapPassCounts(n_swaps, n_passes, f"{name}={max_iter}")
        n_before = medoids.n_exchanged
        try:
            done = next(going)
        except Halt:
            watch.halted()
            return SwapPassCounts(n_swaps + medoids.n_exchanged - n_before, n_passes, watch.stopped)
        n_swaps, n_passes = n_swaps + done.n_swaps, n_passes + 1
        if watch.is_noting:
            values = {"n_swaps": n_swaps, "n_passes": n_passes, "done": list(astuple(done))}
            watch.note("passes", values, medoids.notes())


def _earlier(medoids: Medoids, watch: Watch) -> tuple[int, int, Pass | None]:
    """Put prototypes where an earlier run had them; return its swaps, passes, and the last one."""
    stage = watch.recall("passes")
    if stage is None:
        return 0, 0, None
    medoids.recall(stage.arrays)
    return stage.values["n_swaps"], stage.values["n_passes"], Pass(*stage.values["done"])


def build(builder: Method, random: np.random.Generator, watch: Watch) -> list[Pick]:
    """Return the picks of a build, as many as the limits allow.

    The next pick is expected to compute as much as the last, unless every dissimilarity has been
    kept: where that would go beyond the limit, the build ends before it.
    """
    oracle = watch.oracle
    built: list[Pick] = []
    n_left, spent = oracle.problem.k, 0
    try:
        for pick in builder.picks(oracle, random, watch):
            built.append(pick)
            n_left -= len(pick.arms)
            watch.tell("building", n_picked=oracle.problem.k - n_left)
            spent, before = oracle.evaluations.total(), spent
            if not watch.allows(spent - before if n_left and oracle.kept is None else 0):
                break
    except Halt:
        if not built:
            raise
        watch.halted()
    return built


def as_built(built: Iterable[Pick], watch: Watch) -> Iterator[Pick]:
    """Yield what was built before a limit left no room for swaps."""
    remark = f"{watch.culprit} left no room for swaps."
    return (replace(pick, before=None, remark=remark) for pick in built)


def whole_table(oracle: Oracle) -> FullTable:
    """Return the table of all of S and T; what has not been kept yet is computed now."""
    everyone = np.arange(len(oracle.problem.source))
    if oracle.kept is None:
        oracle.keep()
        oracle.scan(everyone, _ignore)
    assert oracle.kept is not None
    return FullTable(oracle=oracle, arms=everyone, matrix=oracle.kept)


def _ignore(tile: Tile) -> None:
    """Do nothing with what is computed to be kept."""


def weights_of(problem: Problem) -> Doubles:
    """Return the weights of the target rows, ones if all are alike."""
    return np.ones(len(problem.target)) if problem.weights is None else problem.weights


def require_room(oracle: Oracle, limits: Limits, what: str, instead: str) -> None:
    """Refuse to keep more dissimilarities than memory is there for."""
    room = limits.room()
    if oracle.matrix_bytes > room:
        raise InvalidInput(
            f"{what} needs {oracle.matrix_bytes / 1e9:.1f} GB for all of S and T but "
            f"{room / 1e9:.1f} GB may be used. {instead}"
        )


def whole_forecast(problem: Problem) -> Forecast:
    """Return what computing and keeping every dissimilarity takes."""
    n_pairs = len(problem.source) * len(problem.target)
    return Forecast(evaluations=n_pairs, memory=n_pairs * problem.dtype.itemsize)


def require_passes(value: Any, name: str) -> None:
    """Refuse anything but whole numbers from 0 on."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a whole number >= 0.")
