"""Swaps among finalists, whose distances to all columns are known.

As in `ragged_swaps`, ``near`` and ``second`` are the slots of the two nearest prototypes of each
column, ``D`` and ``E`` their distances, and the entries of arms are ragged. ``nearby`` has one row
per column and one entry per slot, so that finding the two nearest of a column again reads
consecutive numbers. There are at least two prototypes. Which of two equally near prototypes is the
nearest is not specified.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def replace_prototype_reference(
    row: Floats,
    slot: int,
    nearby: Floats,
    near: Ids,
    second: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    losses: Doubles,
) -> float:
    """Replace the prototype in ``slot``; return the change of the summed cost.

    ``row`` holds the distances of the arm that replaces it.
    """
    before = D.astype(np.float64)
    nearby[:, slot] = row
    order = np.argsort(nearby, axis=1, kind="stable")
    everyone = np.arange(len(nearby))
    near[:], second[:] = order[:, 0], order[:, 1]
    D[:], E[:] = nearby[everyone, near], nearby[everyone, second]
    losses[:] = np.bincount(near, weights * (E.astype(np.float64) - D), minlength=len(losses))
    return float(weights @ (D - before))


@kernel(replace_prototype_reference)
def replace_prototype(row, slot, nearby, near, second, D, E, weights, losses):  # type: ignore[no-untyped-def]
    k = nearby.shape[1]
    change = 0.0
    for j in range(len(D)):
        d = row[j]
        nearby[j, slot] = d
        was_near = near[j] == slot or second[j] == slot
        if not was_near and not d < E[j]:
            continue
        losses[near[j]] -= weights[j] * (np.float64(E[j]) - np.float64(D[j]))
        change -= weights[j] * np.float64(D[j])
        if was_near:
            own = nearby[j]
            first, other = 0, 1
            if own[1] < own[0]:
                first, other = 1, 0
            for m in range(2, k):
                if own[m] < own[other]:
                    if own[m] < own[first]:
                        first, other = m, first
                    else:
                        other = m
            near[j], second[j], D[j], E[j] = first, other, own[first], own[other]
        elif d < D[j]:
            near[j], second[j], D[j], E[j] = slot, near[j], d, D[j]
        else:
            second[j], E[j] = slot, d
        losses[near[j]] += weights[j] * (np.float64(E[j]) - np.float64(D[j]))
        change += weights[j] * np.float64(D[j])
    return change


def next_improving_swap_reference(
    starts: Ids,
    columns: Any,
    values: Floats,
    arms: Ids,
    start: int,
    least: float,
    is_open: Any,
    near: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    losses: Doubles,
    scratch: Doubles,
) -> tuple[int, int]:
    """Return the first arm that lowers the summed cost by more than ``least``, and its best slot.

    The arm is returned as a position in ``arms``, of those from ``start`` on; ``len(arms)`` and the
    slot -1 mean that there is none. ``is_open[position, slot]`` is whether a swap is allowed.
    ``scratch`` has one number per slot.
    """
    for place in range(start, len(arms)):
        own = slice(starts[arms[place]], starts[arms[place] + 1])
        at, d = columns[own], values[own].astype(np.float64)
        gain = np.minimum(d - D[at], 0)
        saved = np.minimum(d, E[at]) - E[at] - gain
        by_slot = losses + np.bincount(near[at], weights[at] * saved, minlength=len(losses))
        by_slot[~is_open[place]] = np.inf
        slot = int(by_slot.argmin())
        if by_slot[slot] + gain @ weights[at] < -least:
            return place, slot
    return len(arms), -1


@kernel(next_improving_swap_reference)
def next_improving_swap(  # type: ignore[no-untyped-def]
    starts, columns, values, arms, start, least, is_open, near, D, E, weights, losses, scratch
):
    k, by_slot = len(losses), scratch
    for place in range(start, len(arms)):
        for m in range(k):
            by_slot[m] = losses[m]
        gain = 0.0
        # Whether d < D cannot be predicted, so there is no branch for it. Unsigned indices need no
        # check of their sign.
        for e in range(np.uintp(starts[arms[place]]), np.uintp(starts[arms[place] + 1])):
            j, d = np.uintp(columns[e]), np.float64(values[e])
            nearest, next_nearest = np.float64(D[j]), np.float64(E[j])
            gain += weights[j] * (min(d, nearest) - nearest)
            saved = min(max(d, nearest), next_nearest) - next_nearest
            by_slot[np.uintp(near[j])] += weights[j] * saved
        slot = -1
        for m in range(k):
            if is_open[place, m] and (slot < 0 or by_slot[m] < by_slot[slot]):
                slot = m
        if slot >= 0 and by_slot[slot] + gain < -least:
            return place, slot
    return len(arms), -1
