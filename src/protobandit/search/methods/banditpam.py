"""BanditPAM: PAM with bandit searches on sampled target rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer, require_number
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import WORKING_BYTES, Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.successive_elimination import SuccessiveElimination
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.bandit_swaps import bandit_swaps
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule, require_memory
from protobandit.search.objectives.prefixes import PrefixCoverage, Prefixes
from protobandit.search.objectives.swap_state import SwapState

_BATCH = 100  # the paper's
_BATCH_PER_SLOT = 10  # fewer rows have hardly any in the neighbourhood of an arm
_ROUNDS = 12.0  # batches that an arm reads on average: 3 to 100 (measured; for predictions only)
_SWAPS = 1.0  # swaps, in units of k (measured; for predictions only)
_BYTES_PER_SWAP = 96  # of the k |S| swaps, while one is searched for
_STATE = "bandit swaps"


@dataclass(frozen=True, eq=False)
class _Found:
    """The prototypes, whether BUILD was exact greedy selection, and a remark for the user."""

    swap_state: SwapState
    is_exact: bool
    remark: str


@dataclass(frozen=True, kw_only=True)
class BanditPAM(Method):
    """PAM, with each step decided by successive elimination on sampled target rows (BanditPAM).

    It is a heuristic: its confidence intervals use estimated standard deviations and assume tails
    like those of a normal distribution, so that nothing is proven unless every step has read the
    whole target. `Refined` with ``swaps="pac"`` proves its last step.

    All steps read the target rows in the same random order, from its beginning. Distances that have
    been computed are kept, so that later steps mostly look them up (BanditPAM++). A swap is made
    only if it lowers the cost on the whole target, so the result is never worse than that of BUILD.

    Evaluations: |S| times a few batches, and |T| for each row that becomes a prototype; at most
    |S||T| if all of these fit into memory.
    Memory: k x |T| distances, the other distances that fit, and about 12 numbers for each of the
    k |S| swaps during the search for one.
    Weights: rows are read in uniform order, without those of weight 0. A reward is multiplied by
    w / mean(w), which is unbiased, and exact at the end of the order.

    Parameters
    ----------
    batch
        Number of target rows that all arms read first; by default 100 (as in the paper), or 10 k if
        that is more. With |T| or more, every step is that of PAM.
    delta
        Nominal probability of error of one search, divided among its arms (the paper uses 0.001).
    max_iter
        Largest number of searches for a swap; 0 returns the result of BUILD.

    References
    ----------
    Tiwari, Zhang, Mayclin, Thrun, Piech, Shomorony (2020), BanditPAM; Tiwari, Kang, Lee, Thrun,
    Piech, Shomorony, Zhang (2023), BanditPAM++.
    """

    name: ClassVar[str] = "banditpam"
    supports: ClassVar[frozenset[str]] = frozenset()
    may_overlook_far_rows: ClassVar[bool] = True
    batch: int | None = None
    delta: float = 0.001
    max_iter: int = 300

    def __post_init__(self) -> None:
        require_integer(self.batch, "batch", allows_none=True)
        require_integer(self.max_iter, "max_iter", at_least=0)
        require_number(self.delta, "delta", above=0, below=1)

    def first_batch(self, problem: Problem) -> int:
        """Return the number of target rows that all arms read first."""
        rows = max(_BATCH, _BATCH_PER_SLOT * problem.k) if self.batch is None else self.batch
        return min(rows, len(problem.target))

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        found = _restored(control) or self._search(oracle, random, control, schedule)
        state = found.swap_state
        table = FullTable(oracle=oracle, arms=state.members, matrix=state.matrix)
        slots = np.arange(len(state.members))
        for pick in order_by_gain(table, slots, state.weights, random, is_whole=True):
            yield replace(pick, is_proven=found.is_exact, remark=found.remark)

    def _search(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> _Found:
        self._require_memory(oracle, control.limits)
        prefixes = Prefixes(oracle, random, room=schedule.n_prefix_bytes)
        strategy = SuccessiveElimination(delta=self.delta, batch=self.first_batch(oracle.problem))
        swap_state, is_exact = self._build(strategy, prefixes, random, control)
        if control.stopped:
            remark = f"{control.stopped.at_start} left no room for swaps."
        else:
            with oracle.during("swap"):
                searches = bandit_swaps(strategy, prefixes, swap_state, random=random)
                remark = self._swap(searches, control)
        found = _Found(swap_state, is_exact, remark)
        if control.states.is_active and not control.stopped:
            values = {"is_exact": is_exact, "remark": remark}
            control.states.save(_STATE, SavedState(values, swap_state.state()))
        return found

    def _require_memory(self, oracle: Oracle, limits: Limits) -> None:
        """Raise if there is no room for the distances of the prototypes."""
        needed = _members_bytes(oracle.problem, oracle.dtype.itemsize)
        require_memory(
            needed,
            limits,
            user=f"method={self.name!r}",
            contents="the distances of the prototypes to the whole target",
            instead="Pass a smaller k, or use method='lazybandit'.",
        )

    def _build(
        self,
        strategy: Strategy,
        prefixes: Prefixes,
        random: np.random.Generator,
        control: SearchControl,
    ) -> tuple[SwapState, bool]:
        """Return the result of BUILD, as far as the limits allow, and whether it is exact."""
        problem, is_exact = prefixes.oracle.problem, True
        coverage = PrefixCoverage.of(prefixes, problem.k)
        picks = greedy(
            strategy,
            coverage,
            feasibility=Feasibility.none(len(problem.source)),
            k=problem.k,
            random=random,
        )
        try:
            for pick in picks:
                assert isinstance(pick.objective, PrefixCoverage)
                coverage, is_exact = pick.objective, is_exact and pick.is_proven
                control.report("choosing", n_picked=len(coverage.prototypes))
                if not control.allows():
                    break
        except Halt:
            if not len(coverage.prototypes):
                raise
            control.stop()
        members = coverage.prototypes
        matrix = coverage.matrix[: len(members)]
        return SwapState(members, matrix, prefixes.weights), is_exact

    def _swap(self, searches: Iterator[bool], control: SearchControl) -> str:
        """Search until no swap lowers the cost or something ends it; return what, as a sentence."""
        if self.max_iter == 0:
            return ""
        try:
            for n_searches, _ in enumerate(searches, start=1):
                control.report(f"improving by swaps, step {n_searches + 1}")
                if not control.allows():
                    break
                if n_searches == self.max_iter:
                    return f"max_iter={self.max_iter} ended the swaps."
        except Halt:
            control.stop()
        return f"{control.stopped.at_start} ended the swaps." if control.stopped else ""

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * self.first_batch(problem)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_source, n_target = len(problem.source), len(problem.target)
        itemsize = problem.distance_dtype.itemsize
        prefix = min(_ROUNDS * self.first_batch(problem), n_target)
        columns = min((1 + _SWAPS) * problem.k, n_source) * n_target
        evaluations = round(min(n_source * prefix + columns, n_source * n_target))
        members = _members_bytes(problem, itemsize)
        swaps = _BYTES_PER_SWAP * problem.k * n_source if self.max_iter else 0
        beside = members + max(swaps + working_bytes(problem) - WORKING_BYTES, 0)
        room = max(limits.memory_budget - beside, 0)  # for prefixes
        kept = min(evaluations * itemsize, room)
        return Schedule(
            evaluations=evaluations,
            is_rough=True,
            memory=members + swaps + kept + working_bytes(problem),
            n_prefix_bytes=room,
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.is_proven:
            return None
        return Guarantee(method=self.name, statement="f >= (1 - 1/e) f*")


def _restored(control: SearchControl) -> _Found | None:
    """Return the result of an earlier run, or None."""
    saved = control.states.restore(_STATE)
    if saved is None:
        return None
    swap_state = SwapState.restored(saved.arrays)
    return _Found(swap_state, saved.values["is_exact"], saved.values["remark"])


def _members_bytes(problem: Problem, itemsize: int) -> int:
    return problem.k * len(problem.target) * itemsize
