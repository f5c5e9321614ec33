"""Kernel methods from their definitions: full float64 matrices, no incremental updates."""

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
    """Return 1 / (2 m), m the weighted median of the positive squared distances."""
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
    """Return the row of largest worth and its lead over the second."""
    free = [i for i in range(len(worth)) if i not in taken]
    order = sorted(free, key=lambda i: -worth[i])
    lead = worth[order[0]] - worth[order[1]] if len(order) > 1 else math.inf
    return order[0], lead


def mmd_greedy(across, within, weights, k, *, gap=1e-10):
    """Return the greedy picks up to the first whose lead is at most ``gap``."""
    chosen = []
    while len(chosen) < k:
        worth = [
            -math.inf if i in chosen else mmd_value(across, within, weights, [*chosen, i])
            for i in range(len(within))
        ]
        best, lead = _best(worth, chosen)
        if not lead > gap * max(1, abs(worth[best])):
            break
        chosen.append(best)
    return chosen


def witness(own, across, weights, chosen):
    """Return mean k(row, target) - mean k(row, chosen) for every target row."""
    return own @ weights / sum(weights) - across[:, chosen].mean(axis=1)


def criticisms(own, values, n, *, is_diverse, closed=(), gap=1e-9):
    """Return the rows that greedily maximise sum |values| + log det, up to the first near tie."""
    chosen = []
    while len(chosen) < n:
        worth = [
            -math.inf if t in closed else _criticism_value(own, values, [*chosen, t], is_diverse)
            for t in range(len(own))
        ]
        best, lead = _best(worth, {*chosen, *closed})
        if not lead > gap or worth[best] == -math.inf:
            break
        chosen.append(best)
    return chosen


def _criticism_value(own, values, some, is_diverse):
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
    """Return the w >= 0 of largest `value`, by trying every set of positive entries."""
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
    """Return the picks by largest gradient up to the first near tie, and their coefficients."""
    chosen, w = [], np.empty(0)
    while len(chosen) < k:
        gradient = means - within[:, chosen] @ w
        best, lead = _best(
            [-math.inf if i in chosen else g for i, g in enumerate(gradient)], chosen
        )
        if not lead > gap:
            break
        chosen.append(best)
        w = best_coefficients(within[np.ix_(chosen, chosen)], means[chosen])
    return chosen, w
