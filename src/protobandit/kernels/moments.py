"""Sums of what arms are worth on sampled target rows, and of the squares: means and spreads.

``matrix[rows[i], j]`` is d(target j, arm i). Rewards are multiplied by the weights; sums are added
to what the outputs hold, differences are taken in float64.

A pick lowers a row's distance to min(d, nearest); what that is worth is counted from a ``level``,
which may be anything that is the same for all arms.

A swap is worth, row by row, what the arm saves: D - d where it is nearest, and on the rows of the
slot that leaves, E - d where it comes before the second. (The rest, E - D summed over those rows,
is lost whichever arm enters.) So each distance counts for all slots at once and once more for its
own: the first part is added up apart, and to every slot at the end.
"""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def gain_moments_reference(
    matrix: Floats,
    rows: Ids,
    nearest: Floats,
    level: Floats,
    weights: Doubles,
    total: Doubles,
    squares: Doubles,
) -> None:
    """Add up by how much min(d, nearest) is below ``level``, for each arm, and the squares."""
    reward = weights * (level.astype(np.float64) - np.minimum(matrix[rows], nearest))
    total += reward.sum(axis=1)
    squares += (reward**2).sum(axis=1)


@kernel(gain_moments_reference)
def gain_moments(
    matrix: Floats,
    rows: Ids,
    nearest: Floats,
    level: Floats,
    weights: Doubles,
    total: Doubles,
    squares: Doubles,
) -> None:
    """Add up by how much min(d, nearest) is below ``level``, for each arm, and the squares."""
    for i in range(len(rows)):
        line = matrix[rows[i]]
        once = 0.0
        twice = 0.0
        for j in range(len(weights)):
            d = min(line[j], nearest[j])
            reward = weights[j] * (np.float64(level[j]) - np.float64(d))
            once += reward
            twice += reward * reward
        total[i] += once
        squares[i] += twice


def swap_moments_reference(
    matrix: Floats,
    rows: Ids,
    near: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    total: Doubles,
    squares: Doubles,
) -> None:
    """Add to ``total[i, m]`` what arm i would save in slot m, and to ``squares`` the squares."""
    is_own = near == np.arange(total.shape[1])[:, None]
    for i, row in enumerate(rows):
        d = matrix[row].astype(np.float64)
        saved = weights * np.maximum(np.where(is_own, E, D) - d, 0)
        total[i] += saved.sum(axis=1)
        squares[i] += (saved**2).sum(axis=1)


@kernel(swap_moments_reference)
def swap_moments(
    matrix: Floats,
    rows: Ids,
    near: Ids,
    D: Floats,
    E: Floats,
    weights: Doubles,
    total: Doubles,
    squares: Doubles,
) -> None:
    """Add to ``total[i, m]`` what arm i would save in slot m, and to ``squares`` the squares."""
    k = total.shape[1]
    for i in range(len(rows)):
        line = matrix[rows[i]]
        once = 0.0
        twice = 0.0
        for j in range(len(weights)):
            if line[j] < E[j]:
                own = weights[j] * (np.float64(E[j]) - np.float64(line[j]))
                common = 0.0
                if line[j] < D[j]:
                    common = weights[j] * (np.float64(D[j]) - np.float64(line[j]))
                    once += common
                    twice += common * common
                total[i, near[j]] += own - common
                squares[i, near[j]] += own * own - common * common
        for m in range(k):
            total[i, m] += once
            squares[i, m] += twice
