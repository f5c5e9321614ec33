"""k-medoids on a full table: passes over all arms until no swap lowers the cost.

Theory of operation
-------------------
Passes are generators that yield a record of each pass; the caller checks limits and counts passes.

Best swaps (PAM, FastPAM1): each pass computes the best swap of every arm and makes the best of
these. Eager swaps (FasterPAM): a pass goes over the arms in chunks. It computes the best swaps of a
chunk on all threads. Arms that would lower the cost are then computed again one by one, with the
current prototypes, and swapped in if they still lower it. The chunks depend on the problem only, so
the swaps are the same on any number of threads. The search has converged when every arm has been
computed since the last swap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.slices import cuts
from protobandit.search.objectives.medoids import Medoids

_CHUNK_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Pass:
    """The number of swaps of a pass over the arms, and whether no other swap lowers the cost.

    ``n_unchanged`` is the number of arms that have been computed since the last swap. After the
    last pass no single swap lowers the cost by more than the share ``gain_bound`` of it, where that
    is known.
    """

    n_swaps: int
    is_last: bool
    n_unchanged: int = 0
    gain_bound: float | None = None


def eager_passes(medoids: Medoids, *, last: Pass | None = None) -> Iterator[Pass]:
    """Make every swap that lowers the cost as soon as it is found, chunk by chunk.

    ``last`` is the last pass of an earlier run, if the passes are resumed.

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
                yield Pass(n_swaps, is_last=True, gain_bound=medoids.gain_bound)
                return
        yield Pass(n_swaps, is_last=False, n_unchanged=n_unchanged)


def _swap_in(medoids: Medoids, chunk: slice) -> int:
    """Swap in the arms of a chunk that lower the cost, best first; return how many."""
    least, n_swaps = medoids.least_change, 0
    for arm in _improving(medoids.changes(chunk)[0], least):
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
    """Make the best swap of each pass, or up to ``n_swaps`` swaps of different slots.

    If there are several, each is computed again with the current prototypes, so that none raises
    the cost. ``is_pairwise`` computes swaps as PAM is defined: k times the work for the same swaps.
    ``last`` is the last pass of an earlier run, which makes no difference here.

    Reference: Kaufman, Rousseeuw (1990), PAM; Schubert, Rousseeuw (2019), FastPAM1.
    """
    all_arms = slice(0, medoids.n_arms)
    while True:
        least = medoids.least_change
        swapped: list[int] = []
        for arm in _improving(medoids.changes(all_arms, is_pairwise=is_pairwise)[0], least):
            change, slot = medoids.change(int(arm), np.array(swapped, dtype=np.int64))
            if change < least:
                medoids.exchange(slot, int(arm))
                swapped.append(slot)
            if len(swapped) == n_swaps:
                break
        gain_bound = None if swapped else medoids.gain_bound
        yield Pass(len(swapped), is_last=not swapped, gain_bound=gain_bound)
        if not swapped:
            return


def _improving(changes: Any, least: float) -> Ids:
    """Return the arms whose change is below ``least``, best first."""
    improving = np.flatnonzero(changes < least)
    return improving[np.argsort(changes[improving], kind="stable")]
