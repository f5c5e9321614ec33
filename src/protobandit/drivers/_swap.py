"""Swap: replace a prototype by a better arm, until none is found or patience ends."""

from __future__ import annotations

import numpy as np

from protobandit._typing import Doubles, Ids
from protobandit.objectives import Standing

# Swaps that lower the cost by less than this share of it are rounding, or not worth their while.
_WORTHWHILE = 1e-7


def refine_eagerly(standing: Standing, arms: Ids, *, passes: int) -> int:
    """Swap eagerly, most promising arms first; return how many swaps were made.

    A pass asks every arm for its best swap, then tries those that would help, best first, each
    against the prototypes as they are by then. No swap raises the cost over the table's rows.

    Reference: Schubert, Rousseeuw (2021), FasterPAM.
    """
    n_swaps = 0
    for _ in range(passes):
        least = -_WORTHWHILE * standing.cost
        changes = changes_of_others(standing, arms)
        helpful = arms[changes < least][np.argsort(changes[changes < least], kind="stable")]
        before = n_swaps
        for arm in helpful:
            (change,), (slot,) = standing.changes(np.array([arm]))
            if change < least:
                standing.exchange(int(slot), int(arm))
                n_swaps += 1
        if n_swaps == before:
            break
    return n_swaps


def refine_best(standing: Standing, arms: Ids, *, passes: int) -> int:
    """Make the one best swap of a pass, pass after pass; return how many were made.

    Reference: Schubert, Rousseeuw (2019), FastPAM1, with the result of PAM's SWAP.
    """
    for n_swaps in range(passes):
        changes, slots = standing.changes(arms)
        changes[np.isin(arms, standing.members)] = np.inf
        best = int(changes.argmin())
        if not changes[best] < -_WORTHWHILE * standing.cost:
            return n_swaps
        standing.exchange(int(slots[best]), int(arms[best]))
    return passes


def changes_of_others(standing: Standing, arms: Ids) -> Doubles:
    """Return the change of cost by the best swap of each arm; infinite for prototypes."""
    changes, _ = standing.changes(arms)
    changes[np.isin(arms, standing.members)] = np.inf
    return changes
