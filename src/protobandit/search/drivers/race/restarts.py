"""Restarts: other starts and changed prototypes, improved by eager swaps on a full table.

Swaps end in a local minimum, which depends on where they start. If all dissimilarities are in a
table, another local minimum costs no evaluation, only a few passes over the table. Trials alternate
between two kinds of starts:

1. Random arms. If the table is large, swaps first improve several random starts, each on a random
   part of the arms and rows, and only the one with the lowest cost over all rows goes on. Parts
   also thin out repeated rows, however many there are.
2. The best prototypes so far, a fifth of them replaced by random arms. This is better than random
   starts if there are many prototypes, most of which are already good.

A trial improves its start by swaps on the whole table; the best result is kept. There is at least
one trial, and trials end when a given number of entries of the table has been read, so the result
does not depend on time. Several
trials run at once, all from the same best prototypes; how many depends on what earlier trials read,
not on the number of threads.

Hansen, Mladenović (1997) describe such searches for the p-median problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels import eager_swaps as eager_swaps_kernels
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.control import SearchControl
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.objectives.swap_state import SwapState

_PART = 0.25  # of the arms and of the rows
_LEAST_PART = 10  # arms and rows of a part, in units of k
_LARGEST_PART = 0.25  # of the table; larger parts save too little
_SMALLEST_TABLE = 1 << 14  # entries; below, parts save too little
_STARTS = 6  # on parts, of which the best goes on
_REPLACED = 0.2  # of the prototypes
_AT_ONCE = 32  # trials
_PASSES = 3  # of a trial; a first guess
_MOST_PASSES = 16  # of a trial, which cannot be interrupted
_TASK_READS = 1 << 18
_TRIAL_READS = 1 << 13  # entries that could be read in the time that a trial takes otherwise


@dataclass(frozen=True, eq=False)
class _Start:
    """Random prototypes, and the part of the table on which they are improved first."""

    members: Ids
    arms: Ids
    rows: Ids


class _Trials:
    """Trials on a full table, and the best prototypes so far.

    Parameters
    ----------
    table, weights
        The distances of all arms to all rows, and the weights of the rows.
    feasibility
        Of the arms of the table.
    members, cost
        The prototypes to improve, and their summed cost.
    least
        The improvement of the summed cost that a swap must exceed.
    """

    def __init__(
        self,
        table: FullTable,
        weights: Doubles,
        feasibility: Feasibility,
        members: Ids,
        cost: float,
        least: float,
    ) -> None:
        self.table = table
        self.weights = weights
        self.feasibility = feasibility
        self.members = members
        self.cost = cost
        self.least = least
        self.n_trials = self.n_reads = 0
        n_arms, n_rows = table.matrix.shape
        self._shape = tuple(
            min(n, max(math.ceil(_PART * n), _LEAST_PART * len(members))) for n in (n_arms, n_rows)
        )
        size = table.matrix.size
        self._has_parts = math.prod(self._shape) <= _LARGEST_PART * size > _SMALLEST_TABLE / 4

    @property
    def mean_reads(self) -> int:
        """Return the mean number of entries that a trial reads; before the first one, a guess."""
        return self.n_reads // self.n_trials if self.n_trials else _PASSES * self.table.matrix.size

    def run(self, n: int, random: np.random.Generator) -> None:
        """Run ``n`` trials that start from random arms or from the best prototypes so far."""
        starts = self._starts(n, random)
        costs, n_reads = np.empty(n), np.empty(n, dtype=np.int64)

        def swap(cut: slice) -> None:
            for number in range(cut.start, cut.stop):
                costs[number], n_reads[number] = self._swap(
                    self.table.matrix, starts[number], self.weights, self.least
                )

        tasks = cuts(n, max(1, _TASK_READS // self.mean_reads))
        self.table.oracle.share(swap, tasks, n * self.mean_reads)
        self.n_trials += n
        self._count(int(n_reads.sum()))
        self.n_reads += n * _TRIAL_READS
        # Of equal costs, which rounding may tell apart, take the first.
        best = int((costs <= costs.min() + self.least).argmax())
        if costs[best] < self.cost - self.least:
            self.members, self.cost = starts[best], float(costs[best])

    def _starts(self, n: int, random: np.random.Generator) -> Ids:
        """Return the prototypes from which ``n`` trials start, drawn one after the other."""
        starts, parts = np.empty((n, len(self.members)), dtype=np.int64), list[_Start]()
        is_on_parts = np.zeros(n, dtype=bool)
        for number in range(n):
            if (self.n_trials + number) % 2:
                starts[number] = self._replaced(random)
            elif self._has_parts:
                is_on_parts[number] = True
                parts += [self._random_part(random) for _ in range(_STARTS)]
            else:
                starts[number] = random_rows(self.feasibility, len(self.members), random)
        if parts:
            starts[is_on_parts] = self._best_on_parts(parts)
        return starts

    def _best_on_parts(self, starts: list[_Start]) -> Ids:
        """Improve starts on parts of the table; return the best of each ``_STARTS`` of them."""
        costs, n_reads = np.empty(len(starts)), np.empty(len(starts), dtype=np.int64)

        def improve(number: int) -> None:
            costs[number], n_reads[number] = self._improve_on_part(starts[number])

        work = _PASSES * len(starts) * math.prod(self._shape)
        self.table.oracle.share(improve, range(len(starts)), work)
        self._count(int(n_reads.sum()))
        grouped = costs.reshape(-1, _STARTS)
        best = (grouped <= grouped.min(axis=1, keepdims=True) + self.least).argmax(axis=1)
        chosen = best + _STARTS * np.arange(len(best))
        return np.array([starts[number].members for number in chosen])

    def _improve_on_part(self, start: _Start) -> tuple[float, int]:
        """Make swaps on a part of the table; return the cost over all rows and the entries read."""
        part = np.empty((len(start.arms), len(start.rows)), dtype=self.table.dtype)
        eager_swaps_kernels.take_part(self.table.matrix, start.arms, start.rows, part)
        members, weights = np.searchsorted(start.arms, start.members), self.weights[start.rows]
        least = self.least * len(weights) / len(self.weights)
        _, n_reads = self._swap(part, members, weights, least, arms=start.arms)
        start.members[:] = start.arms[members]
        nearest = self.table.matrix[start.members].min(axis=0).astype(np.float64)
        return float(nearest @ self.weights), n_reads + part.size + len(members) * len(nearest)

    def _swap(
        self, matrix: Floats, members: Ids, weights: Doubles, least: float, arms: Ids | None = None
    ) -> tuple[float, int]:
        """Make swaps on a table of all arms, or of some; return the cost and the entries read."""
        feasibility = self.feasibility
        is_fixed = self._is_fixed(members if arms is None else arms[members])
        groups = feasibility.groups if arms is None else feasibility.groups[arms]
        most = _MOST_PASSES * matrix.size
        quotas = groups, feasibility.least, feasibility.most, is_fixed
        cost, n_reads = eager_swaps_kernels.swap_eagerly(
            matrix, weights, *quotas, least, most, members
        )
        return float(cost), int(n_reads)

    def _random_part(self, random: np.random.Generator) -> _Start:
        members = random_rows(self.feasibility, len(self.members), random)
        n_arms, n_rows = self._shape
        arms = random.choice(len(self.table.arms), n_arms, replace=False)
        rows = random.choice(len(self.weights), n_rows, replace=False)
        # With the random prototypes, the part has a feasible selection.
        return _Start(members, np.unique(np.concatenate([arms, members])), np.sort(rows))

    def _replaced(self, random: np.random.Generator) -> Ids:
        """Return the best prototypes, some of them replaced by random arms of the same group."""
        members, feasibility = self.members.copy(), self.feasibility
        slots = random.permutation(np.flatnonzero(~self._is_fixed(members)))
        slots = slots[: max(1, round(_REPLACED * len(members)))]
        is_other = np.ones(len(self.table.arms), dtype=bool)
        is_other[members] = False
        others = random.permutation(np.flatnonzero(is_other))
        if feasibility.is_free and len(others) >= len(slots):
            members[slots] = others[: len(slots)]
            return members
        own, theirs = feasibility.groups[members[slots]], feasibility.groups[others]
        for group in np.unique(own):
            arms = others[theirs == group][: np.count_nonzero(own == group)]
            members[slots[own == group][: len(arms)]] = arms
        return members

    def _is_fixed(self, members: Ids) -> Any:
        fixed = self.feasibility.fixed
        return np.isin(members, fixed) if len(fixed) else np.zeros(len(members), dtype=bool)

    def _count(self, n_reads: int) -> None:
        self.n_reads += n_reads
        self.table.oracle.look_up(n_reads)


def improve_by_restarts(
    table: FullTable,
    swap_state: SwapState,
    feasibility: Feasibility,
    *,
    least: float,
    n_reads: int,
    random: np.random.Generator,
    control: SearchControl,
) -> SwapState:
    """Return the best of these prototypes and of the results of other starts.

    ``swap_state`` has prototypes among the arms of the table, on all of its rows; it is not
    modified. ``feasibility`` is that of the arms of the table. ``least`` is the improvement of the
    cost that a swap must exceed. As many trials are made as read about ``n_reads`` entries of the
    table, but at least one, unless ``control`` ends the search.
    """
    k, total = len(swap_state.members), float(swap_state.weights.sum())
    if not max(1, len(feasibility.fixed)) < k < len(table.arms):
        return swap_state
    start = swap_state.members, swap_state.cost * total
    trials = _Trials(table, swap_state.weights, feasibility, *start, least * total)
    n = n_planned = 1
    while n == n_planned and control.allows():
        # Later trials start from the results of earlier ones, so not all begin at once. A smaller
        # budget makes the first trials of a larger one: it leaves out some of its last ones.
        n_planned = min(trials.n_trials or 1, _AT_ONCE)
        n = round((n_reads - trials.n_reads) / max(1, trials.mean_reads))
        if trials.n_trials == 0:
            n = max(1, n)  # one greedy start may be a bad one, however large the table
        n = min(n, n_planned)
        if n > 0:
            trials.run(n, random)
    if trials.members is swap_state.members:
        return swap_state
    found = SwapState(trials.members, table.matrix[trials.members], swap_state.weights)
    return found if found.cost < swap_state.cost else swap_state
