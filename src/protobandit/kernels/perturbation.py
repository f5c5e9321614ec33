"""Swaps among arms that are known in full, many times over.

As in `_swap.py`, ``near`` and ``second`` are the slots of the two nearest prototypes of each
column, ``D`` and ``E`` their distances, and what arms may save is ragged. ``nearby`` has one row a
column and one place a slot, so that finding a column's two nearest anew reads consecutive numbers.
There are two prototypes at least. Which of equally near ones is called the nearest is open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def put_reference(
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
    """Put an arm with distances ``row`` in ``slot``; return the change of the summed cost."""
    before = D.astype(np.float64)
    nearby[:, slot] = row
    order = np.argsort(nearby, axis=1, kind="stable")
    everyone = np.arange(len(nearby))
    near[:], second[:] = order[:, 0], order[:, 1]
    D[:], E[:] = nearby[everyone, near], nearby[everyone, second]
    losses[:] = np.bincount(near, weights * (E.astype(np.float64) - D), minlength=len(losses))
    return float(weights @ (D - before))


@kernel(put_reference)
def put(row, slot, nearby, near, second, D, E, weights, losses):  # type: ignore[no-untyped-def]
    """Put an arm with distances ``row`` in ``slot``; return the change of the summed cost."""
    k = nearby.shape[1]
    change = 0.0
    for j in range(len(D)):
        d = row[j]
        nearby[j, slot] = d
        was_served = near[j] == slot or second[j] == slot
        if not was_served and not d < E[j]:
            continue
        losses[near[j]] -= weights[j] * (np.float64(E[j]) - np.float64(D[j]))
        change -= weights[j] * np.float64(D[j])
        if was_served:
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


def next_helpful_reference(
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
    """Return the place in ``arms``, from ``start`` on, of the first that lowers the summed cost.

    It must lower it by more than ``least``, in the slot that is returned with it; ``is_open`` tells
    for each arm and slot whether that is allowed. If there is none, the place is beyond the last.
    ``scratch`` has a number for each slot.
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


@kernel(next_helpful_reference)
def next_helpful(  # type: ignore[no-untyped-def]
    starts, columns, values, arms, start, least, is_open, near, D, E, weights, losses, scratch
):
    """Return as the reference does."""
    k, by_slot = len(losses), scratch
    for place in range(start, len(arms)):
        for m in range(k):
            by_slot[m] = losses[m]
        gain = 0.0
        for e in range(starts[arms[place]], starts[arms[place] + 1]):
            j, d = columns[e], values[e]
            if d < E[j]:
                if d < D[j]:
                    gain += weights[j] * (np.float64(d) - np.float64(D[j]))
                    by_slot[near[j]] += weights[j] * (np.float64(D[j]) - np.float64(E[j]))
                else:
                    by_slot[near[j]] += weights[j] * (np.float64(d) - np.float64(E[j]))
        slot = -1
        for m in range(k):
            if is_open[place, m] and (slot < 0 or by_slot[m] < by_slot[slot]):
                slot = m
        if slot >= 0 and by_slot[slot] + gain < -least:
            return place, slot
    return len(arms), -1
