"""Eager swaps on a full table, from any prototypes to a local minimum, in one call.

``matrix[i, j]`` is the distance of target row j to arm i. Arms are computed in turn. The first one
that lowers the cost takes the slot where it lowers it most, and the search continues with the next
arm (FasterPAM). It ends when all arms have been computed since the last swap. The notation and the
loop over the rows are those of `full_swaps`. There are at least two prototypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.full_swaps import RUN, hit_scratch
from protobandit.kernels.jit import kernel


def swap_eagerly_reference(
    matrix: Floats,
    weights: Doubles,
    groups: Ids,
    fewest: Ids,
    largest: Ids,
    is_fixed: Any,
    least: float,
    most: int,
    members: Ids,
) -> tuple[float, int]:
    """Swap until no swap lowers the summed cost by more than ``least``; modify ``members``.

    An arm may take a slot whose prototype is of its own group, or if then every group g still has
    ``fewest[g]`` to ``largest[g]`` prototypes; never if the slot ``is_fixed``. Return the summed
    cost and the number of entries of the table that were read. After ``most`` of them no other swap
    is made.
    """
    n_arms, n_rows = matrix.shape
    k, all_rows = len(members), np.arange(n_rows)
    arm = n_since = n_reads = 0
    n_again = n_rows
    while True:
        own = matrix[members].astype(np.float64)
        near, second = np.argsort(own, axis=0, kind="stable")[:2]
        D, E = own[near, all_rows], own[second, all_rows]
        n_reads += k * n_again
        losses = np.bincount(near, weights * (E - D), minlength=k)
        counts = np.bincount(groups[members], minlength=len(fewest))
        may_leave = (counts > fewest)[groups[members]]
        slot = -1
        while n_since < n_arms and slot < 0:
            arm, n_since = arm % n_arms, n_since + 1
            if arm not in members:
                n_reads += n_rows
                d, group = matrix[arm].astype(np.float64), groups[arm]
                gain = np.minimum(d - D, 0)
                saved = np.minimum(d, E) - E - gain
                changes = losses + np.bincount(near, weights * saved, minlength=k) + gain @ weights
                is_open = (groups[members] == group) | (may_leave & (counts < largest)[group])
                changes[is_fixed | ~is_open] = np.inf
                slot = int(changes.argmin()) if changes.min() < -least else -1
            arm += 1
        if slot < 0 or n_reads >= most:
            return float(D @ weights), n_reads
        d = matrix[arm - 1]
        n_again = int(((near == slot) & (d >= E)).sum() + ((second == slot) & (d > E)).sum())
        n_reads += n_rows
        members[slot] = arm - 1
        n_since = 0


def _swap_scratch(
    matrix: Floats, weights: Doubles, groups: Ids, fewest: Ids, *others: Any
) -> tuple[Any, ...]:
    members = others[-1]
    n_arms, n_rows = matrix.shape
    return (
        *(np.zeros(n_arms, dtype=np.bool_), np.zeros(len(fewest), dtype=np.int64)),
        *(np.empty(n_rows, dtype) for dtype in (np.int32, np.int32, matrix.dtype, matrix.dtype)),
        *(np.empty(len(members)), np.empty(len(members))),
        *hit_scratch(),
        np.arange(n_rows, dtype=np.int32),
    )


@kernel(swap_eagerly_reference, _swap_scratch, shared=("flags", "words"))
def swap_eagerly(  # type: ignore[no-untyped-def]
    matrix,
    weights,
    groups,
    fewest,
    largest,
    is_fixed,
    least,
    most,
    members,
    is_member,
    counts,
    near,
    second,
    D,
    E,
    losses,
    by_slot,
    flags,
    words,
    hits,
    again,  # rows whose two nearest are searched
):
    n_arms, n_rows = matrix.shape
    k = len(members)
    for m in range(k):
        is_member[members[m]] = True
        counts[groups[members[m]]] += 1
    n_again = n_rows
    arm, n_since, n_reads = 0, 0, 0
    while True:
        for a in range(n_again):
            j = again[a]
            near[j], second[j], D[j], E[j] = 0, 1, np.inf, np.inf
        # Prototype by prototype, so that each row of the matrix is read from left to right.
        for m in range(k):
            line = matrix[members[m]]
            for a in range(n_again):
                j = again[a]
                value = line[j]
                if value < D[j]:
                    second[j], E[j] = near[j], D[j]
                    near[j], D[j] = m, value
                elif value < E[j]:
                    second[j], E[j] = m, value
        n_reads += k * n_again
        for m in range(k):
            losses[m] = 0.0
        total = 0.0
        for j in range(n_rows):
            total += weights[j] * np.float64(D[j])
            losses[near[j]] += weights[j] * (np.float64(E[j]) - np.float64(D[j]))
        slot = -1
        while n_since < n_arms and slot < 0:
            arm = arm % n_arms
            n_since += 1
            if not is_member[arm]:
                for m in range(k):
                    by_slot[m] = losses[m]
                gain = 0.0
                for start in range(0, n_rows, RUN):
                    stop = min(start + RUN, n_rows)
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
                n_reads += n_rows
                lowest, group = -least, groups[arm]
                for m in range(k):
                    if is_fixed[m] or not by_slot[m] + gain < lowest:
                        continue
                    own_group = groups[members[m]]
                    may_leave = counts[own_group] > fewest[own_group]
                    if own_group == group or (may_leave and counts[group] < largest[group]):
                        lowest = by_slot[m] + gain
                        slot = m
            arm += 1
        if slot < 0 or n_reads >= most:
            return total, n_reads
        is_member[members[slot]] = False
        counts[groups[members[slot]]] -= 1
        counts[groups[arm - 1]] += 1
        members[slot] = arm - 1
        is_member[arm - 1] = True
        line = matrix[arm - 1]
        n_since, n_again = 0, 0
        n_reads += n_rows
        for j in range(n_rows):
            d = line[j]
            if near[j] == slot:
                if d >= E[j]:
                    again[n_again] = j
                    n_again += 1
                else:
                    D[j] = d
            elif second[j] == slot:
                if d > E[j]:
                    again[n_again] = j
                    n_again += 1
                elif d < D[j]:
                    second[j], E[j] = near[j], D[j]
                    near[j], D[j] = slot, d
                else:
                    E[j] = d
            elif d < D[j]:
                second[j], E[j] = near[j], D[j]
                near[j], D[j] = slot, d
            elif d < E[j]:
                second[j], E[j] = slot, d


def take_part_reference(matrix: Floats, arms: Ids, rows: Ids, part: Floats) -> None:
    """Copy the distances of these arms to these rows into ``part``."""
    part[:] = matrix[np.ix_(arms, rows)]


@kernel(take_part_reference)
def take_part(matrix, arms, rows, part):  # type: ignore[no-untyped-def]
    for i in range(len(arms)):
        line = matrix[arms[i]]
        for j in range(len(rows)):
            part[i, j] = line[rows[j]]
