"""Swap by search: a strategy looks for the best swap on sampled rows, all rows decide on it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from protobandit.search.arms.contract import Strategy, Terms
from protobandit.search.drivers.ragged_swaps import least_change
from protobandit.search.drivers.round import play_round
from protobandit.search.objectives.prefixes import Prefixes
from protobandit.search.objectives.slots import STAY, Slots
from protobandit.search.objectives.swap_state import SwapState


def bandit_swaps(
    strategy: Strategy, prefixes: Prefixes, swap_state: SwapState, *, random: np.random.Generator
) -> Iterator[bool]:
    """Yield, for each search, whether it led to a swap.

    No swap raises the cost: what the strategy has found is measured at all rows before it is let
    in. An arm that this refutes takes part again after the next swap. It ends when the strategy
    prefers to stay.
    """
    n_source = len(prefixes.oracle.problem.source)
    refuted: list[int] = []
    while True:
        slots = Slots(prefixes, swap_state, -least_change(swap_state))
        is_free = np.ones(n_source, dtype=bool)
        is_free[swap_state.members] = is_free[refuted] = False
        arms = slots.arms(np.flatnonzero(is_free))
        terms = Terms(population=slots.population, random=random)
        choice = play_round(strategy, arms, slots, terms)
        if choice.arms[0] == STAY:
            return
        source = int(slots.split(choice.arms)[0][0])
        slots.commit(choice.arms)
        is_swapped = source in swap_state.members
        refuted = [] if is_swapped else [*refuted, source]
        yield is_swapped
