"""What swaps are worth on the first rows of one order: an arm in each slot is an arm of its own.

Theory of operation
-------------------
A virtual arm is a source row in the slot of a prototype. What its swap is worth is what the row
saves there, minus what removing the prototype costs (FasterPAM's decomposition). The second is
known exactly, for prototypes have been measured at all rows; only the first is sampled, and one
distance tells it for all slots (Tiwari et al. 2023, BanditPAM++). So an arm that is far from a
prototype has no spread in its slot, and falls at once. A lone prototype has no second: whoever
takes its slot serves every row, so that all of D - d is sampled.

Staying is an arm too, whose worth is known: the least that a swap must bring. A search that chooses
it has found no swap that pays.
"""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import moments as moments_kernels
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import Objective, Round, advance
from protobandit.search.objectives.prefixes import Prefixes, moments_of
from protobandit.search.objectives.swap_state import SwapState

STAY = 0  # the first of the virtual arms, so that a tie is no reason for a swap


class Slots(Objective):
    """The swaps that a standing allows, as arms.

    `commit` changes the standing in place, as `SwapState` does.

    Parameters
    ----------
    prefixes
        Where distances are read.
    standing
        The prototypes, measured along the whole order.
    least
        What a swap must lower the cost by.
    """

    def __init__(self, prefixes: Prefixes, swap_state: SwapState, least: float) -> None:
        self.prefixes = prefixes
        self.swap_state = swap_state
        self.least = least

    @property
    def population(self) -> int:
        return len(self.prefixes)

    @property
    def known(self) -> Doubles:
        """Return the part of a swap's worth that does not depend on the arm, by slot."""
        if len(self.swap_state.members) == 1:
            return np.zeros(1)
        known: Doubles = -self.swap_state.losses / len(self.prefixes)
        return known

    def arms(self, sources: Ids) -> Ids:
        """Return staying, and each of these source rows in each slot."""
        k = len(self.swap_state.members)
        pairs = STAY + 1 + sources[:, None] * k + np.arange(k)
        return np.concatenate([[STAY], pairs.ravel()])

    def split(self, arms: Ids) -> tuple[Ids, Ids]:
        """Return the source rows and the slots of virtual arms."""
        k = len(self.swap_state.members)
        sources = (arms - STAY - 1) // k
        return sources, arms - STAY - 1 - sources * k

    def add(
        self, matrix: Floats, lines: Ids, rows: slice, total: Doubles, squares: Doubles
    ) -> None:
        """Add up what arms save in every slot on these rows, and the squares."""
        swap_state, weights = self.swap_state, self.prefixes.weights[rows]
        D = swap_state.D[rows]
        if len(swap_state.members) == 1:
            nowhere = np.full(len(D), np.inf, dtype=D.dtype)
            moments_kernels.gain_moments(
                matrix, lines, nowhere, D, weights, total[:, 0], squares[:, 0]
            )
            return
        near, E = swap_state.near[rows], swap_state.E[rows]
        moments_kernels.swap_moments(matrix, lines, near, D, E, weights, total, squares)

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        return _SwapRound(self, arms)

    def commit(self, arms: Ids) -> Slots:
        """Let these source rows in, each in its best slot, where all rows say that it pays."""
        sources, _ = self.split(arms)
        for source in sources.tolist():
            column = self.prefixes.column(source)
            total, squares = np.zeros((2, 1, len(self.swap_state.members)))
            everything = slice(0, len(self.prefixes))
            self.add(column[None, :], np.zeros(1, dtype=np.int64), everything, total, squares)
            worth = self.known + total[0] / len(self.prefixes)
            slot = int(worth.argmax())
            if worth[slot] > self.least:
                self.swap_state.exchange(slot, source, column)
        return self


class _SwapRound:
    """Pulls source rows along the order, each for all of its slots at once."""

    def __init__(self, slots: Slots, arms: Ids) -> None:
        self._slots = slots
        self._known = slots.known
        sources, _ = slots.split(arms[arms != STAY])
        is_offered = np.zeros(sources.max(initial=-1) + 1, dtype=bool)
        is_offered[sources] = True
        self._sources = np.flatnonzero(is_offered)
        self._places = np.cumsum(is_offered) - 1
        shape = len(self._sources), len(self._known)
        self._count = np.zeros(shape[0], dtype=np.int64)
        self._total, self._squares = np.zeros(shape), np.zeros(shape)

    def pull(self, pull: Pull) -> Moments:
        assert not pull.new_order, "one order serves all rounds"
        is_swap = pull.arms != STAY
        sources, slots = self._slots.split(pull.arms[is_swap])
        places = self._places[sources]
        is_pulled = np.zeros(len(self._sources), dtype=bool)
        is_pulled[places] = True
        pulled = np.flatnonzero(is_pulled)
        advance(self._count, pulled, pull.n, self._slots.population, self._add)
        at = places * len(self._known) + slots
        seen = moments_of(
            self._count[places],
            self._total.ravel()[at],
            self._squares.ravel()[at],
            self._slots.swap_state.D.dtype,
        )
        if len(at) == len(is_swap):
            return Moments(seen.count, seen.mean + self._known[slots], seen.spread)
        count = np.full(len(is_swap), self._slots.population)
        mean, spread = np.full(len(is_swap), self._slots.least), np.zeros(len(is_swap))
        count[is_swap], spread[is_swap] = seen.count, seen.spread
        mean[is_swap] = seen.mean + self._known[slots]
        return Moments(count, mean, spread)

    def _add(self, group: Ids, start: int, stop: int) -> None:
        def visit(matrix: Floats, lines: Ids, which: Ids) -> None:
            total, squares = np.zeros((2, len(which), len(self._known)))
            self._slots.add(matrix, lines, slice(start, stop), total, squares)
            self._total[group[which]] += total
            self._squares[group[which]] += squares

        self._slots.prefixes.show(self._sources[group], start, stop, visit)
