"""Swaps on ragged tables, by FasterPAM's decomposition.

``members`` has one row per prototype and one column per target row. For each column, ``near`` and
``second`` are the slots of the two nearest prototypes, ``D`` and ``E`` their distances. Removing
slot m costs losses[m] = sum of weights * (E - D) over the columns with near = m. What an arm gains
without any removal, and what it saves of each removal, are sums over columns. So one pass over the
distances of an arm finds its best slot (Schubert, Rousseeuw 2021).

The distances of arms are ragged: those of arm i are ``values[starts[i] : starts[i + 1]]``, at
``columns``. A missing column counts as infinitely far, so the true change of cost is never worse
than the computed one.

A single prototype has no second. E is then any number that no distance exceeds, which gives the
correct sums.

Differences are computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def removal_losses_reference(
    near: Ids, D: Floats, E: Floats, weights: Doubles, losses: Doubles
) -> None:
    """Fill ``losses`` with the increase of the summed cost if each prototype were removed."""
    gaps = E.astype(np.float64) - D
    losses[:] = np.bincount(near, weights * gaps, minlength=len(losses))


@kernel(removal_losses_reference)
def removal_losses(near, D, E, weights, losses):  # type: ignore[no-untyped-def]
    for m in range(len(losses)):
        losses[m] = 0.0
    for j in range(len(D)):
        losses[near[j]] += weights[j] * (np.float64(E[j]) - np.float64(D[j]))


def replace_prototype_reference(
    members: Floats, slot: int, row: Floats, near: Ids, second: Ids, D: Floats, E: Floats
) -> None:
    """Replace the prototype in ``slot`` by an arm with distances ``row``; update the two nearest.

    At first, ``near`` and ``second`` are -1 and ``D`` and ``E`` are infinite; they are correct once
    all slots have been filled in order. A single prototype does not modify ``near`` and ``E``.
    """
    members[slot] = row
    if len(members) == 1:
        D[:] = row
        return
    is_stale = (near == slot) | (second == slot)
    is_first = ~is_stale & (row < D)
    is_next = ~is_stale & ~is_first & (row < E)
    E[is_first], second[is_first] = D[is_first], near[is_first]
    D[is_first], near[is_first] = row[is_first], slot
    E[is_next], second[is_next] = row[is_next], slot
    stale = members[:, is_stale]
    order = np.argsort(stale, axis=0, kind="stable")[:2]
    near[is_stale], second[is_stale] = order
    D[is_stale], E[is_stale] = np.take_along_axis(stale, order, axis=0)


@kernel(replace_prototype_reference, shared=("members", "row"))
def replace_prototype(members, slot, row, near, second, D, E):  # type: ignore[no-untyped-def]
    k = members.shape[0]
    for j in range(len(D)):
        members[slot, j] = row[j]
        if k == 1:
            D[j] = row[j]
        elif near[j] == slot or second[j] == slot:
            near[j], second[j] = 0, 1
            if members[1, j] < members[0, j]:
                near[j], second[j] = 1, 0
            for m in range(2, k):
                if members[m, j] < members[near[j], j]:
                    near[j], second[j] = m, near[j]
                elif members[m, j] < members[second[j], j]:
                    second[j] = m
            D[j], E[j] = members[near[j], j], members[second[j], j]
        elif row[j] < D[j]:
            E[j], second[j] = D[j], near[j]
            D[j], near[j] = row[j], slot
        elif row[j] < E[j]:
            E[j], second[j] = row[j], slot


def swap_changes_reference(
    starts: Ids,
    columns: Any,
    values: Floats,
    arms: Ids,
    groups: Ids,
    allowed: Any,
    near: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    losses: Doubles,
    scratch: Doubles,
    changes: Doubles,
    slots: Ids,
) -> None:
    """Fill in the change of the summed cost by the best swap of each arm, and its slot.

    ``allowed[groups[arm]]`` are the slots that an arm may take; its change is infinite if there is
    none. ``scratch`` has one number per slot.
    """
    for i, arm in enumerate(arms):
        own = slice(starts[arm], starts[arm + 1])
        at, d = columns[own], values[own].astype(np.float64)
        gain = np.minimum(d - D[at], 0)
        saved = np.minimum(d, E[at]) - E[at] - gain
        by_slot = losses + np.bincount(near[at], weights[at] * saved, minlength=len(losses))
        by_slot[~allowed[groups[arm]]] = np.inf
        slots[i] = by_slot.argmin()
        changes[i] = by_slot[slots[i]] + gain @ weights[at]


@kernel(swap_changes_reference)
def swap_changes(  # type: ignore[no-untyped-def]
    starts,
    columns,
    values,
    arms,
    groups,
    allowed,
    near,
    D,
    E,
    weights,
    losses,
    scratch,
    changes,
    slots,
):
    k, by_slot = len(losses), scratch
    for i in range(len(arms)):
        for m in range(k):
            by_slot[m] = losses[m]
        gain = 0.0
        # Whether d < D cannot be predicted, so there is no branch for it. Consecutive rows often
        # have the same slot: its sum stays in a register. Unsigned indices need no check of sign.
        slot = np.uintp(0)
        sum_of_slot = by_slot[slot]
        for e in range(np.uintp(starts[arms[i]]), np.uintp(starts[arms[i] + 1])):
            j, d = np.uintp(columns[e]), np.float64(values[e])
            nearest, next_nearest = np.float64(D[j]), np.float64(E[j])
            if np.uintp(near[j]) != slot:
                by_slot[slot] = sum_of_slot
                slot = np.uintp(near[j])
                sum_of_slot = by_slot[slot]
            gain += weights[j] * (min(d, nearest) - nearest)
            sum_of_slot += weights[j] * (min(max(d, nearest), next_nearest) - next_nearest)
        by_slot[slot] = sum_of_slot
        own = allowed[groups[arms[i]]]
        best, least = 0, np.inf
        for m in range(k):
            if by_slot[m] < least and own[m]:
                best, least = m, by_slot[m]
        slots[i] = best
        changes[i] = least + gain


def home_cells_reference(
    starts: Ids,
    columns: Any,
    values: Floats,
    arms: Ids,
    near: Ids,
    E: Floats,
    weights: Doubles,
    scratch: Doubles,
    homes: Ids,
) -> None:
    """Fill ``homes[i]`` with the cells in which a swap with arm i is most promising.

    The first is the cell of the row nearest to the arm, even if the prototypes are so close to each
    other that the arm saves nothing there. The others are sorted by the weighted sum of
    max(E - d, 0) over their rows, equal ones by number. Cells with a sum of 0 are left out, and -1
    fills the rest. ``scratch`` has one number per cell.
    """
    for i, arm in enumerate(arms):
        own = slice(starts[arm], starts[arm + 1])
        at = columns[own]
        closer = np.maximum(E[at].astype(np.float64) - values[own], 0)
        affinities = np.bincount(near[at], weights[at] * closer, minlength=len(scratch))
        if len(at):
            affinities[near[at[values[own].argmin()]]] = np.inf
        order = np.argsort(-affinities, kind="stable")[: homes.shape[1]]
        homes[i] = np.where(affinities[order] > 0, order, -1)


@kernel(home_cells_reference)
def home_cells(  # type: ignore[no-untyped-def]
    starts, columns, values, arms, near, E, weights, scratch, homes
):
    n_homes, n_cells, affinities = homes.shape[1], len(scratch), scratch
    for i in range(len(arms)):
        for m in range(n_cells):
            affinities[m] = 0.0
        first, last = np.uintp(starts[arms[i]]), np.uintp(starts[arms[i] + 1])
        nearest: Any = first
        cell = np.uintp(0)  # as in `swap_changes`
        affinity = affinities[cell]
        for e in range(first, last):
            j, d = np.uintp(columns[e]), np.float64(values[e])
            if values[e] < values[nearest]:
                nearest = e
            if np.uintp(near[j]) != cell:
                affinities[cell] = affinity
                cell = np.uintp(near[j])
                affinity = affinities[cell]
            affinity += weights[j] * max(np.float64(E[j]) - d, 0.0)
        affinities[cell] = affinity
        if first < last:
            affinities[near[columns[nearest]]] = np.inf
        n_found = 0
        for m in range(n_cells):
            if n_found == n_homes and affinities[m] <= affinities[homes[i, n_homes - 1]]:
                continue
            place = n_found if n_found < n_homes else n_homes - 1
            while place > 0 and affinities[homes[i, place - 1]] < affinities[m]:
                homes[i, place] = homes[i, place - 1]
                place -= 1
            homes[i, place] = m
            if n_found < n_homes:
                n_found += 1
        for place in range(n_homes):
            if not affinities[homes[i, place]] > 0:
                homes[i, place] = -1


def keep_within_reference(
    starts: Ids,
    columns: Any,
    values: Floats,
    arms: Ids,
    limits: Floats,
    counts: Ids,
    places: Ids,
    to: Any,
    at: Floats,
) -> None:
    """Copy and count the entries of each arm below the limit of their column, and its smallest.

    The entries of arm i are written to ``to`` (columns) and ``at`` (values) from ``places[i]`` on.
    If these are empty, entries are counted and not copied.
    """
    for i, arm in enumerate(arms):
        own = slice(starts[arm], starts[arm + 1])
        is_within = values[own] < limits[columns[own]]
        if len(is_within):
            is_within[values[own].argmin()] = True
        counts[i] = is_within.sum()
        if len(to):
            there = slice(places[i], places[i] + counts[i])
            to[there], at[there] = columns[own][is_within], values[own][is_within]


@kernel(keep_within_reference)
def keep_within(  # type: ignore[no-untyped-def]
    starts, columns, values, arms, limits, counts, places, to, at
):
    is_copied = len(to) > 0
    for i in range(len(arms)):
        first, last = np.uintp(starts[arms[i]]), np.uintp(starts[arms[i] + 1])
        nearest: Any = first
        n = np.uintp(0)
        for e in range(first, last):
            if values[e] < values[nearest]:
                nearest = e
            n += np.uintp(values[e] < limits[np.uintp(columns[e])])
        if first < last and not values[nearest] < limits[np.uintp(columns[nearest])]:
            n += np.uintp(1)
        counts[i] = n
        if is_copied:
            # Every entry is written, and the next one over it if it is not kept: which are kept
            # cannot be predicted. The loop ends at the last one kept, as others own what follows.
            place, entry = np.uintp(places[i]), first
            end = place + n
            while place < end:
                j, d = np.uintp(columns[entry]), values[entry]
                to[place], at[place] = j, d
                place += np.uintp((d < limits[j]) | (entry == nearest))
                entry += np.uintp(1)


def scatter_reference(block: Floats, first: int, places: Ids, to: Any, at: Floats) -> None:
    """Write row i of ``block``, the columns from ``first`` on, to ``places[i]`` onwards."""
    for row, place in zip(block, places, strict=True):
        to[place : place + len(row)] = np.arange(first, first + len(row))
        at[place : place + len(row)] = row


@kernel(scatter_reference)
def scatter(block, first, places, to, at):  # type: ignore[no-untyped-def]
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            to[places[i] + j] = first + j
            at[places[i] + j] = block[i, j]
