"""Perturbation: force a swap, repair the prototypes nearby, and keep the result if it is better.

Swaps end in a local minimum, where no single swap lowers the cost. A forced swap followed by
improving swaps nearby can leave it: a random arm takes the slot where it raises the cost least,
then arms at home in the affected cells may take any slot, and everything is undone unless the cost
is lower in the end. All distances come from a table of the finalists, so trials need no evaluation.

Fränti, Kivijärvi (2000) use the same search for k-means (randomised local search).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.objectives.finalists import Finalists
from protobandit.search.objectives.swap_state import SwapState

_MOST_SWAPS = 12  # of a trial
_MOST_ROUNDS = 4  # over the arms of the affected cells


def perturb(
    table: FullTable,
    swap_state: SwapState,
    forced: Ids,
    feasibility: Feasibility,
    least: float,
) -> SwapState:
    """Make improving swaps, then try a forced swap of each of these arms; return the result.

    ``swap_state`` has prototypes among the arms of the table, on all of its rows; it is not
    modified. ``feasibility`` is that of the arms of the table. ``least`` is the improvement of the
    cost that a swap must exceed.
    """
    if len(swap_state.members) < 2:
        return swap_state
    finalists = Finalists(table, swap_state, feasibility, least)
    all_cells = np.ones(len(swap_state.members), dtype=bool)
    _repair(finalists, all_cells, most=len(finalists.rows))
    for arm in forced:
        if not finalists.is_member[arm]:
            _try_forced(finalists, int(arm))
    result = SwapState(
        finalists.members, np.ascontiguousarray(finalists.nearby.T), swap_state.weights
    )
    return result if result.cost < swap_state.cost else swap_state


def _try_forced(finalists: Finalists, arm: int) -> None:
    """Swap in an arm by force and repair; undo everything unless the cost is lower."""
    _, slot = finalists.next_improving_swap(np.array([arm]), 0, -np.inf)
    if slot < 0:
        return
    removed = int(finalists.members[slot])
    is_affected = np.zeros(len(finalists.members), dtype=bool)
    for anchor in finalists.anchors[[arm, removed]]:
        is_affected[[finalists.near[anchor], finalists.second[anchor]]] = True
    forced = finalists.replace(slot, arm)
    is_affected[[slot, finalists.near[finalists.anchors[removed]]]] = True
    repaired, undo = _repair(finalists, is_affected, most=_MOST_SWAPS)
    if not forced + repaired < -finalists.least:
        for former, place in [*reversed(undo), (removed, slot)]:
            finalists.replace(place, former)


def _repair(
    finalists: Finalists, is_affected: Any, most: int
) -> tuple[float, list[tuple[int, int]]]:
    """Make up to ``most`` improving swaps of arms in these cells, and in those they affect.

    Return the change of the summed cost, and the arms that were removed with their slots.
    """
    change, undo = 0.0, list[tuple[int, int]]()
    for _ in range(_MOST_ROUNDS):
        n_before, place = len(undo), 0
        arms = np.flatnonzero(is_affected[finalists.homes] & ~finalists.is_member)
        while len(undo) < most:
            place, slot = finalists.next_improving_swap(arms, place, finalists.least)
            if place == len(arms):
                break
            arm, removed = int(arms[place]), int(finalists.members[slot])
            is_affected[[slot, finalists.near[finalists.anchors[arm]]]] = True
            change += finalists.replace(slot, arm)
            is_affected[finalists.near[finalists.anchors[removed]]] = True
            undo.append((removed, slot))
            place += 1
        if len(undo) == n_before:
            break
    return change, undo
