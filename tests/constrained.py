"""Constraints from their definitions, by enumerating all sets of rows."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

import brute


def is_allowed(chosen, groups, least, most, fixed=()):
    """Return whether a selection satisfies the constraints; least and most map labels to ints."""
    labels = [groups[i] for i in chosen]
    return set(fixed) <= set(chosen) and all(
        least.get(label, 0) <= labels.count(label) <= most.get(label, len(groups))
        for label in set(groups)
    )


def allowed_sets(n, k, groups, least, most, fixed=()):
    """Return every set of k rows that satisfies the constraints."""
    sets = combinations(range(n), k)
    return [set(s) for s in sets if is_allowed(s, groups, least, most, fixed)]


def greedy(d, weights, k, allowed, fixed=()):
    """Return the picks of greedy; each extends the earlier picks to a subset of an allowed set.

    Ties go to the lowest index; greedy ends when no such row has a positive gain.
    """
    chosen = list(fixed)
    while len(chosen) < k:
        worth = brute.gains(d, weights, chosen)
        for i in range(len(worth)):
            if not any({*chosen, i} <= s for s in allowed):
                worth[i] = -np.inf
        best = int(np.argmax(worth))
        if chosen and not worth[best] > 0:
            break
        chosen.append(best)
    return chosen


def bought(d, weights, prices, budget, k, fixed=()):
    """Return the better of two orders: by gain per cost, or the best single row first."""
    n = d.shape[1]
    constant = 2 * max(brute.cost(d, weights, [i]) for i in range(n) if prices[i] <= budget)

    def affordable(chosen):
        left = budget - sum(prices[i] for i in chosen)
        return [i for i in range(n) if i not in chosen and prices[i] <= left]

    def gain(chosen, i):
        before = brute.cost(d, weights, chosen) if chosen else constant
        return before - brute.cost(d, weights, [*chosen, i])

    def spend(chosen):
        chosen = list(chosen)
        while len(chosen) < k and affordable(chosen):
            ratios = {i: gain(chosen, i) / prices[i] for i in affordable(chosen)}
            best = max(ratios, key=lambda i: (ratios[i], -i))
            if not gain(chosen, best) > 0:
                break
            chosen.append(best)
        return chosen

    found = spend(fixed)
    if len(fixed) < k and affordable(list(fixed)):
        single = min(
            affordable(list(fixed)), key=lambda i: (brute.cost(d, weights, [*fixed, i]), i)
        )
        if brute.cost(d, weights, [*fixed, single]) < brute.cost(d, weights, found) - 1e-12:
            found = spend([*fixed, single])
    return found


def best_affordable(d, weights, prices, budget):
    """Return the smallest cost of any rows within the budget."""
    n = d.shape[1]
    sets = (s for m in range(1, n + 1) for s in combinations(range(n), m))
    costs = [brute.cost(d, weights, s) for s in sets if sum(prices[i] for i in s) <= budget]
    return min(costs, default=math.inf)


def covered(d, weights, chosen, radius):
    """Return the share of the weight within the radius of a chosen row."""
    near = [min(d[j, i] for i in chosen) <= radius for j in range(len(d))]
    return sum(w for w, is_near in zip(weights, near, strict=True) if is_near) / sum(weights)
