"""Kernel methods by their definitions: whole matrices in float64, every set evaluated afresh."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np


def rbf(gamma):
    return lambda x, y: math.exp(
        -gamma * sum((float(a) - float(b)) ** 2 for a, b in zip(x, y, strict=True))
    )


def linear(x, y):
    return sum(float(a) * float(b) for a, b in zip(x, y, strict=True))


def polynomial(gamma, degree, coef0):
    return lambda x, y: (gamma * linear(x, y) + coef0) ** degree


def matrix(kernel, rows, others):
    return np.array([[kernel(x, y) for y in others] for x in rows])


def median_gamma(source, target, weights):
    """Return 1 / (2 m): m the median of squared distances above 0, each target row repeated."""
    squares = []
    for row, times in zip(target, weights, strict=True):
        for other in source:
            square = sum((float(a) - float(b)) ** 2 for a, b in zip(row, other, strict=True))
            squares += [square] * int(times) if square > 0 else []
    return 1 / (2 * sorted(squares)[(len(squares) - 1) // 2])


# -- MMD-critic -----------------------------------------------------------------------------------


def mmd_value(across, within, weights, chosen):
    """Return 2 mean k(target, chosen) - mean k(chosen, chosen); ``across`` is target by source."""
    m, total = len(chosen), sum(weights)
    near = sum(q * across[j, i] for j, q in enumerate(weights) for i in chosen)
    apart = sum(within[i, h] for i in chosen for h in chosen)
    return 2 * near / (total * m) - apart / m**2


def _best(worth, taken):
    """Return the row of largest worth and by how much it is ahead of the next."""
    free = [i for i in range(len(worth)) if i not in taken]
    order = sorted(free, key=lambda i: -worth[i])
    ahead = worth[order[0]] - worth[order[1]] if len(order) > 1 else math.inf
    return order[0], ahead


def mmd_greedy(across, within, weights, k, *, gap=1e-10):
    """Return the picks of greedy as far as each is the best by more than ``gap``."""
    chosen = []
    while len(chosen) < k:
        worth = [
            -math.inf if i in chosen else mmd_value(across, within, weights, [*chosen, i])
            for i in range(len(within))
        ]
        best, ahead = _best(worth, chosen)
        if not ahead > gap * max(1, abs(worth[best])):
            break
        chosen.append(best)
    return chosen


def witness(own, across, weights, chosen):
    """Return mean k(row, target) - mean k(row, chosen) of every target row."""
    return own @ weights / sum(weights) - across[:, chosen].mean(axis=1)


def criticisms(own, values, n, *, is_diverse, closed=(), gap=1e-9):
    """Return the rows that greedily raise sum |values| + log det, as far as that is clear."""
    chosen = []
    while len(chosen) < n:
        worth = [
            -math.inf if t in closed else _criticised(own, values, [*chosen, t], is_diverse)
            for t in range(len(own))
        ]
        best, ahead = _best(worth, {*chosen, *closed})
        if not ahead > gap or worth[best] == -math.inf:
            break
        chosen.append(best)
    return chosen


def _criticised(own, values, some, is_diverse):
    total = sum(abs(values[t]) for t in some)
    if not is_diverse:
        return total
    if len(set(some)) < len(some):
        return -math.inf
    sign, logarithm = np.linalg.slogdet(own[np.ix_(some, some)])
    return total + logarithm if sign > 0 and logarithm > -25 else -math.inf


# -- ProtoDash ------------------------------------------------------------------------------------


def value(within, means, w):
    return w @ means - w @ within @ w / 2


def best_coefficients(within, means):
    """Return the w >= 0 of largest `value`: the best of every set of positive ones."""
    n = len(means)
    best = np.zeros(n)
    for size in range(1, n + 1):
        for some in map(list, combinations(range(n), size)):
            w = np.zeros(n)
            w[some] = np.linalg.lstsq(within[np.ix_(some, some)], means[some], rcond=1e-12)[0]
            if (w >= 0).all() and value(within, means, w) > value(within, means, best):
                best = w
    return best


def protodash(within, means, k, *, gap=1e-9):
    """Return the picks by largest gradient as far as they are clear, and their coefficients."""
    chosen, w = [], np.empty(0)
    while len(chosen) < k:
        gradient = means - within[:, chosen] @ w
        best, ahead = _best(
            [-math.inf if i in chosen else g for i, g in enumerate(gradient)], chosen
        )
        if not ahead > gap:
            break
        chosen.append(best)
        w = best_coefficients(within[np.ix_(chosen, chosen)], means[chosen])
    return chosen, w
