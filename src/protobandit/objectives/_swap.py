"""What replacing one prototype by another arm is worth, on the rows of a table."""

from __future__ import annotations

import numpy as np

from protobandit import kernels
from protobandit._oracle import cuts
from protobandit._table import Table
from protobandit._typing import Doubles, Ids

_TASK_CELLS = 1 << 19


class Standing:
    """The prototypes of a table and, for each target row, the two nearest of them.

    `exchange` changes it in place: a swap touches few rows, a copy would touch all.

    Attributes
    ----------
    members
        The table's arms that are prototypes, by slot.
    """

    def __init__(self, table: Table, members: Ids) -> None:
        n = len(table.rows)
        self.table = table
        self.members = members.copy()
        self._near, self._second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._D = np.empty(n, dtype=table.dtype)
        # The second of a lone prototype is as far as any arm: then every sum is as it should be.
        self._E = np.full(n, table.matrix.max() if len(members) == 1 else 0, dtype=table.dtype)
        self._losses = np.zeros(len(members))
        table.look_up(len(members))
        kernels.two_nearest(table.matrix, self.members, self._near, self._second, self._D, self._E)
        self._update_losses()

    @property
    def cost(self) -> float:
        """Return the weighted mean distance of the rows to their nearest prototype."""
        weights = self.table.weights
        return float(self._D.astype(np.float64) @ weights / weights.sum())

    def changes(self, arms: Ids) -> tuple[Doubles, Ids]:
        """Return how the cost changes by each arm's best swap, and the slot it would take."""
        changes, slots = np.empty(len(arms)), np.empty(len(arms), dtype=np.int64)
        self.table.look_up(len(arms))

        def compute(cut: slice) -> None:
            kernels.swap_changes(
                self.table.matrix,
                arms[cut],
                self._near,
                self._D,
                self._E,
                self.table.weights,
                self._losses,
                changes[cut],
                slots[cut],
            )

        n = len(self.table.rows)
        tasks = cuts(len(arms), max(1, _TASK_CELLS // n))
        self.table.oracle.share(compute, tasks, len(arms) * n)
        return changes / self.table.weights.sum(), slots

    def exchange(self, slot: int, arm: int) -> None:
        """Put ``arm`` in the place of the prototype in ``slot``."""
        self.table.look_up(1)
        kernels.exchange(
            self.table.matrix,
            self.members,
            slot,
            arm,
            self._near,
            self._second,
            self._D,
            self._E,
        )
        self._update_losses()

    def _update_losses(self) -> None:
        kernels.removal_losses(self._near, self._D, self._E, self.table.weights, self._losses)
