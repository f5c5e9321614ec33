"""BanditPAM: PAM whose every choice is a search on sampled target rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.progress.watch import Watch
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.successive_elimination import SuccessiveElimination
from protobandit.search.drivers.bandit_swaps import bandit_swaps
from protobandit.search.drivers.greedy import Pick, greedy
from protobandit.search.drivers.race.race import RungResult
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.methods.lazybandit import in_order, lap_before, note_lap
from protobandit.search.methods.method import Forecast, Outcome, is_number, require_count
from protobandit.search.methods.swap_passes import require_passes
from protobandit.search.objectives.prefix_coverage import PrefixCoverage
from protobandit.search.objectives.prefixes import Prefixes
from protobandit.search.objectives.swap_state import SwapState

_BATCH = 100  # the paper's
_BATCH_A_SLOT = 10  # fewer rows than this hardly meet an arm's own neighbourhood
_ROUNDS = 12.0  # batches that an arm reads on average: 3 to 100 (measured; for predictions only)
_SWAPS = 1.0  # swaps, in units of k (measured; for predictions only)


@dataclass(frozen=True, kw_only=True)
class BanditPAM:
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
        if self.batch is not None:
            require_count(self.batch, "batch")
        require_passes(self.max_iter, "max_iter")
        if not (is_number(self.delta) and 0 < self.delta < 1):
            raise InvalidInput(f"delta={self.delta!r} is not a probability. Pass 0 < delta < 1.")

    def first_batch(self, problem: Problem) -> int:
        """Return how many rows every arm is compared on at first."""
        rows = max(_BATCH, _BATCH_A_SLOT * problem.k) if self.batch is None else self.batch
        return min(rows, len(problem.target))

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        problem = oracle.problem
        rung = Rung(len(problem.source), len(problem.target), 0, self.max_iter)
        earlier = lap_before(watch, [rung])
        if earlier is not None:
            yield from in_order(oracle, earlier, random, watch.decide("remark", ""))
            return
        prefixes = Prefixes(oracle, random, room=self._room(oracle, watch.limits))
        strategy = SuccessiveElimination(delta=self.delta, batch=self.first_batch(problem))
        lap = self._built(strategy, prefixes, rung, random, watch)
        if watch.stopped:
            remark = f"{watch.culprit} left no room for swaps."
        else:
            with oracle.during("swap"):
                searches = bandit_swaps(strategy, prefixes, lap.swap_state, random=random)
                remark = self._swapped(searches, watch)
        if not watch.stopped:
            watch.decide("remark", remark)
            note_lap(watch, lap, [rung])
        yield from in_order(oracle, lap, random, remark)

    def _room(self, oracle: Oracle, limits: Limits) -> int:
        """Return the bytes for prefixes, beside the prototypes' distances."""
        needed, room = _members_bytes(oracle.problem, oracle.dtype.itemsize), limits.room()
        if needed > room:
            raise InvalidInput(
                f"method={self.name!r} keeps {needed / 1e9:.1f} GB of d(target, prototype) but "
                f"{room / 1e9:.1f} GB may be used. Pass a smaller k, or method='lazybandit'."
            )
        return room - needed

    def _built(
        self,
        strategy: Strategy,
        prefixes: Prefixes,
        rung: Rung,
        random: np.random.Generator,
        watch: Watch,
    ) -> RungResult:
        """Return where BUILD leads, as far as the limits allow."""
        problem, is_exact = prefixes.oracle.problem, True
        n_source, coverage = len(problem.source), PrefixCoverage.of(prefixes, problem.k)
        picks = greedy(strategy, coverage, n_source=n_source, k=problem.k, random=random)
        try:
            for pick in picks:
                assert isinstance(pick.objective, PrefixCoverage)
                coverage, is_exact = pick.objective, is_exact and pick.is_proven
                watch.tell("building", n_picked=len(coverage.prototypes))
                if not watch.allows():
                    break
        except Halt:
            if not len(coverage.prototypes):
                raise
            watch.halted()
        members = coverage.prototypes
        swap_state = SwapState(members, coverage.matrix[: len(members)], prefixes.weights)
        return RungResult(rung, np.arange(n_source), swap_state, 0, n_source, is_exact)

    def _swapped(self, searches: Iterator[bool], watch: Watch) -> str:
        """Search until no swap pays or something ends it; return what, as a sentence."""
        if self.max_iter == 0:
            return ""
        try:
            for n_searches, _ in enumerate(searches, start=1):
                watch.tell(f"search {n_searches + 1} for a swap")
                if not watch.allows():
                    return f"{watch.culprit} ended the swaps."
                if n_searches == self.max_iter:
                    return f"max_iter={self.max_iter} ended the swaps."
        except Halt:
            watch.halted()
            return f"{watch.culprit} ended the swaps."
        return ""

    def least_evaluations(self, oracle: Oracle) -> int:
        problem = oracle.problem
        return len(problem.source) * self.first_batch(problem)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        n_source, n_target = len(problem.source), len(problem.target)
        prefix = min(_ROUNDS * self.first_batch(problem), n_target)
        columns = min((1 + _SWAPS) * problem.k, n_source) * n_target
        evaluations = round(min(n_source * prefix + columns, n_source * n_target))
        members = _members_bytes(problem, problem.dtype.itemsize)
        kept = min(evaluations * problem.dtype.itemsize, max(limits.room() - members, 0))
        return Forecast(evaluations=evaluations, memory=members + kept)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.is_proven:
            return None
        return Guarantee(method=self.name, statement="f >= (1 - 1/e) f*")


def _members_bytes(problem: Problem, itemsize: int) -> int:
    return problem.k * len(problem.target) * itemsize
