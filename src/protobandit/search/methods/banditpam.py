"""BanditPAM: PAM whose every choice is a search on sampled target rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.successive_elimination import SuccessiveElimination
from protobandit.search.control import SearchControl
from protobandit.search.drivers.bandit_swaps import bandit_swaps
from protobandit.search.drivers.greedy import Pick, greedy
from protobandit.search.drivers.race.race import RungResult
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.methods.lazybandit import in_order, restore_result, save_result
from protobandit.search.methods.method import Method, Outcome, Schedule, require_probability
from protobandit.search.objectives.prefixes import PrefixCoverage, Prefixes
from protobandit.search.objectives.swap_state import SwapState

_BATCH = 100  # the paper's
_BATCH_A_SLOT = 10  # fewer rows than this hardly meet an arm's own neighbourhood
_ROUNDS = 12.0  # batches that an arm reads on average: 3 to 100 (measured; for predictions only)
_SWAPS = 1.0  # swaps, in units of k (measured; for predictions only)


@dataclass(frozen=True, kw_only=True)
class BanditPAM(Method):
    """PAM's BUILD and SWAP, each step decided by successive elimination on sampled target rows.

    All steps read one order of the target from its beginning, and what a row has been measured at
    is kept, so that later steps mostly look up (BanditPAM++). A swap is made only if it lowers the
    cost of the whole target, so the result is never worse than its BUILD.

    Evaluations: |S| times a few batches, and |T| for each row that is a prototype at any time;
    never more than |S||T| as long as the memory suffices.
    Memory: k x |T| distances, the prefixes that there is room for, and a dozen numbers for each of
    the k |S| swaps while one is searched for.
    Weights: rows come in uniform order, those without weight not at all, and a reward counts
    w / mean(w) times, which is unbiased, and exact at the end of the order.

    Parameters
    ----------
    batch
        How many target rows every arm is compared on at first; by default 100 (the paper's), or
        10 k if that is more. From |T| on every step is PAM's.
    delta
        The probability of error of one search, shared out among its arms (the paper's 0.001).
    max_iter
        How many searches for a swap there are at most; 0 leaves BUILD as it is.

    References
    ----------
    Tiwari, Zhang, Mayclin, Thrun, Piech, Shomorony (2020), BanditPAM; Tiwari, Kang, Lee, Thrun,
    Piech, Shomorony, Zhang (2023), BanditPAM++.
    """

    name: ClassVar[str] = "banditpam"
    supports: ClassVar[frozenset[str]] = frozenset()
    batch: int | None = None
    delta: float = 0.001
    max_iter: int = 300

    def __post_init__(self) -> None:
        require_integer(self.batch, "batch", allows_none=True)
        require_integer(self.max_iter, "max_iter", at_least=0)
        require_probability(self.delta, "delta")

    def first_batch(self, problem: Problem) -> int:
        """Return how many rows every arm is compared on at first."""
        rows = max(_BATCH, _BATCH_A_SLOT * problem.k) if self.batch is None else self.batch
        return min(rows, len(problem.target))

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        rung = Rung(len(problem.source), len(problem.target), 0, self.max_iter)
        earlier = restore_result(control, [rung])
        if earlier is not None:
            yield from in_order(oracle, earlier, random, earlier.remark)
            return
        self._require_room(oracle, control.limits)
        prefixes = Prefixes(oracle, random, room=schedule.n_prefix_bytes)
        strategy = SuccessiveElimination(delta=self.delta, batch=self.first_batch(problem))
        result = self._built(strategy, prefixes, rung, random, control)
        if control.stopped:
            remark = f"{control.stopped.at_start} left no room for swaps."
        else:
            with oracle.during("swap"):
                searches = bandit_swaps(strategy, prefixes, result.swap_state, random=random)
                remark = self._swapped(searches, control)
        if not control.stopped:
            save_result(control, result, [rung], remark)
        yield from in_order(oracle, result, random, remark)

    def _require_room(self, oracle: Oracle, limits: Limits) -> None:
        """Raise if there is no room for the prototypes' distances."""
        needed, room = _members_bytes(oracle.problem, oracle.dtype.itemsize), limits.room()
        if needed > room:
            raise InvalidInput(
                f"method={self.name!r} keeps {needed / 1e9:.1f} GB of d(target, prototype) but "
                f"{room / 1e9:.1f} GB may be used. Pass a smaller k, or method='lazybandit'."
            )

    def _built(
        self,
        strategy: Strategy,
        prefixes: Prefixes,
        rung: Rung,
        random: np.random.Generator,
        control: SearchControl,
    ) -> RungResult:
        """Return where BUILD leads, as far as the limits allow."""
        problem, is_exact = prefixes.oracle.problem, True
        n_source, coverage = len(problem.source), PrefixCoverage.of(prefixes, problem.k)
        picks = greedy(
            strategy,
            coverage,
            feasibility=Feasibility.none(n_source),
            k=problem.k,
            random=random,
        )
        try:
            for pick in picks:
                assert isinstance(pick.objective, PrefixCoverage)
                coverage, is_exact = pick.objective, is_exact and pick.is_proven
                control.report("building", n_picked=len(coverage.prototypes))
                if not control.allows():
                    break
        except Halt:
            if not len(coverage.prototypes):
                raise
            control.stop()
        members = coverage.prototypes
        swap_state = SwapState(members, coverage.matrix[: len(members)], prefixes.weights)
        return RungResult(rung, np.arange(n_source), swap_state, 0, n_source, is_exact)

    def _swapped(self, searches: Iterator[bool], control: SearchControl) -> str:
        """Search until no swap pays or something ends it; return what, as a sentence."""
        if self.max_iter == 0:
            return ""
        try:
            for n_searches, _ in enumerate(searches, start=1):
                control.report(f"search {n_searches + 1} for a swap")
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
        room = max(limits.room() - members, 0)  # for prefixes
        kept = min(evaluations * itemsize, room)
        return Schedule(evaluations=evaluations, memory=members + kept, n_prefix_bytes=room)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.is_proven:
            return None
        return Guarantee(method=self.name, statement="f >= (1 - 1/e) f*")


def _members_bytes(problem: Problem, itemsize: int) -> int:
    return problem.k * len(problem.target) * itemsize
