"""k-medoids on a full table: pass after pass over all arms, until no swap helps.

Theory of operation
-------------------
Passes are generators that yield what each pass did; limits and numbers of passes live outside.

Best swaps (PAM, FastPAM1) ask every arm for its best swap and make the best of all. Eager ones
(FasterPAM) go through the arms chunk by chunk: a chunk is asked against the prototypes as they are,
on all threads, then those that would help are asked again, one after the other, each against the
prototypes as they are by then, and swapped in if it still helps. Chunks are cut by the problem, so
the swaps are the same on any number of threads. The search is over when every arm has been asked
since the last swap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import Visit
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.greedy import Pick, greedy
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.medoids import Medoids

_CHUNK_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Pass:
    """How many swaps a pass over the arms made, and whether it showed that no other helps.

    ``n_unchanged`` is how many arms have been asked since the last swap.
    """

    n_swaps: int
    is_last: bool
    n_unchanged: int = 0


def eager_passes(medoids: Medoids, *, last: Pass | None = None) -> Iterator[Pass]:
    """Swap in whatever helps, chunk by chunk.

    ``last`` is the last pass of an earlier run.

    Reference: Schubert, Rousseeuw (2021), FasterPAM.
    """
    size = max(1, _CHUNK_ENTRIES // len(medoids.D))
    n_unchanged = 0 if last is None else last.n_unchanged
    while True:
        n_swaps = 0
        for chunk in cuts(medoids.n_arms, size):
            n_made = _swap_in(medoids, chunk)
            n_swaps += n_made
            n_unchanged = 0 if n_made else n_unchanged + chunk.stop - chunk.start
            if n_unchanged >= medoids.n_arms:
                yield Pass(n_swaps, is_last=True)
                return
        yield Pass(n_swaps, is_last=False, n_unchanged=n_unchanged)


def _swap_in(medoids: Medoids, chunk: slice) -> int:
    """Swap in the arms of a chunk that help, the most promising first; return how many."""
    least, n_swaps = medoids.least_change, 0
    for arm in _helpful(medoids.changes(chunk)[0], least):
        change, slot = medoids.change(chunk.start + int(arm))
        if change < least:
            medoids.exchange(slot, chunk.start + int(arm))
            n_swaps += 1
    return n_swaps


def best_passes(
    medoids: Medoids,
    *,
    n_swaps: int = 1,
    is_pairwise: bool = False,
    last: Pass | None = None,
) -> Iterator[Pass]:
    """Make the best swap of each pass, or up to ``n_swaps`` for as many different slots.

    Of several, each is asked again against the prototypes as they are by then, so that none raises
    the cost. ``is_pairwise`` is PAM as it is defined, k times the work for the same swaps. ``last``
    is the last pass of an earlier run, which makes no difference here.

    Reference: Kaufman, Rousseeuw (1990), PAM; Schubert, Rousseeuw (2019), FastPAM1.
    """
    everyone = slice(0, medoids.n_arms)
    while True:
        least = medoids.least_change
        taken: list[int] = []
        for arm in _helpful(medoids.changes(everyone, is_pairwise=is_pairwise)[0], least):
            change, slot = medoids.change(int(arm), np.array(taken, dtype=np.int64))
            if change < least:
                medoids.exchange(slot, int(arm))
                taken.append(slot)
            if len(taken) == n_swaps:
                break
        yield Pass(len(taken), is_last=not taken)
        if not taken:
            return


def _helpful(changes: Any, least: float) -> Ids:
    """Return the arms whose change goes beyond ``least``, best first."""
    helpful = np.flatnonzero(changes < least)
    return helpful[np.argsort(changes[helpful], kind="stable")]


@dataclass(frozen=True, eq=False)
class _Some:
    """A board that shows some arms of a table, numbered anew."""

    table: FullTable
    arms: Ids

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.table.dtype

    @property
    def groups(self) -> list[slice]:
        return self.table.groups

    def scan(self, sources: Ids, visit: Visit) -> None:
        self.table.scan(self.arms[sources], visit)

    def column(self, source: int) -> Floats:
        return self.table.column(int(self.arms[source]))


def ordered(
    medoids: Medoids, fixed: Ids, random: np.random.Generator, remark: str = ""
) -> Iterator[Pick]:
    """Yield the prototypes, ``fixed`` ones first, then by greedy gain; the last with a remark."""
    prototypes, k = medoids.table.arms[medoids.members], medoids.k
    is_fixed = prototypes == np.asarray(fixed)[:, None]
    feasibility = replace(Feasibility.none(k), fixed=is_fixed.argmax(axis=1))
    coverage = ExactCoverage.over(_Some(medoids.table, medoids.members), medoids.weights)
    n_left = k
    for pick in greedy(Lazy(), coverage, feasibility=feasibility, k=k, random=random):
        n_left -= len(pick.arms)
        last_words = "" if n_left else remark
        yield replace(pick, arms=prototypes[pick.arms], before=None, remark=last_words)
