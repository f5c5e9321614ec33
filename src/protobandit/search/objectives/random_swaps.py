"""Whether replacing one prototype by one other arm is worth it, one such neighbour at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.kernels import random_swaps as random_swaps_kernels
from protobandit.search.objectives.swap_state import SwapState

# A change is a difference of sums; a smaller share of these is rounding.
_ROUNDING = 1e-12


def first_better(
    swap_state: SwapState, matrix: Floats, places: Ids, arms: Ids, slots: Ids, is_member: Any
) -> tuple[int, int]:
    """Return the position of the first neighbour of lower cost, and how many before it failed.

    Neighbour p has ``arms[p]``, whose distances are ``matrix[places[arms[p]]]``, in ``slots[p]``.
    An arm that ``is_member`` already is passed over, without failing. If there is no such
    neighbour, the position is ``len(arms)``.
    """
    E = swap_state.E if len(swap_state.members) > 1 else np.full_like(swap_state.E, np.inf)
    sums = swap_state.cost + abs(swap_state.removal_cost)
    found = np.empty(2, dtype=np.int64)
    random_swaps_kernels.first_improving_swap(
        matrix,
        places,
        arms,
        slots,
        is_member,
        swap_state.near,
        swap_state.D,
        E,
        swap_state.weights,
        -_ROUNDING * sums * float(swap_state.weights.sum()),
        found,
    )
    return int(found[0]), int(found[1])
