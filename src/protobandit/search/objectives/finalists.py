"""Prototypes among finalists, whose distances to all rows are known: swaps that can be undone."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.kernels import perturbation as perturbation_kernels
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.objectives.swap_state import SwapState


class Finalists:
    """The distances of finalists, and the current prototypes among them.

    Parameters
    ----------
    table
        The distances of the finalists to all rows.
    swap_state
        The prototypes to start from; not modified.
    feasibility
        Of the finalists. An arm may take any slot of its group that is not fixed, so quotas remain
        satisfied.
    least
        The improvement of the cost that a swap must exceed.
    """

    def __init__(
        self, table: FullTable, swap_state: SwapState, feasibility: Feasibility, least: float
    ) -> None:
        self.rows = table.matrix
        *self.entries, _ = table.within(swap_state.limits)
        self.anchors = self.rows.argmin(axis=1)
        self.members = swap_state.members.copy()
        self.is_member = np.zeros(len(self.rows), dtype=bool)
        self.is_member[self.members] = True
        self.nearby = np.ascontiguousarray(swap_state.matrix.T)
        self.near, self.second = swap_state.near.copy(), swap_state.second.copy()
        self.D, self.E = swap_state.D.copy(), swap_state.E.copy()
        self.weights, self.losses = swap_state.weights, swap_state.losses.copy()
        self._by_slot = np.empty(len(self.losses))
        self.least = least * float(self.weights.sum())
        is_same = feasibility.groups[:, None] == feasibility.groups[self.members][None, :]
        self.is_open = is_same & ~np.isin(self.members, feasibility.fixed)[None, :]

    @property
    def homes(self) -> Ids:
        """Return the cell of the nearest row of each arm."""
        homes: Ids = self.near[self.anchors]
        return homes

    def next_improving_swap(self, arms: Ids, start: int, least: float) -> tuple[int, int]:
        """Return the position of the first arm that lowers the cost by more than ``least``.

        Arms from ``start`` on are tried; the slot of the swap is returned too.
        """
        state = self.near, self.D, self.E, self.weights, self.losses
        position, slot = perturbation_kernels.next_improving_swap(
            *self.entries, arms, start, least, self.is_open[arms], *state, self._by_slot
        )
        return position, slot

    def replace(self, slot: int, arm: int) -> float:
        """Replace the prototype in ``slot`` by ``arm``; return the change of the summed cost."""
        self.is_member[self.members[slot]] = False
        self.members[slot] = arm
        self.is_member[arm] = True
        two_nearest = self.near, self.second, self.D, self.E
        change: float = perturbation_kernels.replace_prototype(
            self.rows[arm], slot, self.nearby, *two_nearest, self.weights, self.losses
        )
        return change
