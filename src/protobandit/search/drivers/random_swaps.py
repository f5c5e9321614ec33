"""Wander from neighbour to neighbour: random swaps, each kept if it helps.

Theory of operation
-------------------
A neighbour of some prototypes is the same with one of them replaced. Neighbours are drawn at
random; the first that is better is moved to, and the search ends where ``patience`` of them in a
row were not. They are drawn in blocks no longer than the patience left, so that no neighbour is
ever drawn, nor its distances computed, in vain: arms first, then slots, both independent and even;
an arm that is a prototype when its turn comes is passed over.
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
    """Distances of the whole target to source rows, computed when first asked for and kept.

    Parameters
    ----------
    oracle
        Where they come from.
    capacity
        How many source rows there is room for; when more are asked for, all others are forgotten.
    """

    def __init__(self, oracle: Oracle, capacity: int) -> None:
        n_source, n_target = len(oracle.problem.source), len(oracle.problem.target)
        self.oracle = oracle
        self.matrix = np.empty((capacity, n_target), dtype=oracle.dtype)
        self.places = np.full(n_source, -1, dtype=np.int64)
        self._n_kept = 0

    def n_missing(self, sources: Ids) -> int:
        """Return how many of these distinct source rows would have to be computed."""
        n = int((self.places[sources] < 0).sum())
        return n if self._n_kept + n <= len(self.matrix) else len(sources)

    def fetch(self, sources: Ids) -> None:
        """See to it that the distances of these distinct source rows are ``matrix[places]``."""
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
    """Return where the search from ``start`` ends: at a likely local minimum, or at a limit.

    The first ``n_fixed`` prototypes stay. ``may_compute`` tells whether so many more evaluations
    are within the limits.

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
        n_failed = _walk(columns, swap_state, arms, slots, is_member, n_failed)
    return swap_state


def _walk(
    columns: ColumnCache,
    swap_state: SwapState,
    arms: Ids,
    slots: Ids,
    is_member: Any,
    n_failed: int,
) -> int:
    """Try a block of neighbours one after the other; return how many have failed in a row."""
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
