"""Sums of rewards and of their squares on sampled target rows, for means and variances.

``matrix[rows[i], j]`` is d(target j, arm i). Rewards are multiplied by the weights. Sums are added
to the values that the outputs hold. Differences are computed in float64.

A pick lowers a row's distance to min(d, nearest). Its reward is measured from a ``level``, which
may be anything that is the same for all arms.

The reward of a swap on a row is what the arm saves: D - d where the arm becomes the nearest, and
E - d on the rows of the removed slot where the arm is nearer than the second. (The rest, E - D
summed over those rows, is lost whichever arm is added.) So each distance adds a common part to all
slots and a part to its own slot. The common part is summed separately and added to every slot at
the end.
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
    """Add for each arm the weighted sum of level - min(d, nearest), and the sum of squares."""
    reward = weights * (level.astype(np.float64) - np.minimum(matrix[rows], nearest))
    total += reward.sum(axis=1)
    squares += (reward**2).sum(axis=1)


@kernel(gain_moments_reference)
def gain_moments(matrix, rows, nearest, level, weights, total, squares):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        line = matrix[rows[i]]
        reward_sum = 0.0
        square_sum = 0.0
        for j in range(len(weights)):
            d = min(line[j], nearest[j])
            reward = weights[j] * (np.float64(level[j]) - np.float64(d))
            reward_sum += reward
            square_sum += reward * reward
        total[i] += reward_sum
        squares[i] += square_sum


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
    """Add to ``total[i, m]`` what arm i saves in slot m, and to ``squares`` the squares."""
    is_own = near == np.arange(total.shape[1])[:, None]
    for i, row in enumerate(rows):
        d = matrix[row].astype(np.float64)
        saved = weights * np.maximum(np.where(is_own, E, D) - d, 0)
        total[i] += saved.sum(axis=1)
        squares[i] += (saved**2).sum(axis=1)


@kernel(swap_moments_reference)
def swap_moments(matrix, rows, near, D, E, weights, total, squares):  # type: ignore[no-untyped-def]
    k = total.shape[1]
    for i in range(len(rows)):
        line = matrix[rows[i]]
        reward_sum = 0.0
        square_sum = 0.0
        for j in range(len(weights)):
            if line[j] < E[j]:
                own = weights[j] * (np.float64(E[j]) - np.float64(line[j]))
                common = 0.0
                if line[j] < D[j]:
                    common = weights[j] * (np.float64(D[j]) - np.float64(line[j]))
                    reward_sum += common
                    square_sum += common * common
                total[i, near[j]] += own - common
                squares[i, near[j]] += own * own - common * common
        for m in range(k):
            total[i, m] += reward_sum
            squares[i, m] += square_sum
