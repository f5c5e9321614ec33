"""Swaps, by FasterPAM's decomposition, on a matrix with one row an arm and one column a target row.

``members`` are the rows of the matrix that are prototypes. For each column, ``near`` and ``second``
are the slots of the two nearest members, ``D`` and ``E`` their distances. Removing slot m costs
losses[m] = sum of weights * (E - D) over the columns with near = m; what an arm gains without any
removal, and what it saves of each removal, add up column by column, so the best slot for an arm
comes out of one pass over its row (Schubert, Rousseeuw 2021).

A lone member has no second: E is then any number no distance exceeds, and the sums come out right.
"""

from __future__ import annotations

import numpy as np

from protobandit._typing import Doubles, Floats, Ids
from protobandit.kernels._compile import kernel


def two_nearest_reference(
    matrix: Floats, members: Ids, near: Ids, second: Ids, D: Floats, E: Floats
) -> None:
    """Fill in the two nearest members of every column; ``E`` stays as it is for a lone member."""
    block = matrix[members]
    order = np.argsort(block, axis=0, kind="stable")
    columns = np.arange(block.shape[1])
    near[:] = order[0]
    D[:] = block[near, columns]
    if len(members) > 1:
        second[:] = order[1]
        E[:] = block[second, columns]


@kernel(two_nearest_reference)
def two_nearest(matrix, members, near, second, D, E):  # type: ignore[no-untyped-def]
    n = len(D)
    lone = len(members) == 1
    for j in range(n):
        D[j] = np.inf
        near[j] = 0
        if not lone:
            E[j] = np.inf
            second[j] = 0
    for m in range(len(members)):
        row = matrix[members[m]]
        for j in range(n):
            d = row[j]
            if d < D[j]:
                if not lone:
                    E[j] = D[j]
                    second[j] = near[j]
                D[j] = d
                near[j] = m
            elif not lone and d < E[j]:
                E[j] = d
                second[j] = m


def removal_losses_reference(
    near: Ids, D: Floats, E: Floats, weights: Doubles, losses: Doubles
) -> None:
    """Fill ``losses`` with what removing each member would cost."""
    gaps = E.astype(np.float64) - D
    losses[:] = np.bincount(near, weights * gaps, minlength=len(losses))


@kernel(removal_losses_reference)
def removal_losses(near, D, E, weights, losses):  # type: ignore[no-untyped-def]
    for m in range(len(losses)):
        losses[m] = 0.0
    for j in range(len(D)):
        losses[near[j]] += weights[j] * (float(E[j]) - float(D[j]))


def swap_changes_reference(
    matrix: Floats,
    rows: Ids,
    near: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    losses: Doubles,
    changes: Doubles,
    slots: Ids,
) -> None:
    """Fill in, for each row, the change of the summed cost by its best swap, and for which slot."""
    for i, row in enumerate(rows):
        d = matrix[row, : len(D)].astype(np.float64)
        gain = np.minimum(d - D, 0)
        saved = np.minimum(d, E) - E - gain
        by_slot = losses + np.bincount(near, weights * saved, minlength=len(losses))
        slots[i] = by_slot.argmin()
        changes[i] = by_slot[slots[i]] + gain @ weights


@kernel(swap_changes_reference)
def swap_changes(matrix, rows, near, D, E, weights, losses, changes, slots):  # type: ignore[no-untyped-def]
    k = len(losses)
    by_slot = np.empty(k)
    for i in range(len(rows)):
        row = matrix[rows[i]]
        for m in range(k):
            by_slot[m] = losses[m]
        gain = 0.0
        for j in range(len(D)):
            d = row[j]
            if d < E[j]:
                if d < D[j]:
                    gain += weights[j] * (float(d) - float(D[j]))
                    by_slot[near[j]] += weights[j] * (float(D[j]) - float(E[j]))
                else:
                    by_slot[near[j]] += weights[j] * (float(d) - float(E[j]))
        best = 0
        for m in range(1, k):
            if by_slot[m] < by_slot[best]:
                best = m
        slots[i] = best
        changes[i] = by_slot[best] + gain


def exchange_reference(
    matrix: Floats, members: Ids, slot: int, row: int, near: Ids, second: Ids, D: Floats, E: Floats
) -> None:
    """Put ``row`` in the place of ``members[slot]`` and bring the two nearest up to date."""
    members[slot] = row
    two_nearest_reference(matrix, members, near, second, D, E)


@kernel(exchange_reference)
def exchange(matrix, members, slot, row, near, second, D, E):  # type: ignore[no-untyped-def]
    members[slot] = row
    k = len(members)
    new = matrix[row]
    for j in range(len(D)):
        d = new[j]
        if k == 1:
            D[j] = d
        elif near[j] == slot or second[j] == slot:
            first, other = np.inf, np.inf
            a, b = 0, 0
            for m in range(k):
                x = matrix[members[m], j]
                if x < first:
                    other, b = first, a
                    first, a = x, m
                elif x < other:
                    other, b = x, m
            D[j], near[j], E[j], second[j] = first, a, other, b
        elif d < D[j]:
            E[j], second[j] = D[j], near[j]
            D[j], near[j] = d, slot
        elif d < E[j]:
            E[j], second[j] = d, slot
