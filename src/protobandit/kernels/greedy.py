"""Lazy greedy on a full table.

An arm's gain is computed again only if its bound is at least the best gain of the iteration.
``heap`` is a binary heap of arms with the largest bound first. Arms whose gain was computed in this
iteration are kept behind its end until the iteration has chosen.
"""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel

# A gain that is summed in another order differs in its last bits, which must not hide a tie.
_ROUNDING = 1e-9


def lazy_greedy_reference(
    matrix: Floats,
    weights: Doubles,
    total: float,
    nearest: Floats,
    upper: Doubles,
    heap: Ids,
    chosen: Ids,
    gains: Doubles,
) -> int:
    """Choose arms of ``heap`` one by one, by gain; return how many gains were computed.

    Parameters
    ----------
    matrix
        The distances, one row per arm.
    weights, total
        The weights of the columns, and their sum, by which gains are divided.
    nearest
        The distance of each column to its nearest prototype; updated.
    upper
        An upper bound on the gain of each arm; lowered to computed gains.
    heap
        The arms to choose from, sorted by ``upper``, largest first; reordered.
    chosen, gains
        The chosen arms, best first. If no arm has a gain, the rest is not modified.
    """
    left = np.sort(heap)
    for step in range(len(chosen)):
        drops = np.maximum(nearest - matrix[left], 0).astype(np.float64)
        exact = drops @ weights / total
        upper[left] = np.minimum(upper[left], exact)
        best = int(np.argmax(exact)) if len(left) else -1
        if best < 0 or exact[best] <= 0:
            return step * len(heap)
        chosen[step], gains[step] = left[best], exact[best]
        np.minimum(nearest, matrix[left[best]], out=nearest)
        left = np.delete(left, best)
    return len(chosen) * len(heap)


@kernel(lazy_greedy_reference)
def lazy_greedy(matrix, weights, total, nearest, upper, heap, chosen, gains):  # type: ignore[no-untyped-def]
    size, n = len(heap), len(nearest)
    n_computed = 0
    for step in range(len(chosen)):
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
        n_computed += n_out
        if best <= 0.0:
            return n_computed
        chosen[step], gains[step] = winner, best
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
    return n_computed
