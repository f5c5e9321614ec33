"""Prototypes among finalists that are known in full: swaps that may be taken back."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.kernels import perturbation as perturbation_kernels
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.objectives.swap_state import SwapState


class Finalists:
    """The finalists' distances, and the prototypes among them as they are tried out.

    Parameters
    ----------
    table
        The finalists at all rows.
    standing
        The prototypes among them; it is left as it is.
    rules
        Of the finalists. Within its group an arm may take any place but that of a fixed one, so no
        quota needs to be counted again.
    least
        By how much the cost must change to be worth a swap.
    """

    def __init__(
        self, table: FullTable, swap_state: SwapState, feasibility: Feasibility, least: float
    ) -> None:
        self.rows = table.matrix
        self.entries = table.within(swap_state.limits)
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
        """Return the cell of each arm's nearest row."""
        homes: Ids = self.near[self.anchors]
        return homes

    def next_helpful(self, arms: Ids, start: int, least: float) -> tuple[int, int]:
        """Return the place of the first arm from ``start`` on that helps so much, and its slot."""
        place, slot = perturbation_kernels.next_improving_swap(
            *self.entries,
            arms,
            start,
            least,
            self.is_open[arms],
            self.near,
            self.D,
            self.E,
            self.weights,
            self.losses,
            self._by_slot,
        )
        return place, slot

    def put(self, arm: int, slot: int) -> float:
        """Put an arm in a slot; return how the summed cost changes."""
        self.is_member[self.members[slot]] = False
        self.members[slot] = arm
        self.is_member[arm] = True
        change: float = perturbation_kernels.replace_prototype(
            self.rows[arm],
            slot,
            self.nearby,
            self.near,
            self.second,
            self.D,
            self.E,
            self.weights,
            self.losses,
        )
        return change
