"""Gains of swaps on the first rows of one order: each pair of a source row and a slot is an arm.

Theory of operation
-------------------
A virtual arm is a source row in the slot of a prototype. The gain of its swap is what the row saves
there, minus the cost of removing the prototype (FasterPAM's decomposition). The second part is
known exactly, because the distances of prototypes to all rows are known. Only the first part is
sampled, and one distance gives it for all slots (Tiwari et al. 2023, BanditPAM++). So an arm that
is far from a prototype has a variance of 0 in its slot and is eliminated at once. A single
prototype has no second: an arm that takes its slot becomes the nearest of every row, so all of
D - d is sampled.

Making no swap is an arm too. Its gain is known: the least gain that a swap must exceed. If a search
chooses it, no swap was found that lowers the cost enough.
"""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import moments as moments_kernels
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import Objective, Round, advance
from protobandit.search.objectives.prefixes import Prefixes, moments_of
from protobandit.search.objectives.swap_state import SwapState

STAY = 0  # the arm of no swap; it is the first, so that a tie does not cause a swap


class Slots(Objective):
    """The swaps of a `SwapState`, as arms.

    `commit` modifies the swap state.

    Parameters
    ----------
    prefixes
        The distances along the order.
    swap_state
        The prototypes, with their distances along the whole order.
    least
        The improvement of the cost that a swap must exceed.
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
        """Return the part of the gain of a swap that does not depend on the arm, by slot."""
        if len(self.swap_state.members) == 1:
            return np.zeros(1)
        known: Doubles = -self.swap_state.losses / len(self.prefixes)
        return known

    def arms(self, sources: Ids) -> Ids:
        """Return the arm of no swap, and each of these source rows in each slot."""
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
        """Add what arms save in every slot on these rows, and the squares."""
        swap_state, weights = self.swap_state, self.prefixes.weights[rows]
        D = swap_state.D[rows]
        if len(swap_state.members) == 1:
            infinite = np.full(len(D), np.inf, dtype=D.dtype)
            moments_kernels.gain_moments(
                matrix, lines, infinite, D, weights, total[:, 0], squares[:, 0]
            )
            return
        near, E = swap_state.near[rows], swap_state.E[rows]
        moments_kernels.swap_moments(matrix, lines, near, D, E, weights, total, squares)

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        return _SwapRound(self, arms)

    def commit(self, arms: Ids) -> Slots:
        """Swap these source rows into their best slots, if that lowers the cost on all rows."""
        sources, _ = self.split(arms)
        for source in sources.tolist():
            column = self.prefixes.column(source)
            total, squares = np.zeros((2, 1, len(self.swap_state.members)))
            all_rows = slice(0, len(self.prefixes))
            self.add(column[None, :], np.zeros(1, dtype=np.int64), all_rows, total, squares)
            gains = self.known + total[0] / len(self.prefixes)
            slot = int(gains.argmax())
            if gains[slot] > self.least:
                self.swap_state.exchange(slot, source, column)
        return self


class _SwapRound:
    """Pulls source rows along the order, each for all of its slots at once."""

    def __init__(self, slots: Slots, arms: Ids) -> None:
        self._slots = slots
        self._known = slots.known
        sources, _ = slots.split(arms[arms != STAY])
        is_used = np.zeros(sources.max(initial=-1) + 1, dtype=bool)
        is_used[sources] = True
        self._sources = np.flatnonzero(is_used)
        self._places = np.cumsum(is_used) - 1
        shape = len(self._sources), len(self._known)
        self._count = np.zeros(shape[0], dtype=np.int64)
        self._total, self._squares = np.zeros(shape), np.zeros(shape)

    def pull(self, pull: Pull) -> Moments:
        assert not pull.new_order, "all rounds share one order"
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
