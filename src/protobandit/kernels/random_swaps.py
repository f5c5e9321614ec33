"""Proposed swaps, one after the other, until one lowers the cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def first_improving_swap_reference(
    matrix: Floats,
    places: Ids,
    arms: Ids,
    slots: Ids,
    is_member: Any,
    near: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    least: float,
    found: Ids,
) -> None:
    """Find the first swap that changes the summed cost by less than ``least``.

    Swap p replaces the prototype in ``slots[p]`` by ``arms[p]``, whose distances are
    ``matrix[places[arms[p]]]``. An arm that is already a prototype is skipped. For each column,
    ``near`` is the slot of the nearest prototype, ``D`` and ``E`` are the distances of the two
    nearest. ``E`` is infinite where there is no second: the new prototype is then the nearest of
    every column.

    ``found`` becomes the position of the swap, ``len(arms)`` if there is none, and the number of
    swaps before it that failed.
    """
    found[:] = len(arms), 0
    for p in range(len(arms)):
        if is_member[arms[p]]:
            continue
        d = matrix[places[arms[p]]].astype(np.float64)
        change = np.minimum(d, np.where(near == slots[p], E, D)) - D
        if change @ weights < least:
            found[0] = p
            return
        found[1] += 1


@kernel(first_improving_swap_reference)
def first_improving_swap(  # type: ignore[no-untyped-def]
    matrix, places, arms, slots, is_member, near, D, E, weights, least, found
):
    found[0], found[1] = len(arms), 0
    for p in range(len(arms)):
        if is_member[arms[p]]:
            continue
        distances, slot = matrix[places[arms[p]]], slots[p]
        change = 0.0
        for j in range(len(D)):
            limit = E[j] if near[j] == slot else D[j]
            change += weights[j] * (np.float64(min(distances[j], limit)) - np.float64(D[j]))
        if change < least:
            found[0] = p
            return
        found[1] += 1
