"""Swap: replace a prototype by a better arm, until none is found or patience ends.

A swap is decided on what the patchwork knows of an arm, which can only understate what it is worth.
When it is made, the arm's distances to all rows are computed: the standing is exact at all times,
so no swap ever raises the cost over the rows.
"""

from __future__ import annotations

import numpy as np

from protobandit._table import Patchwork
from protobandit._typing import Doubles
from protobandit.objectives import Standing

# A swap that lowers the cost by a smaller share of it is not worth its while; a smaller share of
# what removing prototypes would cost is rounding, since the change is a difference of such sums.
_WORTHWHILE = 1e-7
_ROUNDING = 1e-12


def refine_eagerly(standing: Standing, patchwork: Patchwork, *, passes: int) -> int:
    """Swap whatever helps, the most promising arms first; return how many swaps were made.

    A pass asks every arm for its best swap, then tries those that would help, best first, each
    against the prototypes as they are by then.

    Reference: Schubert, Rousseeuw (2021), FasterPAM.
    """
    n_swaps = 0
    for _ in range(passes):
        least = _least_change(standing)
        changes = changes_of_others(standing, patchwork)
        helpful = np.flatnonzero(changes < least)
        before = n_swaps
        for arm in helpful[np.argsort(changes[helpful], kind="stable")]:
            change, slot = standing.change(patchwork, int(arm))
            if change < least:
                standing.exchange(slot, int(arm), patchwork.distances(int(arm)))
                n_swaps += 1
        if n_swaps == before:
            break
    return n_swaps


def refine_best(standing: Standing, patchwork: Patchwork, *, passes: int) -> int:
    """Make the one best swap of a pass, pass after pass; return how many were made.

    Reference: Schubert, Rousseeuw (2019), FastPAM1, which ends where PAM's SWAP ends.
    """
    everyone = np.arange(len(patchwork))
    for n_swaps in range(passes):
        changes, slots = standing.changes(patchwork, everyone)
        changes[standing.members] = np.inf
        best = int(changes.argmin())
        if not changes[best] < _least_change(standing):
            return n_swaps
        standing.exchange(int(slots[best]), best, patchwork.distances(best))
    return passes


def changes_of_others(standing: Standing, patchwork: Patchwork) -> Doubles:
    """Return the change of cost by the best swap of each arm; infinite for prototypes."""
    changes, _ = standing.changes(patchwork, np.arange(len(patchwork)))
    changes[standing.members] = np.inf
    return changes


def _least_change(standing: Standing) -> float:
    """Return the change of cost, a negative number, that a swap must go beyond."""
    return -(_WORTHWHILE * standing.cost + _ROUNDING * standing.removal_cost)
