"""Shake: force an arm in, mend what that touched, keep the result if it is better.

Swaps end where no single one helps. A forced swap followed by helpful ones nearby is a way out of
there: a random arm takes the slot where it costs least, then arms at home in the cells that were
touched may take any slot, and unless the whole lowers the cost it is taken back. Everything is read
from a table of the finalists, so trials cost no evaluation.

Fränti, Kivijärvi (2000) do so for means (randomised local search).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.drivers.ragged_swaps import least_change
from protobandit.search.objectives.finalists import Finalists
from protobandit.search.objectives.swap_state import SwapState

_MOST_SWAPS = 12  # of a trial
_MOST_ROUNDS = 4  # over the arms of the cells that a trial has touched


def perturb(
    table: FullTable, swap_state: SwapState, tries: Ids, feasibility: Feasibility
) -> SwapState:
    """Make helpful swaps, then try to force each of these arms in; return the outcome.

    ``standing`` are prototypes of the table, at all of its rows, and is left as it is; ``rules``
    are those of the table's arms.
    """
    if len(swap_state.members) < 2:
        return swap_state
    finalists = Finalists(table, swap_state, feasibility, -least_change(swap_state))
    everywhere = np.ones(len(swap_state.members), dtype=bool)
    _mend(finalists, everywhere, most=len(finalists.rows))
    for arm in tries:
        if not finalists.is_member[arm]:
            _try(finalists, int(arm))
    outcome = SwapState(
        finalists.members, np.ascontiguousarray(finalists.nearby.T), swap_state.weights
    )
    return outcome if outcome.cost < swap_state.cost else swap_state


def _try(finalists: Finalists, arm: int) -> None:
    """Force an arm in, mend, and take all back unless that lowers the cost."""
    _, slot = finalists.next_improving_swap(np.array([arm]), 0, -np.inf)
    if slot < 0:
        return
    leaver = int(finalists.members[slot])
    is_touched = np.zeros(len(finalists.members), dtype=bool)
    for anchor in finalists.anchors[[arm, leaver]]:
        is_touched[[finalists.near[anchor], finalists.second[anchor]]] = True
    forced = finalists.replace(slot, arm)
    is_touched[[slot, finalists.near[finalists.anchors[leaver]]]] = True
    mended, past = _mend(finalists, is_touched, most=_MOST_SWAPS)
    if not forced + mended < -finalists.least:
        for former, place in [*reversed(past), (leaver, slot)]:
            finalists.replace(place, former)


def _mend(finalists: Finalists, is_touched: Any, most: int) -> tuple[float, list[tuple[int, int]]]:
    """Make up to ``most`` helpful swaps of arms at home in these cells, and in those they touch.

    Return the change of the summed cost, and which arms left which slots.
    """
    change, past = 0.0, list[tuple[int, int]]()
    for _ in range(_MOST_ROUNDS):
        n_before, place = len(past), 0
        arms = np.flatnonzero(is_touched[finalists.homes] & ~finalists.is_member)
        while len(past) < most:
            place, slot = finalists.next_improving_swap(arms, place, finalists.least)
            if place == len(arms):
                break
            arm, leaver = int(arms[place]), int(finalists.members[slot])
            is_touched[[slot, finalists.near[finalists.anchors[arm]]]] = True
            change += finalists.replace(slot, arm)
            is_touched[finalists.near[finalists.anchors[leaver]]] = True
            past.append((leaver, slot))
            place += 1
        if len(past) == n_before:
            break
    return change, past
