"""The change of the cost by replacing one prototype by another arm, on a ragged table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.kernels import ragged_swaps as ragged_swaps_kernels
from protobandit.kernels import random_swaps as random_swaps_kernels
from protobandit.oracle.tables import RaggedTable

_REACH = 4  # an arm farther from a row than this many prototypes will not become its nearest

# A change is a difference of sums; a smaller share of these sums is rounding.
_ROUNDING = 1e-12


class SwapState:
    """Prototypes, their distances to some target rows, and the two nearest of each row.

    `exchange` modifies the object: a swap changes few rows, a copy would read all of them.

    Parameters
    ----------
    members
        The arms that are prototypes, by slot.
    matrix
        Their distances, one row per slot; used without copying.
    weights
        The weights of the target rows.
    """

    def __init__(self, members: Ids, matrix: Floats, weights: Doubles) -> None:
        n = len(weights)
        self.members = members.copy()
        self.matrix = matrix
        self.weights = weights
        no_slot, far = (0, 0.0) if len(members) == 1 else (-1, np.inf)
        self.near, self.second = np.full(n, no_slot), np.full(n, no_slot)
        self.D = np.full(n, np.inf, dtype=matrix.dtype)
        self.E = np.full(n, far, dtype=matrix.dtype)
        self.losses = np.zeros(len(members))
        self._total = float(weights.sum())
        self._arm, self._slot = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._change, self._by_slot = np.zeros(1), np.zeros(len(members))
        self._all_slots = np.ones((1, len(members)), dtype=bool)
        for slot, row in enumerate(matrix):
            ragged_swaps_kernels.replace_prototype(
                matrix, slot, row, self.near, self.second, self.D, self.E
            )
        self._update_losses()
        self._raise_second(matrix)

    @property
    def cost(self) -> float:
        """Return the weighted mean distance of the rows to their nearest prototype."""
        return float(self.D.astype(np.float64) @ self.weights / self._total)

    @property
    def removal_cost(self) -> float:
        """Return the sum over prototypes of the increase of the cost if only it is removed."""
        return float(self.losses.sum() / self._total)

    def changes(self, ragged: RaggedTable, arms: Ids) -> tuple[Doubles, Ids]:
        """Return the change of the cost by the best swap of each arm, and its slot."""
        changes, slots = np.empty(len(arms)), np.empty(len(arms), dtype=np.int64)
        self._raise_second(ragged.values)
        allowed = self._allowed(ragged)

        def compute(cut: slice) -> None:
            scratch = np.empty(len(self.losses))
            state = self._state(ragged, allowed)
            ragged_swaps_kernels.swap_changes(
                *ragged.entries, arms[cut], *state, scratch, changes[cut], slots[cut]
            )

        ragged.show(arms, compute)
        return changes / self._total, slots

    def change(self, ragged: RaggedTable, arm: int) -> tuple[float, int]:
        """Return `changes` of a single arm, without the overhead of many."""
        self._arm[0] = arm
        self._raise_second(ragged.values[ragged.starts[arm] : ragged.starts[arm + 1]])
        state = self._state(ragged, self._allowed(ragged))
        ragged_swaps_kernels.swap_changes(
            *ragged.entries, self._arm, *state, self._by_slot, self._change, self._slot
        )
        return float(self._change[0]) / self._total, int(self._slot[0])

    def homes(self, ragged: RaggedTable, arms: Ids, n: int) -> Ids:
        """Return for each arm the n cells in which a swap is most promising (`home_cells`).

        -1 fills the rest if there are fewer.
        """
        k = len(self.members)
        if n >= k:
            return np.tile(np.arange(k), (len(arms), 1))
        homes = np.empty((len(arms), n), dtype=np.int64)

        def compute(cut: slice) -> None:
            state = self.near, self.E, self.weights, np.empty(k)
            ragged_swaps_kernels.home_cells(*ragged.entries, arms[cut], *state, homes[cut])

        ragged.show(arms, compute)
        return homes

    @property
    def limits(self) -> Floats:
        """Return for each row the distance of its fourth nearest prototype.

        A swap removes one prototype, so arms beyond the fourth matter only after several swaps.
        """
        return reach(self.matrix)

    def exchange(self, slot: int, arm: int, distances: Floats) -> None:
        """Replace the prototype in ``slot`` by ``arm``, which has these distances."""
        self.members[slot] = arm
        ragged_swaps_kernels.replace_prototype(
            self.matrix, slot, distances, self.near, self.second, self.D, self.E
        )
        self._update_losses()
        self._raise_second(distances)

    def first_improving_swap(
        self, matrix: Floats, places: Ids, arms: Ids, slots: Ids, is_member: Any
    ) -> tuple[int, int]:
        """Return the position of the first swap that lowers the cost, and how many failed before.

        Swap p puts ``arms[p]``, whose distances are ``matrix[places[arms[p]]]``, in ``slots[p]``.
        An arm that ``is_member`` is skipped and does not count as a failure. If no swap lowers the
        cost, the position is ``len(arms)``.
        """
        E = self.E if len(self.members) > 1 else np.full_like(self.E, np.inf)
        sums = self.cost + abs(self.removal_cost)
        found = np.empty(2, dtype=np.int64)
        least, state = -_ROUNDING * sums * self._total, (self.near, self.D, E, self.weights)
        random_swaps_kernels.first_improving_swap(
            matrix, places, arms, slots, is_member, *state, least, found
        )
        return int(found[0]), int(found[1])

    def state(self) -> dict[str, Any]:
        """Return the arrays from which `restored` makes an equal object; they are not copied."""
        names = ("members", "matrix", "weights", "near", "second", "D", "E")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restored(cls, arrays: Mapping[str, Any]) -> SwapState:
        """Return the object whose `state` is given; raise if it cannot be one."""
        members, matrix = arrays["members"], arrays["matrix"]
        k, n = len(members), len(arrays["weights"])
        rows = [arrays[name] for name in ("weights", "near", "second", "D", "E")]
        require_restorable(
            k > 0
            and members.ndim == 1
            and matrix.shape == (k, n)
            and matrix.dtype.kind == "f"
            and all(row.shape == (n,) and row.dtype.isnative for row in (*rows, matrix[0]))
            and are_within(arrays["near"], 0, k)
            and are_within(arrays["second"], -1, k)
            and all(arrays[name].dtype.kind == "f" for name in ("weights", "D", "E")),
            "prototypes",
        )
        swap_state = cls(arrays["members"], arrays["matrix"], arrays["weights"])
        # Which of equally near prototypes is the nearest depends on the order of earlier swaps.
        for name in ("near", "second", "D", "E"):
            getattr(swap_state, name)[:] = arrays[name]
        swap_state._update_losses()
        return swap_state

    def _allowed(self, ragged: RaggedTable) -> Any:
        """Return the slots that arms of each group may take."""
        feasibility = ragged.oracle.problem.feasibility
        if feasibility.is_free:
            return self._all_slots
        return feasibility.allowed(ragged.arms[self.members])

    def _state(self, ragged: RaggedTable, allowed: Any) -> tuple[Any, ...]:
        """Return the arguments of `swap_changes` that do not depend on the arms."""
        return ragged.groups, allowed, self.near, self.D, self.E, self.weights, self.losses

    def _raise_second(self, distances: Floats) -> None:
        # With a single prototype, any number that no distance exceeds gives the correct sums.
        if len(self.members) == 1 and distances.max(initial=0) > self.E[0]:
            self.E[:] = distances.max()
            self._update_losses()

    def _update_losses(self) -> None:
        ragged_swaps_kernels.removal_losses(self.near, self.D, self.E, self.weights, self.losses)


def reach(matrix: Floats) -> Floats:
    """Return the fourth smallest distance of each column; infinite if there are not more."""
    if len(matrix) <= _REACH:
        return np.full(matrix.shape[1], np.inf, dtype=matrix.dtype)
    limits: Floats = np.partition(matrix, _REACH - 1, axis=0)[_REACH - 1]
    return limits
