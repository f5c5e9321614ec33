"""Gains, costs and rewards of source rows, summed over target rows.

``matrix[rows[i], first + j]`` is d(target j, arm i). The whole matrix is passed, because a slice of
it would be read without SIMD. The sums over ``chunk`` columns are added one after the other. So any
split of the columns at multiples of ``chunk`` gives the same bits, and rounding never makes a gain
grow when ``nearest`` shrinks. For the same reason no sum depends on which arms are computed
together, which excludes a matrix product.
"""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel


def gains_reference(
    matrix: Floats,
    rows: Ids,
    first: int,
    nearest: Floats,
    weights: Doubles,
    chunk: int,
    out: Doubles,
) -> None:
    """Add to ``out[i]`` the weighted sum by which arm i would lower ``nearest``."""
    for start in range(0, len(nearest), chunk):
        cut = slice(start, min(start + chunk, len(nearest)))
        block = matrix[rows, first + cut.start : first + cut.stop]
        out += (np.maximum(nearest[cut] - block, 0).astype(np.float64) * weights[cut]).sum(axis=1)


@kernel(gains_reference)
def gains(matrix, rows, first, nearest, weights, chunk, out):  # type: ignore[no-untyped-def]
    n = len(nearest)
    for i in range(len(rows)):
        for start in range(0, n, chunk):
            stop = start + chunk if start + chunk < n else n
            line = matrix[rows[i], first + start : first + stop]
            limit, weight = nearest[start:stop], weights[start:stop]
            part = 0.0
            for j in range(len(line)):
                drop = limit[j] - line[j]
                gain = float(drop) if drop > 0 else 0.0
                part += weight[j] * gain
            out[i] += part


def costs_reference(
    matrix: Floats, rows: Ids, first: int, weights: Doubles, chunk: int, out: Doubles
) -> None:
    """Add to ``out[i]`` the weighted sum of distances to arm i."""
    for start in range(0, len(weights), chunk):
        cut = slice(start, min(start + chunk, len(weights)))
        block = matrix[rows, first + cut.start : first + cut.stop]
        out += (block.astype(np.float64) * weights[cut]).sum(axis=1)


@kernel(costs_reference)
def costs(matrix, rows, first, weights, chunk, out):  # type: ignore[no-untyped-def]
    n = len(weights)
    for i in range(len(rows)):
        for start in range(0, n, chunk):
            stop = start + chunk if start + chunk < n else n
            line, weight = matrix[rows[i], first + start : first + stop], weights[start:stop]
            part = 0.0
            for j in range(len(line)):
                part += weight[j] * line[j]
            out[i] += part


def rewards_reference(
    block: Floats, nearest: Floats, scale: float, total: Doubles, squares: Doubles
) -> None:
    """Add the rewards max(nearest - d, 0) / scale of each arm, and their squares.

    Rewards lie in [0, 1]. Sums are clipped to the number of rows, which rounding could exceed.
    """
    reward = np.maximum(nearest - block, 0).astype(np.float64) / scale
    total += np.minimum(reward.sum(axis=1), block.shape[1])
    squares += np.minimum((reward**2).sum(axis=1), block.shape[1])


@kernel(rewards_reference)
def rewards(block, nearest, scale, total, squares):  # type: ignore[no-untyped-def]
    n = block.shape[1]
    for i in range(block.shape[0]):
        reward_sum = 0.0
        square_sum = 0.0
        for j in range(n):
            drop = nearest[j] - block[i, j]
            reward = (float(drop) if drop > 0 else 0.0) / scale
            reward_sum += reward
            square_sum += reward * reward  # of a ratio: the square of a distance may overflow
        total[i] += min(reward_sum, float(n))
        squares[i] += min(square_sum, float(n))


def prefix_costs_reference(
    block: Floats, weights: Doubles, nearest: Floats, labels: Ids, sums: Doubles
) -> None:
    """Fill in the nearest arm of each column of a block, and add to the cost of each prefix.

    ``sums[i]`` grows by the weighted sum of the distances to the nearest of the first i + 1 arms.
    Of equal distances, the first arm is the nearest.
    """
    labels[:] = block.argmin(axis=0)
    running = np.minimum.accumulate(block, axis=0)
    nearest[:] = running[-1]
    sums += running.astype(np.float64) @ weights


@kernel(prefix_costs_reference)
def prefix_costs(block, weights, nearest, labels, sums):  # type: ignore[no-untyped-def]
    for j in range(block.shape[1]):
        nearest[j] = block[0, j]
        labels[j] = 0
    for i in range(block.shape[0]):
        part = 0.0
        for j in range(block.shape[1]):
            if block[i, j] < nearest[j]:
                nearest[j] = block[i, j]
                labels[j] = i
            part += weights[j] * nearest[j]
        sums[i] += part
