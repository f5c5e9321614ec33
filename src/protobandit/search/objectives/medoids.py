"""The change of the cost by replacing one prototype by another arm, on a full table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.foundation.slices import cuts
from protobandit.kernels import full_swaps as full_swaps_kernels
from protobandit.kernels import ragged_swaps as ragged_swaps_kernels
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.feasibility import Feasibility

_STATE = ("members", "near", "second", "D", "E")
_TASK_ENTRIES = 1 << 18

# A swap must lower the cost by more than this share of it, and by more than this share of the cost
# of removals, which is rounding because a change is a difference of such sums.
_LEAST_IMPROVEMENT = 1e-7
_ROUNDING = 1e-12


class Medoids:
    """Prototypes among the arms of a full table, and the two nearest of every target row.

    No distance is copied: in addition to the table it holds a few numbers per target row and per
    arm. `exchange` modifies the object.

    Parameters
    ----------
    table
        The distances of every arm to every target row.
    members
        The arms that are prototypes, by slot.
    weights
        The weights of the target rows.
    feasibility
        Which source rows may replace which prototypes.
    """

    def __init__(
        self, table: FullTable, members: Ids, weights: Doubles, feasibility: Feasibility
    ) -> None:
        n_arms, n_rows = table.matrix.shape
        self.table = table
        self.members = members.copy()
        self.weights = weights
        self.is_member = np.zeros(n_arms, dtype=bool)
        self.is_member[members] = True
        self.near, self.second = (np.zeros(n_rows, dtype=np.int32) for _ in range(2))
        self.D, self.E = (np.zeros(n_rows, dtype=table.dtype) for _ in range(2))
        self.losses = np.zeros(len(members))
        self.n_exchanged = 0
        self._feasibility = feasibility
        self._groups = feasibility.groups[table.arms]
        self._allowed = feasibility.allowed(table.arms[members])
        self._total = float(weights.sum())
        self._rows = np.empty(n_rows, dtype=np.int32)
        if len(members) == 1:  # any number that no distance exceeds gives the correct sums
            self.E[:] = table.matrix.max()
        self.update()

    @property
    def k(self) -> int:
        """Return the number of prototypes."""
        return len(self.members)

    @property
    def n_arms(self) -> int:
        """Return the number of arms, including prototypes."""
        return len(self.table.arms)

    @property
    def cost(self) -> float:
        """Return the weighted mean distance of the rows to their nearest prototype."""
        return float(self.D.astype(np.float64) @ self.weights / self._total)

    @property
    def least_change(self) -> float:
        """Return the change of the cost, a negative number, that a swap must be below."""
        removal = float(self.losses.sum() / self._total)
        return -(_LEAST_IMPROVEMENT * self.cost + _ROUNDING * removal)

    @property
    def gain_bound(self) -> float:
        """Return the share of the cost that a swap may save although `least_change` forbids it.

        Twice the threshold, because a change that is computed is itself rounded.
        """
        return -2 * self.least_change / self.cost if self.cost > 0 else 0.0

    def changes(self, arms: slice, *, is_pairwise: bool = False) -> tuple[Doubles, Ids]:
        """Return the change of the cost by the best swap of each arm, and its slot.

        The change is infinite for prototypes and for arms that may take no slot. ``is_pairwise``
        sums over all rows for each slot, as PAM is defined: the same result with k times the work.
        """
        n = arms.stop - arms.start
        changes, slots = np.empty(n), np.empty(n, dtype=np.int64)
        kernel = full_swaps_kernels.pair_changes if is_pairwise else full_swaps_kernels.slot_changes

        def compute(cut: slice) -> None:
            kernel(*self._state(arms.start + cut.start, self._allowed), changes[cut], slots[cut])

        self.share(compute, n, self.k if is_pairwise else 1)
        return changes / self._total, slots

    def change(self, arm: int, barred: Ids | None = None) -> tuple[float, int]:
        """Return `changes` of a single arm that may not take the slots ``barred``."""
        allowed = self._allowed
        if barred is not None:
            allowed = allowed.copy()
            allowed[:, barred] = False
        change, slot = np.empty(1), np.empty(1, dtype=np.int64)
        self.table.oracle.look_up(len(self.D))
        full_swaps_kernels.slot_changes(*self._state(arm, allowed), change, slot)
        return float(change[0]) / self._total, int(slot[0])

    def exchange(self, slot: int, arm: int) -> None:
        """Replace the prototype in ``slot`` by ``arm``."""
        self.n_exchanged += 1
        self.set_slot(slot, arm)
        line = self.table.column(arm)
        n_to_search = full_swaps_kernels.update_two_nearest(
            line, slot, self.near, self.second, self.D, self.E, self._rows
        )
        self._find_two(self._rows[:n_to_search])
        self._update_losses()

    def set_slot(self, slot: int, arm: int) -> None:
        """Put ``arm`` in ``slot`` without an update; `update` must follow the last of several."""
        self.is_member[self.members[slot]] = False
        self.is_member[arm] = True
        self.members[slot] = arm
        if not self._feasibility.is_free:
            self._allowed = self._feasibility.allowed(self.table.arms[self.members])

    def update(self) -> None:
        """Find the two nearest prototypes of every row again."""
        self._find_two(np.arange(len(self.D), dtype=np.int32))
        self._update_losses()

    def state(self) -> dict[str, Any]:
        """Return copies of the arrays that `restore` sets."""
        return {name: getattr(self, name).copy() for name in _STATE}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Set what `state` returned; raise if it cannot be of this table."""
        require_restorable(
            are_within(arrays["members"], 0, len(self.table.arms))
            and are_within(arrays["near"], 0, len(self.members))
            and are_within(arrays["second"], -1, len(self.members))
            and all(arrays[name].dtype.kind == "f" for name in ("D", "E"))
            and all(arrays[name].shape == getattr(self, name).shape for name in _STATE),
            "prototypes",
        )
        self.members[:] = arrays["members"]
        self.is_member[:] = False
        self.is_member[self.members] = True
        self._allowed = self._feasibility.allowed(self.table.arms[self.members])
        for name in ("near", "second", "D", "E"):
            getattr(self, name)[:] = arrays[name]
        self._update_losses()

    def may_enter(self, arms: Ids, slot: int) -> Any:
        """Return for each of these arms whether it may take a slot."""
        return self._allowed[self._groups[arms], slot]

    def share(self, compute: Callable[[slice], None], n: int, work: int = 1) -> None:
        """Call ``compute`` with slices of ``n`` arms; each reads its row ``work`` times.

        An interruption may end it, so the state must be complete before the call.
        """
        n_entries = n * len(self.D)
        self.table.oracle.look_up(n_entries * work)
        size = max(1, _TASK_ENTRIES // (len(self.D) * work))
        self.table.oracle.share(compute, cuts(n, size), n_entries * work, may_halt=True)

    def _state(self, first: int, allowed: Any) -> tuple[Any, ...]:
        """Return the arguments of kernels, for the arms from ``first`` on."""
        rows = self.near, self.D, self.E, self.weights
        slots = self.losses, self._groups, allowed
        return self.table.matrix, first, self.is_member, *rows, *slots

    def _find_two(self, rows: Any) -> None:
        self.table.oracle.look_up(self.k * len(rows))
        full_swaps_kernels.find_two_nearest(
            self.table.matrix, self.members, rows, self.near, self.second, self.D, self.E
        )

    def _update_losses(self) -> None:
        ragged_swaps_kernels.removal_losses(self.near, self.D, self.E, self.weights, self.losses)


def cell_costs(medoids: Medoids, homes: Ids) -> Doubles:
    """Return the summed distance of each arm to the rows of its home cell."""
    rows = np.argsort(medoids.near, kind="stable")
    starts = np.searchsorted(medoids.near[rows], np.arange(medoids.k + 1))
    costs = np.empty(medoids.n_arms)

    def compute(cut: slice) -> None:
        full_swaps_kernels.cell_costs(
            medoids.table.matrix, cut.start, homes, rows, starts, medoids.weights, costs[cut]
        )

    medoids.share(compute, medoids.n_arms)
    return costs


def nearest_arms(table: FullTable) -> Ids:
    """Return the arm nearest to each target row."""
    n = table.matrix.shape[1]
    arms, nearest = np.empty(n, dtype=np.int64), np.empty(n, dtype=table.dtype)

    def compute(cut: slice) -> None:
        full_swaps_kernels.nearest_arms(table.matrix, cut.start, nearest[cut], arms[cut])

    table.oracle.look_up(table.matrix.size)
    table.oracle.share(compute, cuts(n, CHUNK), table.matrix.size)
    return arms


def nearest_rows(table: FullTable) -> Ids:
    """Return the target row nearest to each arm."""
    rows = np.empty(len(table.arms), dtype=np.int64)

    def compute(cut: slice) -> None:
        rows[cut] = table.matrix[cut].argmin(axis=1)

    table.oracle.look_up(table.matrix.size)
    size = max(1, _TASK_ENTRIES // table.matrix.shape[1])
    table.oracle.share(compute, cuts(len(rows), size), table.matrix.size)
    return rows
