"""Swaps on a full table, by FasterPAM's decomposition and by PAM's definition.

``matrix[i, j]`` is the distance of target row j to arm i, for every arm and every row. The whole
matrix is passed and never copied. ``members`` are the arms that are prototypes, by slot. For each
row, ``near`` and ``second`` are the slots of the two nearest prototypes, ``D`` and ``E`` their
distances. Removing slot m costs losses[m] = sum of weights * (E - D) over the rows with near = m.
A single prototype has no second. E is then any number that no distance exceeds, which gives the
correct sums.

Few distances are below E, about two in k. So ``RUN`` rows at a time are compared in SIMD lanes
into flags, and eight flags are read as one word. Only words that are not zero are processed,
without a branch that could be mispredicted (k = 100: 0.6 ns per distance, of which memory takes
0.5).

Arm i may take slot m only if ``allowed[groups[i], m]``. The change is infinite for prototypes and
for arms that may take no slot. Differences are computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel

RUN = 1024


def find_two_nearest_reference(
    matrix: Floats, members: Ids, rows: Any, near: Any, second: Any, D: Floats, E: Floats
) -> None:
    """Fill in the two nearest prototypes of these rows; a single one does not modify ``E``."""
    distances = matrix[np.ix_(members, rows)]
    order = np.argsort(distances, axis=0, kind="stable")
    at = np.arange(len(rows))
    near[rows], D[rows] = order[0], distances[order[0], at]
    if len(members) > 1:
        second[rows], E[rows] = order[1], distances[order[1], at]


@kernel(find_two_nearest_reference)
def find_two_nearest(matrix, members, rows, near, second, D, E):  # type: ignore[no-untyped-def]
    is_single = len(members) == 1
    for a in range(len(rows)):
        j = rows[a]
        near[j] = 0
        D[j] = np.inf
        if not is_single:
            second[j] = 1
            E[j] = np.inf
    # Prototype by prototype, so that each row of the matrix is read from left to right.
    for m in range(len(members)):
        line = matrix[members[m]]
        for a in range(len(rows)):
            j = rows[a]
            d = line[j]
            if d < D[j]:
                if not is_single:
                    E[j] = D[j]
                    second[j] = near[j]
                D[j] = d
                near[j] = m
            elif not is_single and d < E[j]:
                E[j] = d
                second[j] = m


def update_two_nearest_reference(
    line: Floats, slot: int, near: Any, second: Any, D: Floats, E: Floats, rows: Any
) -> int:
    """Replace the prototype in ``slot`` by an arm; list the rows to search again in ``rows``.

    ``line`` holds the distances of the arm. Returns the number of rows to search again. Only rows
    that lose one of their two nearest for something farther than the second may have a third
    prototype among their new two nearest.
    """
    was_near, was_second = near == slot, second == slot
    is_open = (was_near & (line >= E)) | (was_second & ~was_near & (line > E))
    first = ~is_open & ~was_near & (line < D)
    E[first], second[first] = D[first], near[first]
    D[first], near[first] = line[first], slot
    own = ~is_open & was_near
    D[own] = line[own]
    middle = ~is_open & ~was_near & ~first & (was_second | (line < E))
    E[middle], second[middle] = line[middle], slot
    rows[: is_open.sum()] = np.flatnonzero(is_open)
    return int(is_open.sum())


@kernel(update_two_nearest_reference)
def update_two_nearest(line, slot, near, second, D, E, rows):  # type: ignore[no-untyped-def]
    n_open = 0
    for j in range(len(D)):
        d = line[j]
        if near[j] == slot:
            if d >= E[j]:
                rows[n_open] = j
                n_open += 1
            else:
                D[j] = d
        elif d < D[j]:
            E[j] = D[j]
            second[j] = near[j]
            D[j] = d
            near[j] = slot
        elif second[j] == slot:
            if d > E[j]:
                rows[n_open] = j
                n_open += 1
            else:
                E[j] = d
        elif d < E[j]:
            E[j] = d
            second[j] = slot
    return n_open


def slot_changes_reference(
    matrix: Floats,
    first: int,
    is_member: Any,
    near: Any,
    D: Floats,
    E: Floats,
    weights: Doubles,
    losses: Doubles,
    groups: Ids,
    allowed: Any,
    changes: Doubles,
    slots: Ids,
) -> None:
    """Fill in the change of the summed cost by the best swap of each arm from ``first`` on."""
    for i in range(len(changes)):
        arm = first + i
        d = matrix[arm].astype(np.float64)
        gain = np.minimum(d - D, 0)
        saved = np.minimum(d, E) - E - gain
        by_slot = losses + np.bincount(near, weights * saved, minlength=len(losses))
        by_slot[~allowed[groups[arm]]] = np.inf
        slots[i] = by_slot.argmin()
        changes[i] = np.inf if is_member[arm] else by_slot[slots[i]] + gain @ weights


def hit_scratch() -> tuple[Any, ...]:
    """Return the arrays by which a loop over `RUN` rows finds those that an arm is near to.

    These are a flag per row, the flags as words of eight, and the rows that were found.
    """
    flags = np.zeros(RUN, dtype=np.uint8)
    return flags, flags.view(np.uint64), np.empty(RUN + 8, dtype=np.int32)


def _change_scratch(*arguments: Any) -> tuple[Any, ...]:
    losses = arguments[7]
    return np.empty(len(losses)), *hit_scratch()


@kernel(slot_changes_reference, _change_scratch, shared=("flags", "words"))
def slot_changes(  # type: ignore[no-untyped-def]
    matrix,
    first,
    is_member,
    near,
    D,
    E,
    weights,
    losses,
    groups,
    allowed,
    changes,
    slots,
    by_slot,
    flags,
    words,
    hits,
):
    n, k = len(D), len(losses)
    for i in range(len(changes)):
        arm = first + i
        slots[i] = 0
        changes[i] = np.inf
        if is_member[arm]:
            continue
        for m in range(k):
            by_slot[m] = losses[m]
        gain = 0.0
        for start in range(0, n, RUN):
            stop = min(start + RUN, n)
            size = stop - start
            line, limit = matrix[arm, start:stop], E[start:stop]
            best, weight, own = D[start:stop], weights[start:stop], near[start:stop]
            for j in range(size):
                flags[j] = line[j] < limit[j]
            for j in range(size, min(size + 8, RUN)):
                flags[j] = 0
            n_hits = 0
            for word in range((size + 7) // 8):
                if words[word]:
                    for j in range(8 * word, 8 * word + 8):
                        hits[n_hits] = j
                        n_hits += flags[j]
            for hit in range(n_hits):
                j = hits[hit]
                d = np.float64(line[j])
                drop = min(d - np.float64(best[j]), 0.0)
                gain += weight[j] * drop
                by_slot[own[j]] += weight[j] * (d - np.float64(limit[j]) - drop)
        for m in range(k):
            if allowed[groups[arm], m] and by_slot[m] + gain < changes[i]:
                changes[i] = by_slot[m] + gain
                slots[i] = m


def pair_changes_reference(
    matrix: Floats,
    first: int,
    is_member: Any,
    near: Any,
    D: Floats,
    E: Floats,
    weights: Doubles,
    losses: Doubles,
    groups: Ids,
    allowed: Any,
    changes: Doubles,
    slots: Ids,
) -> None:
    """Compute `slot_changes` by the definition: a sum over all rows for each arm and slot."""
    for i in range(len(changes)):
        arm = first + i
        d = matrix[arm].astype(np.float64)
        stays, leaves = np.minimum(d - D, 0), np.minimum(d, E) - D
        by_slot = np.full(len(losses), np.inf)
        for m in np.flatnonzero(allowed[groups[arm]]):
            by_slot[m] = np.where(near == m, leaves, stays) @ weights
        slots[i] = by_slot.argmin()
        changes[i] = np.inf if is_member[arm] else by_slot[slots[i]]


def _pair_scratch(*arguments: Any) -> tuple[Doubles, Doubles]:
    """Return room for the change of each row, if its prototype stays and if it leaves."""
    n = len(arguments[4])
    return np.empty(n), np.empty(n)


@kernel(pair_changes_reference, _pair_scratch)
def pair_changes(  # type: ignore[no-untyped-def]
    matrix,
    first,
    is_member,
    near,
    D,
    E,
    weights,
    losses,
    groups,
    allowed,
    changes,
    slots,
    stays,
    leaves,
):
    n, k = len(D), len(losses)
    for i in range(len(changes)):
        arm = first + i
        slots[i] = 0
        changes[i] = np.inf
        if is_member[arm]:
            continue
        line = matrix[arm]
        for j in range(n):
            d, low, high = np.float64(line[j]), np.float64(D[j]), np.float64(E[j])
            stays[j] = weights[j] * (d - low if d < low else 0.0)
            leaves[j] = weights[j] * ((d if d < high else high) - low)
        for m in range(k):
            if allowed[groups[arm], m]:
                change = 0.0
                for j in range(n):
                    change += leaves[j] if near[j] == m else stays[j]
                if change < changes[i]:
                    changes[i] = change
                    slots[i] = m


def nearest_arms_reference(matrix: Floats, start: int, nearest: Floats, arms: Ids) -> None:
    """Fill in the nearest arm of each row from ``start`` on, and its distance."""
    block = matrix[:, start : start + len(arms)]
    arms[:] = block.argmin(axis=0)
    nearest[:] = block.min(axis=0)


@kernel(nearest_arms_reference)
def nearest_arms(matrix, start, nearest, arms):  # type: ignore[no-untyped-def]
    for j in range(len(arms)):
        nearest[j] = np.inf
        arms[j] = 0
    for i in range(matrix.shape[0]):
        line = matrix[i, start : start + len(arms)]
        for j in range(len(line)):
            if line[j] < nearest[j]:
                nearest[j] = line[j]
                arms[j] = i


def cell_costs_reference(
    matrix: Floats,
    first: int,
    homes: Ids,
    rows: Ids,
    starts: Ids,
    weights: Doubles,
    costs: Doubles,
) -> None:
    """Fill in the summed distance of each arm from ``first`` on to the rows of its home cell.

    The rows of cell m are ``rows[starts[m]:starts[m + 1]]``.
    """
    for i in range(len(costs)):
        home = homes[first + i]
        own = rows[starts[home] : starts[home + 1]]
        costs[i] = matrix[first + i, own].astype(np.float64) @ weights[own]


@kernel(cell_costs_reference)
def cell_costs(matrix, first, homes, rows, starts, weights, costs):  # type: ignore[no-untyped-def]
    for i in range(len(costs)):
        home = homes[first + i]
        total = 0.0
        for a in range(starts[home], starts[home + 1]):
            total += weights[rows[a]] * np.float64(matrix[first + i, rows[a]])
        costs[i] = total
