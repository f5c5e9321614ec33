"""Random swaps (CLARANS): a random swap is made if it lowers the cost.

Theory of operation
-------------------
A neighbour of a set of prototypes differs from it in one prototype. Neighbours are drawn at random.
The search moves to the first one of lower cost, and ends when ``patience`` neighbours in a row did
not lower it. Neighbours are drawn in blocks no longer than the remaining patience, so that every
neighbour drawn is also tried. First the arms of a block are drawn, then the slots, both
independently and uniformly. An arm that is a prototype when it is tried is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.search.objectives.swap_state import SwapState

BLOCK = 256


class ColumnCache:
    """Distances of the whole target to source rows, computed when first needed and kept.

    Parameters
    ----------
    oracle
        Computes the distances.
    capacity
        The number of source rows that can be kept. When it is exceeded, all are dropped.
    """

    def __init__(self, oracle: Oracle, capacity: int) -> None:
        n_source, n_target = len(oracle.problem.source), len(oracle.problem.target)
        self.oracle = oracle
        self.matrix = np.empty((capacity, n_target), dtype=oracle.dtype)
        self.places = np.full(n_source, -1, dtype=np.int64)
        self._n_kept = 0

    def n_missing(self, sources: Ids) -> int:
        """Return the number of these distinct source rows that must be computed."""
        n = int((self.places[sources] < 0).sum())
        return n if self._n_kept + n <= len(self.matrix) else len(sources)

    def fetch(self, sources: Ids) -> None:
        """Make ``matrix[places[sources]]`` the distances of these distinct source rows."""
        if self._n_kept + (self.places[sources] < 0).sum() > len(self.matrix):
            self.places[:] = -1
            self._n_kept = 0
        missing = sources[self.places[sources] < 0]
        self.oracle.look_up((len(sources) - len(missing)) * self.matrix.shape[1])
        if len(missing) == 0:
            return
        there = slice(self._n_kept, self._n_kept + len(missing))

        def place(block: Floats, cut: slice) -> None:
            self.matrix[there, cut] = block

        self.oracle.each_chunk(missing, place)
        self.places[missing] = np.arange(there.start, there.stop)
        self._n_kept = there.stop


def random_swaps(
    columns: ColumnCache,
    start: Ids,
    weights: Doubles,
    *,
    n_fixed: int,
    patience: int,
    random: np.random.Generator,
    may_compute: Callable[[int], bool],
) -> SwapState:
    """Return the prototypes at which the search from ``start`` ends.

    They are likely a local minimum, unless a limit ended the search. The first ``n_fixed``
    prototypes are not replaced. ``may_compute`` returns whether the limits allow this many more
    evaluations.

    Reference: Ng, Han (2002), CLARANS.
    """
    n_source, n_target = len(columns.places), columns.matrix.shape[1]
    with columns.oracle.during("build"):
        columns.fetch(start)
    swap_state = SwapState(start, columns.matrix[columns.places[start]], weights)
    is_member = np.zeros(n_source, dtype=bool)
    is_member[start] = True
    n_open = 0 if len(start) == n_source else len(start) - n_fixed
    n_failed = 0 if n_open else patience
    while n_failed < patience:
        n = min(BLOCK, patience - n_failed)
        arms = random.integers(n_source, size=n)
        slots = n_fixed + random.integers(n_open, size=n)
        wanted = np.unique(arms)
        if not may_compute(columns.n_missing(wanted) * n_target):
            break
        try:
            with columns.oracle.during("swap"):
                columns.fetch(wanted)
        except Halt:
            break
        n_failed = _try_block(columns, swap_state, arms, slots, is_member, n_failed)
    return swap_state


def _try_block(
    columns: ColumnCache,
    swap_state: SwapState,
    arms: Ids,
    slots: Ids,
    is_member: Any,
    n_failed: int,
) -> int:
    """Try a block of neighbours one by one; return how many have failed in a row."""
    while len(arms):
        position, n_more = swap_state.first_improving_swap(
            columns.matrix, columns.places, arms, slots, is_member
        )
        n_failed += n_more
        if position == len(arms):
            break
        arm, slot = int(arms[position]), int(slots[position])
        is_member[swap_state.members[slot]] = False
        is_member[arm] = True
        swap_state.exchange(slot, arm, columns.matrix[columns.places[arm]])
        arms, slots, n_failed = arms[position + 1 :], slots[position + 1 :], 0
    return n_failed
