"""Swaps found by a bandit strategy on sampled target rows, and checked on all rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from protobandit.search.arms.contract import Strategy, Terms
from protobandit.search.drivers.greedy import run_round
from protobandit.search.drivers.ragged_swaps import least_change
from protobandit.search.objectives.prefixes import Prefixes
from protobandit.search.objectives.slots import STAY, Slots
from protobandit.search.objectives.swap_state import SwapState


def bandit_swaps(
    strategy: Strategy, prefixes: Prefixes, swap_state: SwapState, *, random: np.random.Generator
) -> Iterator[bool]:
    """Yield, for each search, whether it led to a swap.

    No swap raises the cost: the swap that the strategy chooses is computed on all rows before it is
    made. If it would raise the cost, its arm is excluded until the next swap. The searches end when
    the strategy chooses to make no swap.
    """
    n_source = len(prefixes.oracle.problem.source)
    excluded: list[int] = []
    while True:
        slots = Slots(prefixes, swap_state, -least_change(swap_state))
        is_free = np.ones(n_source, dtype=bool)
        is_free[swap_state.members] = is_free[excluded] = False
        arms = slots.arms(np.flatnonzero(is_free))
        terms = Terms(population=slots.population, random=random)
        choice = run_round(strategy, arms, slots, terms)
        if choice.arms[0] == STAY:
            return
        source = int(slots.split(choice.arms)[0][0])
        slots.commit(choice.arms)
        is_swapped = source in swap_state.members
        excluded = [] if is_swapped else [*excluded, source]
        yield is_swapped
