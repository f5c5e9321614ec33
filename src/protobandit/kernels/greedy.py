"""Greedy on a full table, one arm after the other, looking again only where it may matter.

``heap`` holds arms, the largest bound first; those that were looked at in this turn stand behind
its end until the turn is decided.
"""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel

# The same gain added up in another order differs in its last bits, which must not hide a tie.
_ROUNDING = 1e-9


def lead_reference(
    matrix: Floats,
    weights: Doubles,
    total: float,
    nearest: Floats,
    upper: Doubles,
    heap: Ids,
    chosen: Ids,
    gains: Doubles,
) -> int:
    """Choose one arm of ``heap`` after the other by its gain; return how many were looked at.

    Parameters
    ----------
    matrix
        One row of distances an arm.
    weights, total
        Of the columns, and what a sum is divided by.
    nearest
        The distance of each column to its nearest prototype; kept up to date.
    upper
        For each arm what it can gain at most; made tighter.
    heap
        The arms to choose from, sorted, the largest ``upper`` first; put in another order.
    chosen, gains
        What was chosen, best first. The rest is left as it is when no arm gains anything.
    """
    left = np.sort(heap)
    for turn in range(len(chosen)):
        drops = np.maximum(nearest - matrix[left], 0).astype(np.float64)
        exact = drops @ weights / total
        upper[left] = np.minimum(upper[left], exact)
        best = int(np.argmax(exact)) if len(left) else -1
        if best < 0 or exact[best] <= 0:
            return turn * len(heap)
        chosen[turn], gains[turn] = left[best], exact[best]
        np.minimum(nearest, matrix[left[best]], out=nearest)
        left = np.delete(left, best)
    return len(chosen) * len(heap)


@kernel(lead_reference)
def lead(matrix, weights, total, nearest, upper, heap, chosen, gains):  # type: ignore[no-untyped-def]
    size, n = len(heap), len(nearest)
    n_looked = 0
    for turn in range(len(chosen)):
        best, winner, n_out = 0.0, -1, 0
        while size > 0:
            arm = heap[0]
            if winner >= 0 and upper[arm] < best - _ROUNDING * best:
                break
            size -= 1
            last, at = heap[size], 0
            while True:
                child = 2 * at + 1
                if child + 1 < size and upper[heap[child + 1]] > upper[heap[child]]:
                    child += 1
                if child >= size or upper[heap[child]] <= upper[last]:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = last
            heap[size] = arm
            n_out += 1
            line = matrix[arm]
            part = 0.0
            for j in range(n):
                drop = nearest[j] - line[j]
                part += weights[j] * (float(drop) if drop > 0 else 0.0)
            gain = part / total
            if gain < upper[arm]:
                upper[arm] = gain
            if gain > best or (gain == best and (winner < 0 or arm < winner)):
                best, winner = gain, arm
        n_looked += n_out
        if best <= 0.0:
            return n_looked
        chosen[turn], gains[turn] = winner, best
        line = matrix[winner]
        for j in range(n):
            if line[j] < nearest[j]:
                nearest[j] = line[j]
        first, stop = size, size + n_out
        for t in range(first, stop):
            arm = heap[t]
            if arm != winner:
                at = size
                while at > 0 and upper[heap[(at - 1) // 2]] < upper[arm]:
                    heap[at] = heap[(at - 1) // 2]
                    at = (at - 1) // 2
                heap[at] = arm
                size += 1
    return n_looked
