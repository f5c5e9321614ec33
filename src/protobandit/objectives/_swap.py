"""What replacing one prototype by another arm is worth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from protobandit import kernels
from protobandit._oracle import cuts
from protobandit._table import Patchwork
from protobandit._typing import Doubles, Floats, Ids

_TASK_ENTRIES = 1 << 18


class Standing:
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
        self.near, self.second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.D = np.empty(n, dtype=matrix.dtype)
        self.E = np.zeros(n, dtype=matrix.dtype)
        self.losses = np.zeros(len(members))
        self._total = float(weights.sum())
        self._one, self._slot = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._change = np.zeros(1)
        kernels.two_nearest(matrix, self.near, self.second, self.D, self.E)
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

    def changes(self, patchwork: Patchwork, arms: Ids) -> tuple[Doubles, Ids]:
        """Return how the cost changes by each arm's best swap, and the slot it would take."""
        changes, slots = np.empty(len(arms)), np.empty(len(arms), dtype=np.int64)
        self._put_second_beyond(patchwork.values)

        def compute(cut: slice) -> None:
            kernels.swap_changes(
                *patchwork.entries,
                arms[cut],
                self.near,
                self.D,
                self.E,
                self.weights,
                self.losses,
                changes[cut],
                slots[cut],
            )

        _share(patchwork, arms, compute)
        return changes / self._total, slots

    def change(self, patchwork: Patchwork, arm: int) -> tuple[float, int]:
        """Return the same for a single arm, without the overhead of many."""
        self._one[0] = arm
        self._put_second_beyond(patchwork.values[patchwork.starts[arm] : patchwork.starts[arm + 1]])
        kernels.swap_changes(
            *patchwork.entries,
            self._one,
            self.near,
            self.D,
            self.E,
            self.weights,
            self.losses,
            self._change,
            self._slot,
        )
        return float(self._change[0]) / self._total, int(self._slot[0])

    def affinities(self, patchwork: Patchwork, arms: Ids) -> Doubles:
        """Return how much nearer than the second prototype each arm is to the rows of each cell.

        Infinite for the cell of the row nearest to the arm.
        """
        out = np.empty((len(arms), len(self.members)))

        def compute(cut: slice) -> None:
            kernels.affinities(
                *patchwork.entries, arms[cut], self.near, self.E, self.weights, out[cut]
            )

        _share(patchwork, arms, compute)
        return out

    def exchange(self, slot: int, arm: int, distances: Floats) -> None:
        """Put ``arm``, with these distances, in the place of the prototype in ``slot``."""
        self.members[slot] = arm
        kernels.exchange(self.matrix, slot, distances, self.near, self.second, self.D, self.E)
        self._update_losses()
        self._put_second_beyond(distances)

    def _put_second_beyond(self, distances: Floats) -> None:
        # With a lone prototype any number that no distance exceeds makes every sum come out right.
        if len(self.members) == 1 and distances.max(initial=0) > self.E[0]:
            self.E[:] = distances.max()
            self._update_losses()

    def _update_losses(self) -> None:
        kernels.removal_losses(self.near, self.D, self.E, self.weights, self.losses)


def _share(patchwork: Patchwork, arms: Ids, compute: Callable[[slice], None]) -> None:
    lengths = np.diff(patchwork.starts)[arms]
    n = int(lengths.sum())
    patchwork.oracle.look_up(n)
    size = max(1, _TASK_ENTRIES * len(arms) // max(n, 1))
    patchwork.oracle.share(compute, cuts(len(arms), size), n)
