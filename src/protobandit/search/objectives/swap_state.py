"""What replacing one prototype by another arm is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import ragged_swaps as ragged_swaps_kernels
from protobandit.oracle.tables import RaggedTable

_REACH = 4  # an arm that is farther from a row than so many prototypes will not come to serve it


class SwapState:
    """Prototypes, their distances to some target rows, and the two nearest of each row.

    `exchange` changes it in place: a swap touches few rows, a copy would touch all.

    Parameters
    ----------
    members
        The arms that are prototypes, by slot.
    matrix
        Their distances, one row a slot; taken over, not copied.
    weights
        Of the target rows.
    """

    def __init__(self, members: Ids, matrix: Floats, weights: Doubles) -> None:
        n = len(weights)
        self.members = members.copy()
        self.matrix = matrix
        self.weights = weights
        nobody, beyond = (0, 0.0) if len(members) == 1 else (-1, np.inf)
        self.near, self.second = np.full(n, nobody), np.full(n, nobody)
        self.D = np.full(n, np.inf, dtype=matrix.dtype)
        self.E = np.full(n, beyond, dtype=matrix.dtype)
        self.losses = np.zeros(len(members))
        self._total = float(weights.sum())
        self._one, self._slot = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._change, self._by_slot = np.zeros(1), np.zeros(len(members))
        self._anywhere = np.ones((1, len(members)), dtype=bool)
        for slot, row in enumerate(matrix):
            ragged_swaps_kernels.replace_prototype(
                matrix, slot, row, self.near, self.second, self.D, self.E
            )
        self._update_losses()
        self._put_second_beyond(matrix)

    @property
    def cost(self) -> float:
        """Return the weighted mean distance of the rows to their nearest prototype."""
        return float(self.D.astype(np.float64) @ self.weights / self._total)

    @property
    def removal_cost(self) -> float:
        """Return what removing prototypes would cost, summed over each removed by itself."""
        return float(self.losses.sum() / self._total)

    def changes(self, ragged: RaggedTable, arms: Ids) -> tuple[Doubles, Ids]:
        """Return how the cost changes by each arm's best swap, and the slot it would take."""
        changes, slots = np.empty(len(arms)), np.empty(len(arms), dtype=np.int64)
        self._put_second_beyond(ragged.values)
        allowed = self._allowed(ragged)

        def compute(cut: slice) -> None:
            ragged_swaps_kernels.swap_changes(
                *ragged.entries,
                arms[cut],
                ragged.groups,
                allowed,
                self.near,
                self.D,
                self.E,
                self.weights,
                self.losses,
                np.empty(len(self.losses)),
                changes[cut],
                slots[cut],
            )

        ragged.show(arms, compute)
        return changes / self._total, slots

    def change(self, ragged: RaggedTable, arm: int) -> tuple[float, int]:
        """Return the same for a single arm, without the overhead of many."""
        self._one[0] = arm
        self._put_second_beyond(ragged.values[ragged.starts[arm] : ragged.starts[arm + 1]])
        ragged_swaps_kernels.swap_changes(
            *ragged.entries,
            self._one,
            ragged.groups,
            self._allowed(ragged),
            self.near,
            self.D,
            self.E,
            self.weights,
            self.losses,
            self._by_slot,
            self._change,
            self._slot,
        )
        return float(self._change[0]) / self._total, int(self._slot[0])

    def homes(self, ragged: RaggedTable, arms: Ids, n: int) -> Ids:
        """Return the n cells in which each arm comes closest to beating the second prototype.

        Where it comes close in fewer, -1 stands for the others.
        """
        k = len(self.members)
        if n >= k:
            return np.tile(np.arange(k), (len(arms), 1))
        homes = np.empty((len(arms), n), dtype=np.int64)

        def compute(cut: slice) -> None:
            ragged_swaps_kernels.home_cells(
                *ragged.entries,
                arms[cut],
                self.near,
                self.E,
                self.weights,
                np.empty(k),
                homes[cut],
            )

        ragged.show(arms, compute)
        return homes

    @property
    def limits(self) -> Floats:
        """Return, for each row, the distance from which on an arm is out of its reach.

        A swap takes one prototype away; what lies beyond the fourth matters only after several.
        """
        if len(self.members) <= _REACH:
            return np.full(len(self.D), np.inf, dtype=self.D.dtype)
        limits: Floats = np.partition(self.matrix, _REACH - 1, axis=0)[_REACH - 1]
        return limits

    def exchange(self, slot: int, arm: int, distances: Floats) -> None:
        """Put ``arm``, with these distances, in the place of the prototype in ``slot``."""
        self.members[slot] = arm
        ragged_swaps_kernels.replace_prototype(
            self.matrix, slot, distances, self.near, self.second, self.D, self.E
        )
        self._update_losses()
        self._put_second_beyond(distances)

    def notes(self) -> dict[str, Any]:
        """Return all from which `recalled` makes the same standing; nothing is copied."""
        names = ("members", "matrix", "weights", "near", "second", "D", "E")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def recalled(cls, notes: Mapping[str, Any]) -> SwapState:
        """Return the standing of which these notes were taken."""
        swap_state = cls(notes["members"], notes["matrix"], notes["weights"])
        # Of equally near prototypes, which is the nearest depends on how they came in.
        for name in ("near", "second", "D", "E"):
            getattr(swap_state, name)[:] = notes[name]
        swap_state._update_losses()
        return swap_state

    def _allowed(self, ragged: RaggedTable) -> Any:
        """Return which slots an arm of each group may take."""
        feasibility = ragged.oracle.problem.feasibility
        return (
            self._anywhere
            if feasibility.is_free
            else feasibility.allowed(ragged.arms[self.members])
        )

    def _put_second_beyond(self, distances: Floats) -> None:
        # With a lone prototype any number that no distance exceeds makes every sum come out right.
        if len(self.members) == 1 and distances.max(initial=0) > self.E[0]:
            self.E[:] = distances.max()
            self._update_losses()

    def _update_losses(self) -> None:
        ragged_swaps_kernels.removal_losses(self.near, self.D, self.E, self.weights, self.losses)
