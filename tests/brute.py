"""The problem solved from its definition, by slow float64 loops."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, replace
from itertools import combinations

import numpy as np

from protobandit.methods import METHODS, SEARCHES, Refined

# -- instances and metrics ------------------------------------------------------------------------


def normal(n, columns=3, *, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, columns)).astype(dtype)


def whole(n, columns=3, *, seed=0, top=9):
    """Return rows of small integers, whose sums and differences are exact."""
    return np.random.default_rng(seed).integers(0, top, size=(n, columns)).astype(np.float64)


def skewed(target, source):
    """Return an asymmetric dissimilarity: overshooting costs three times as much."""
    pairs = zip(target, source, strict=True)
    return float(sum(max(t - s, 0.0) + 3 * max(s - t, 0.0) for t, s in pairs))


def edits(target, source):
    """Return a dissimilarity of strings."""
    changed = sum(a != b for a, b in zip(target, source, strict=False))
    return float(changed + abs(len(target) - len(source)))


class CountedPairs:
    """A pair metric that counts its calls."""

    def __init__(self, function=skewed):
        self.function = function
        self.calls = 0

    def __call__(self, target, source):
        self.calls += 1
        return self.function(target, source)


class CountedBlocks(CountedPairs):
    """A block metric that counts the pairs it computes."""

    def __call__(self, targets, sources):
        self.calls += len(targets) * len(sources)
        return np.array([[self.function(t, s) for s in sources] for t in targets])


def likeness(target, source):
    """Return a similarity of strings, or of rows of numbers."""
    if isinstance(target, str):
        return math.exp(-edits(target, source))
    return math.exp(-sum(abs(t - s) for t, s in zip(target, source, strict=True)))


def distances(metric, target, source):
    """Return d(target, source) of shape (len(target), len(source)), pair by pair."""
    return np.array([[float(metric(t, s)) for s in source] for t in target], dtype=np.float64)


# -- every metric of the table, from its definition -----------------------------------------------


def _pairs(target, source):
    return [(float(t), float(s)) for t, s in zip(target, source, strict=True)]


def minkowski(p):
    return lambda t, s: sum(abs(a - b) ** p for a, b in _pairs(t, s)) ** (1 / p)


def _cosine(target, source):
    pairs = _pairs(target, source)
    dot = sum(a * b for a, b in pairs)
    return 1 - dot / math.sqrt(sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs))


def _correlation(target, source):
    return _cosine(np.asarray(target) - np.mean(target), np.asarray(source) - np.mean(source))


def _table(target, source):
    """Return the number of columns in which both, only target, only source, or neither is set."""
    pairs = [(a != 0, b != 0) for a, b in _pairs(target, source)]
    kinds = (True, True), (True, False), (False, True), (False, False)
    return [pairs.count(kind) for kind in kinds]


def _by_table(formula):
    return lambda t, s: formula(*_table(t, s))


def _ratio(above, below):
    return above / below if below else 0.0


def _braycurtis(target, source):
    pairs = _pairs(target, source)
    return _ratio(sum(abs(a - b) for a, b in pairs), abs(sum(a + b for a, b in pairs)))


def _jensenshannon(target, source):
    left, right = np.asarray(target) / np.sum(target), np.asarray(source) / np.sum(source)
    middle = (left + right) / 2
    total = sum(a * math.log(a / m) for a, m in _pairs(left, middle) if a > 0)
    total += sum(b * math.log(b / m) for b, m in _pairs(right, middle) if b > 0)
    return math.sqrt(max(total, 0) / 2)


def _haversine(target, source):
    (lat, lon), (lat2, lon2) = target, source
    half = math.sin((lat - lat2) / 2) ** 2
    half += math.cos(lat) * math.cos(lat2) * math.sin((lon - lon2) / 2) ** 2
    return 2 * math.asin(math.sqrt(half))


DEFINITIONS = {
    "euclidean": minkowski(2),
    "minkowski": minkowski(2),
    "sqeuclidean": lambda t, s: sum((a - b) ** 2 for a, b in _pairs(t, s)),
    "manhattan": minkowski(1),
    "chebyshev": lambda t, s: max(abs(a - b) for a, b in _pairs(t, s)),
    "cosine": _cosine,
    "correlation": _correlation,
    "hamming": lambda t, s: sum(a != b for a, b in _pairs(t, s)) / len(t),
    "canberra": lambda t, s: sum(_ratio(abs(a - b), abs(a) + abs(b)) for a, b in _pairs(t, s)),
    "braycurtis": _braycurtis,
    "jensenshannon": _jensenshannon,
    "haversine": _haversine,
    "jaccard": _by_table(lambda tt, tf, ft, ff: _ratio(tf + ft, tt + tf + ft)),
    "dice": _by_table(lambda tt, tf, ft, ff: _ratio(tf + ft, 2 * tt + tf + ft)),
    "rogerstanimoto": _by_table(
        lambda tt, tf, ft, ff: _ratio(2 * (tf + ft), tt + ff + 2 * (tf + ft))
    ),
    "russellrao": _by_table(lambda tt, tf, ft, ff: (tf + ft + ff) / (tt + tf + ft + ff)),
    "sokalsneath": _by_table(lambda tt, tf, ft, ff: _ratio(2 * (tf + ft), tt + 2 * (tf + ft))),
    "yule": _by_table(lambda tt, tf, ft, ff: _ratio(2 * tf * ft, tt * ff + tf * ft)),
}


_OF_FLAGS = {"hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}


def rows_for(metric, n, *, seed=0):
    """Return rows for which the metric of this name is defined."""
    random = np.random.default_rng(seed)
    if metric == "haversine":
        return random.uniform([-1.5, -3.1], [1.5, 3.1], size=(n, 2))
    if metric in _OF_FLAGS:
        rows = random.integers(0, 2, size=(n, 9)).astype(np.float64)
        rows[:, 0], rows[:, 1] = 1, 0  # no row is all 0 or all 1
        return rows
    if metric in {"jensenshannon", "braycurtis"}:
        return random.uniform(0.01, 1, size=(n, 5))
    return random.normal(size=(n, 4))


# -- greedy ---------------------------------------------------------------------------------------


def even(n):
    return np.ones(n)


def cost(d, weights, chosen):
    """Return the weighted mean of min d(j, chosen)."""
    total = 0.0
    for j in range(len(d)):
        total += weights[j] * min(d[j, i] for i in chosen)
    return total / sum(weights)


def costs(d, weights, chosen):
    return np.array([cost(d, weights, chosen[: n + 1]) for n in range(len(chosen))])


def mass(d, weights, chosen):
    """Return the share of each chosen row; ties go to the row chosen first."""
    shares = [0.0] * len(chosen)
    for j in range(len(d)):
        nearest = min(range(len(chosen)), key=lambda n: d[j, chosen[n]])
        shares[nearest] += weights[j]
    return np.array(shares) / sum(weights)


def gains(d, weights, chosen):
    """Return the gain of each source row; minus infinity for rows that are already chosen.

    Before the first pick it is minus the mean distance, which differs from the gain by a constant.
    """
    nearest = [min(d[j, m] for m in chosen) for j in range(len(d))] if len(chosen) else None
    found = np.full(d.shape[1], -np.inf)
    for i in range(d.shape[1]):
        if i in chosen:
            continue
        total = 0.0
        for j in range(len(d)):
            if nearest is None:
                total -= weights[j] * d[j, i]
            elif d[j, i] < nearest[j]:
                total += weights[j] * (nearest[j] - d[j, i])
        found[i] = total / sum(weights)
    return found


def greedy(d, weights, k, r=1):
    """Return the picks of greedy until every gain is zero; ties go to the lowest index."""
    chosen = []
    while len(chosen) < k:
        worth = gains(d, weights, chosen)
        best = np.argsort(-worth, kind="stable")[: min(r, k - len(chosen))]
        taken = [int(i) for i in best if not chosen or worth[i] > 0]
        if not taken:
            break
        chosen += taken
    return chosen


def decided(d, weights, k, *, gap=1e-9):
    """Return the picks of greedy up to the first whose lead is at most ``gap`` times the cost."""
    chosen = []
    while len(chosen) < k:
        worth = gains(d, weights, chosen)
        order = np.argsort(-worth, kind="stable")
        scale = cost(d, weights, chosen) if chosen else cost(d, weights, [order[0]])
        second = worth[order[1]] if len(order) > 1 else -np.inf
        if chosen and not worth[order[0]] - max(second, 0) > gap * scale:
            break
        if not chosen and not worth[order[0]] - second > gap * scale:
            break
        chosen.append(int(order[0]))
    return chosen


def regret(d, weights, chosen):
    """Return the largest shortfall of a pick against the best one, relative to the cost then."""
    worst = 0.0
    for n, i in enumerate(chosen):
        worth = gains(d, weights, list(chosen[:n]))
        scale = cost(d, weights, chosen[: max(n, 1)])
        worst = max(worst, (worth.max() - worth[i]) / scale if scale > 0 else 0.0)
    return worst


def best_cost(d, weights, k):
    """Return the smallest cost of any k source rows."""
    return min(cost(d, weights, chosen) for chosen in combinations(range(d.shape[1]), k))


# -- methods --------------------------------------------------------------------------------------

_VARIED = {
    "memoize": (True, False),
    "search": tuple(SEARCHES),
    "early_stop": (True,),
    "first_batch": (7,),
    "n_criticisms": (2,),
    "r": (3,),
    "batch": (7,),
    "init": ("heuristic", "k-medoids++"),
    "n_swaps": (3,),
    "swaps": ("best", "local", "pac"),
    "n_samples": (2,),
    "numlocal": (1,),
    "maxneighbor": (30,),
    "batch_size": (9,),
    "weighting": ("uniform",),
}


def variants():
    """Return every method of the table, with default parameters and with each variation."""
    found = []
    for method in METHODS.values():
        assert all(field.default is not MISSING for field in fields(method)), method
        found.append(method())
        for field in fields(method):
            changes = _VARIED.get(field.name, ())
            found += [replace(method(), **{field.name: value}) for value in changes]
    found.append(Refined(build="random", swaps="pac", nu=0.6))  # the others need no sample
    return list(dict.fromkeys(found))


def with_kernel(method, kernel):
    """Return the method with this kernel, if it has one."""
    return replace(method, kernel=kernel) if hasattr(method, "kernel") else method


def name_of(method):
    default = type(method)()
    changed = [
        f"{field.name}={getattr(method, field.name)}"
        for field in fields(method)
        if getattr(method, field.name) != getattr(default, field.name)
    ]
    return "-".join([method.name, *changed])
