"""The greedy order of a few source rows on a few target rows."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def greedy_order_reference(
    block: Floats, nearest: Floats, weights: Doubles, order: Ids, gains: Doubles
) -> None:
    """Fill ``order`` with the source rows that lower the summed cost most, one after the other.

    ``block[i, j]`` is the distance of target row j to source row i, ``nearest[j]`` its distance to
    what it has already, which is updated. ``gains`` are by how much they lower it. Where no row
    lowers it, both end with -1 and 0.
    """
    order[:], gains[:] = -1, 0.0
    for place in range(len(order)):
        saved = np.maximum(nearest.astype(np.float64) - block, 0.0) @ weights
        best = int(saved.argmax())
        if not saved[best] > 0:
            return
        order[place], gains[place] = best, saved[best]
        np.minimum(nearest, block[best], out=nearest)


def _scratch(
    block: Floats, nearest: Floats, weights: Doubles, order: Ids, gains: Doubles
) -> tuple[Doubles, Ids]:
    """Return room for a bound on the gain of each row, and for when it was computed."""
    return np.empty(len(block)), np.empty(len(block), dtype=np.int64)


@kernel(greedy_order_reference, _scratch)
def greedy_order(block, nearest, weights, order, gains, bounds, times):  # type: ignore[no-untyped-def]
    n, m = block.shape
    for place in range(len(order)):
        order[place] = -1
        gains[place] = 0.0
    for i in range(n):
        saved = 0.0
        for j in range(m):
            gap = np.float64(nearest[j]) - np.float64(block[i, j])
            saved += weights[j] * (gap if gap > 0 else 0.0)
        bounds[i] = saved
        times[i] = 0
    for place in range(len(order)):
        best = 0
        while True:
            # Gains only fall, so the largest bound that was computed for this place is the best.
            best = 0
            for i in range(n):
                if bounds[i] > bounds[best]:
                    best = i
            if times[best] == place or not bounds[best] > 0:
                break
            saved = 0.0
            for j in range(m):
                gap = np.float64(nearest[j]) - np.float64(block[best, j])
                saved += weights[j] * (gap if gap > 0 else 0.0)
            bounds[best] = saved
            times[best] = place
        if not bounds[best] > 0:
            break
        order[place] = best
        gains[place] = bounds[best]
        bounds[best] = -1.0
        for j in range(m):
            near = block[best, j]
            nearest[j] = near if near < nearest[j] else nearest[j]
