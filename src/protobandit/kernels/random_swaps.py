"""Random neighbours, one after the other, until one is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def first_better_reference(
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
    """Find the first neighbour that changes the summed cost by less than ``least``.

    Neighbour p puts ``arms[p]``, whose distances are ``matrix[places[arms[p]]]``, in the place of
    the prototype in ``slots[p]``; an arm that is a prototype already is passed over. For each
    column, ``near`` is the slot of the nearest prototype, ``D`` and ``E`` are the distances of the
    two nearest. An infinite ``E`` stands for no second: whoever comes takes all.

    ``found`` becomes the position, ``len(arms)`` if there is none, and how many before it failed.
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


@kernel(first_better_reference)
def first_better(
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
    """Find the first neighbour that changes the summed cost by less than ``least``."""
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
