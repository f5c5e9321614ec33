"""Methods that improve prototypes by passes over all arms of the full table.

Evaluations: |S||T|, each dissimilarity once. Memory: the |S| x |T| matrix, and a few numbers per
row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from protobandit.foundation.checks import require_integer, weights_or_ones
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import Tile
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.lazy import Lazy
from protobandit.search.control import SavedState, SearchControl, StopReason
from protobandit.search.drivers.full_swaps import Pass
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick, SwapPasses
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.methods.greedy_bounds import exact_guarantee
from protobandit.search.methods.initial_rows import BUILD, as_init, initial_rows, require_init
from protobandit.search.methods.locality import with_locality
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule, require_memory
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.medoids import Medoids

Passes: TypeAlias = Callable[..., Iterator[Pass]]  # of Medoids

_STATE = "passes"


@dataclass(frozen=True, kw_only=True)
class SwapPassMethod(Method, ABC):
    """A method that improves initial prototypes by passes over the whole matrix.

    Parameters
    ----------
    init
        "build" (greedy), "random", "heuristic" (the most central rows), "k-medoids++" (rows that
        are far apart), the numbers of k source rows, or a `Selection`.
    max_iter
        Largest number of passes; 0 returns the start.
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
        """Return the function that makes the passes."""

    @property
    def rows_per_iteration(self) -> int:
        """Return the number of rows that an iteration of ``init="build"`` picks."""
        return 1

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        require_matrix_memory(
            oracle, control.limits, f"method={self.name!r}", "Use method='lazybandit'."
        )
        require_init(self.init, problem)
        weights = weights_or_ones(problem.weights, len(problem.target))
        control.report("computing all distances")
        table = whole_table(oracle)
        if self.init == BUILD:
            picks = greedy(
                Lazy(),
                ExactCoverage.of(oracle),
                feasibility=problem.feasibility,
                k=problem.k,
                r=self.rows_per_iteration,
                random=random,
                control=control,
            )
            built = build(picks, oracle, control)
            if control.stopped:
                yield from without_swaps(built, control.stopped)
                return
            start = np.concatenate([pick.arms for pick in built])
        else:
            start = initial_rows(self.init, problem, table, weights, random)
        medoids = Medoids(table, start, weights, problem.feasibility)
        yield from improve(medoids, self.passes, control, random, max_iter=self.max_iter)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_pairs = len(problem.source) * len(problem.target)
        n_bytes = n_pairs * problem.distance_dtype.itemsize
        return Schedule(
            evaluations=n_pairs,
            most_evaluations=n_pairs,
            memory=n_bytes + working_bytes(problem),
            keeps_matrix=True,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * len(problem.target)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven about greedy selection and about the swaps.

        No swap makes the result of greedy selection worse.
        """
        is_exact_greedy = self.init == BUILD and self.rows_per_iteration == 1
        built = exact_guarantee(self.name, outcome.feasibility) if is_exact_greedy else None
        return with_locality(built, self.name, outcome)


def improve(
    medoids: Medoids,
    passes: Passes,
    control: SearchControl,
    random: np.random.Generator,
    *,
    max_iter: int,
    name: str = "max_iter",
) -> Iterator[Pick]:
    """Make passes until they converge, or ``max_iter`` or a limit ends them; yield prototypes.

    ``name`` is the public name of ``max_iter``.
    """
    oracle = medoids.table.oracle
    with oracle.during("swap"):
        made = _run(medoids, passes, control, max_iter, name) if max_iter else SwapPasses(0, 0)
    is_whole, n_left = len(medoids.weights) == len(oracle.problem.target), medoids.k
    if not is_whole:
        made = replace(made, gain_bound=None)
    for pick in order_by_gain(
        medoids.table, medoids.members, medoids.weights, random, is_whole=is_whole
    ):
        n_left -= len(pick.arms)  # a callback that stops here has not seen the result of the passes
        yield replace(pick, remark="" if n_left else str(made), passes=made)


def _run(
    medoids: Medoids, passes: Passes, control: SearchControl, max_iter: int, name: str
) -> SwapPasses:
    n_swaps, n_passes, done = _restored(medoids, control)
    remaining = passes(medoids, last=done)
    while True:
        doing = f"improving by swaps, pass {n_passes + 1}"
        control.report(doing, n_picked=medoids.k, cost=medoids.cost)
        if done is not None:
            if done.is_last:
                return SwapPasses(n_swaps, n_passes, gain_bound=done.gain_bound)
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
            control.states.save(_STATE, SavedState(values, medoids.state()))


def _restored(medoids: Medoids, control: SearchControl) -> tuple[int, int, Pass | None]:
    """Restore the prototypes of an earlier run; return its swaps, its passes and its last pass."""
    saved = control.states.restore(_STATE)
    if saved is None:
        return 0, 0, None
    medoids.restore(saved.arrays)
    return saved.values["n_swaps"], saved.values["n_passes"], Pass(*saved.values["done"])


def build(picks: Iterable[Pick], oracle: Oracle, control: SearchControl) -> list[Pick]:
    """Return the picks of a greedy start, as many as the limits allow.

    The next pick is expected to compute as much as the last one, unless all dissimilarities have
    been kept. If that would exceed the limit, the start ends before it.
    """
    built: list[Pick] = []
    n_left, spent, n_source = oracle.problem.k, 0, len(oracle.problem.source)
    try:
        for pick in picks:
            built.append(pick)
            n_left -= len(pick.arms)
            control.report("choosing", n_picked=oracle.problem.k - n_left)
            spent, before = control.counts.total, spent
            if not control.allows(spent - before if n_left and oracle.n_kept < n_source else 0):
                break
    except Halt:
        if not built:
            raise
        control.stop()
    return built


def without_swaps(built: Iterable[Pick], stopped: StopReason) -> Iterator[Pick]:
    """Yield the picks of a start after which a limit left no room for swaps."""
    remark = f"{stopped.at_start} left no room for swaps."
    return (replace(pick, before=None, remark=remark) for pick in built)


def whole_table(oracle: Oracle) -> FullTable:
    """Return the table of all source and target rows; what has not been kept is computed."""
    arms = np.arange(len(oracle.problem.source))
    if oracle.kept is None:
        # Where an earlier run had kept all rows, this run only computes them again.
        counted = oracle.counts.snapshot() if oracle.n_kept == len(arms) else None
        oracle.keep()
        oracle.scan(arms, _ignore)
        if counted is not None:
            oracle.counts.restore(counted)
    assert oracle.kept is not None
    return FullTable(oracle=oracle, arms=arms, matrix=oracle.kept)


def _ignore(tile: Tile) -> None:
    """Do nothing: the oracle keeps the tile."""


def require_matrix_memory(oracle: Oracle, limits: Limits, user: str, instead: str) -> None:
    """Raise unless all dissimilarities fit into memory."""
    contents = "all dissimilarities"
    require_memory(oracle.matrix_bytes, limits, user=user, contents=contents, instead=instead)
