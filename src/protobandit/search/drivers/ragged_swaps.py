"""Swaps on a ragged table: replace prototypes by better arms until no swap lowers the cost.

A ragged table has only some distances of an arm, and the improvement by a swap can only be
underestimated from these. Before a swap is made, the distances of the arm to all rows are computed.
So the swap state is always exact, and no swap raises the cost over the rows.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import Halt
from protobandit.oracle.tables import RaggedTable
from protobandit.search.control import SearchControl
from protobandit.search.objectives.swap_state import SwapState

# A swap must lower the cost by more than this share of it, and by more than rounding: a change is a
# difference of sums, which are as large as the cost of removing prototypes.
_MIN_IMPROVEMENT = 1e-7
_ROUNDING = 1e-12
_AT_ONCE = 8  # arms computed in one product: more share the product, but more may be wasted


def refine_eagerly(
    swap_state: SwapState,
    ragged: RaggedTable,
    *,
    passes: int,
    most: int | None = None,
    control: SearchControl | None = None,
) -> tuple[int, Doubles]:
    """Make every swap that lowers the cost, the best first, and return how many were made.

    A pass computes the best swap of every arm, then tries those that would lower the cost, best
    first, each with the current prototypes. Also returned are the changes of the cost by the best
    swap of each arm in the last pass, infinite for prototypes. The passes end when the distances of
    ``most`` arms have been computed, or, between two swaps, if ``control`` is interrupted.

    Reference: Schubert, Rousseeuw (2021), FasterPAM.
    """
    n_swaps, changes = 0, np.zeros(len(ragged))
    n_left = len(ragged) * passes if most is None else most
    control = control or SearchControl()
    for _ in range(passes):
        least = least_change(swap_state)
        changes, slots = _changes_of_all(swap_state, ragged)
        queue = np.flatnonzero(changes < least)
        known: tuple[Doubles, Ids] | None = (changes[queue], slots[queue])
        before = n_swaps
        with suppress(Halt):  # raised before the next swaps, never within one
            while len(queue) and n_left > 0 and not control.is_interrupted():
                n_at_once = min(_AT_ONCE, n_left)
                state = swap_state, ragged, queue, known
                n_made, n_tried, queue = _swap_some(*state, least, n_at_once)
                n_swaps, n_left = n_swaps + n_made, n_left - n_tried
                known = None
        if n_swaps == before or n_left <= 0 or control.is_interrupted():
            break
    return n_swaps, changes


def _swap_some(
    swap_state: SwapState,
    ragged: RaggedTable,
    arms: Ids,
    known: tuple[Doubles, Ids] | None,
    least: float,
    most: int,
) -> tuple[int, int, Ids]:
    """Make the best swaps of these arms, one per slot and at most ``most``.

    ``known`` are their changes and slots, if no swap was made since these were computed.
    Return how many were made, how many were tried, and the arms that remain. Swaps of different
    slots seldom affect each other, so their distances are computed together.
    """
    if known is None:
        changes, slots = swap_state.changes(ragged, arms)
    else:
        changes, slots = known
        ragged.look_up(arms)  # so that lookups are comparable with earlier versions
    improving = np.flatnonzero(changes < least)
    improving = improving[np.argsort(changes[improving], kind="stable")]
    _, firsts = np.unique(slots[improving], return_index=True)
    firsts = np.sort(firsts)[:most]
    chosen, n_swaps = arms[improving[firsts]], 0
    for arm, row in zip(chosen, ragged.distances(chosen), strict=True):
        change, slot = swap_state.change(ragged, int(arm))
        if change < least:
            swap_state.exchange(slot, int(arm), row)
            n_swaps += 1
    return n_swaps, len(chosen), arms[np.sort(np.delete(improving, firsts))]


def changes_of_others(swap_state: SwapState, ragged: RaggedTable) -> Doubles:
    """Return the change of the cost by the best swap of each arm; infinite for prototypes."""
    return _changes_of_all(swap_state, ragged)[0]


def _changes_of_all(swap_state: SwapState, ragged: RaggedTable) -> tuple[Doubles, Ids]:
    changes, slots = swap_state.changes(ragged, np.arange(len(ragged)))
    changes[swap_state.members] = np.inf
    return changes, slots


def least_change(swap_state: SwapState) -> float:
    """Return the change of the cost, a negative number, that a swap must be below."""
    return -(_MIN_IMPROVEMENT * swap_state.cost + _ROUNDING * swap_state.removal_cost)
