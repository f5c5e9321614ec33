"""Swap: replace a prototype by a better arm, until none is found or patience ends.

A swap is decided on what the patchwork knows of an arm, which can only understate what it is worth.
When it is made, the arm's distances to all rows are computed: the standing is exact at all times,
so no swap ever raises the cost over the rows.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import Halt
from protobandit.oracle.tables import RaggedTable
from protobandit.search.control import SearchControl
from protobandit.search.objectives.swap_state import SwapState

# A swap that lowers the cost by a smaller share of it is not worth its while; a smaller share of
# what removing prototypes would cost is rounding, since the change is a difference of such sums.
_WORTHWHILE = 1e-7
_ROUNDING = 1e-12
_AT_ONCE = 8  # arms whose rows are computed together: more share a product, more are in vain


def refine_eagerly(
    swap_state: SwapState, ragged: RaggedTable, *, passes: int, control: SearchControl | None = None
) -> tuple[int, Doubles]:
    """Swap whatever helps, the most promising arms first.

    A pass asks every arm for its best swap, then tries those that would help, best first, each
    against the prototypes as they are by then. Return how many swaps were made, and what the last
    pass heard: how the cost would change by each arm's best swap, infinite for prototypes. It ends
    between two swaps where ``control`` asks for it.

    Reference: Schubert, Rousseeuw (2021), FasterPAM.
    """
    n_swaps, changes = 0, np.zeros(len(ragged))
    control = control or SearchControl()
    for _ in range(passes):
        least = least_change(swap_state)
        changes = changes_of_others(swap_state, ragged)
        queue = np.flatnonzero(changes < least)
        before = n_swaps
        with suppress(Halt):  # raised before the next swaps, never within one
            while len(queue) and not control.is_interrupted():
                n_made, queue = _swap_some(swap_state, ragged, queue, least)
                n_swaps += n_made
        if n_swaps == before or control.is_interrupted():
            break
    return n_swaps, changes


def _swap_some(
    swap_state: SwapState, ragged: RaggedTable, arms: Ids, least: float
) -> tuple[int, Ids]:
    """Make the best swaps of these arms, one a slot; return how many, and the arms left to try.

    Swaps for different slots seldom spoil each other, so their rows are computed together.
    """
    changes, slots = swap_state.changes(ragged, arms)
    helpful = np.flatnonzero(changes < least)
    helpful = helpful[np.argsort(changes[helpful], kind="stable")]
    _, firsts = np.unique(slots[helpful], return_index=True)
    firsts = np.sort(firsts)[:_AT_ONCE]
    chosen, n_swaps = arms[helpful[firsts]], 0
    for arm, row in zip(chosen, ragged.distances(chosen), strict=True):
        change, slot = swap_state.change(ragged, int(arm))
        if change < least:
            swap_state.exchange(slot, int(arm), row)
            n_swaps += 1
    return n_swaps, arms[np.sort(np.delete(helpful, firsts))]


def changes_of_others(swap_state: SwapState, ragged: RaggedTable) -> Doubles:
    """Return the change of cost by the best swap of each arm; infinite for prototypes."""
    changes, _ = swap_state.changes(ragged, np.arange(len(ragged)))
    changes[swap_state.members] = np.inf
    return changes


def least_change(swap_state: SwapState) -> float:
    """Return the change of cost, a negative number, that a swap must go beyond."""
    return -(_WORTHWHILE * swap_state.cost + _ROUNDING * swap_state.removal_cost)
