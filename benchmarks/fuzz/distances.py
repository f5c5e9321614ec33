"""Dissimilarities from their definitions, in the widest floats NumPy has.

On most processors these have a wider range of exponents than float64, so that squares of extreme
numbers neither overflow nor underflow. Nothing is shared with the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Wide = np.longdouble


def _ratio(above, below):
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def _root_of_squares(t, s):
    return np.sqrt(((t - s) ** 2).sum(axis=2))


def _cosine(t, s):
    dot = (t * s).sum(axis=2)
    lengths = np.sqrt((t**2).sum(axis=2)) * np.sqrt((s**2).sum(axis=2))
    return np.maximum(1 - _ratio(dot, lengths), 0)


def _correlation(t, s):
    return _cosine(t - t.mean(axis=2, keepdims=True), s - s.mean(axis=2, keepdims=True))


def _jensenshannon(t, s):
    left, right = t / t.sum(axis=2, keepdims=True), s / s.sum(axis=2, keepdims=True)
    middle = (left + right) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(each > 0, each * np.log(each / middle), 0) for each in (left, right)]
    return np.sqrt(np.maximum(sum(parts).sum(axis=2), 0) / 2)


def _haversine(t, s):
    (lat, lon), (lat2, lon2) = np.moveaxis(t, 2, 0), np.moveaxis(s, 2, 0)
    half = np.sin((lat - lat2) / 2) ** 2
    half = half + np.cos(lat) * np.cos(lat2) * np.sin((lon - lon2) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(half))


def _flags(t, s):
    """Return the numbers of columns in which both, one, or neither is not 0."""
    a, b = t != 0, s != 0
    kinds = (a & b, a ^ b, ~a & ~b, a & ~b, ~a & b)
    return [each.sum(axis=2).astype(Wide) for each in kinds]


def _of_flags(formula):
    return lambda t, s: formula(*_flags(t, s))


def _minkowski(p):
    return lambda t, s: (abs(t - s) ** Wide(p)).sum(axis=2) ** (1 / Wide(p))


DEFINITIONS: dict[str, Callable] = {
    "euclidean": _root_of_squares,
    "sqeuclidean": lambda t, s: ((t - s) ** 2).sum(axis=2),
    "manhattan": lambda t, s: abs(t - s).sum(axis=2),
    "chebyshev": lambda t, s: abs(t - s).max(axis=2),
    "minkowski3": _minkowski(3),
    "cosine": _cosine,
    "correlation": _correlation,
    "hamming": lambda t, s: (t != s).mean(axis=2, dtype=Wide),
    "canberra": lambda t, s: _ratio(abs(t - s), abs(t) + abs(s)).sum(axis=2),
    "braycurtis": lambda t, s: _ratio(abs(t - s).sum(axis=2), abs((t + s).sum(axis=2))),
    "jensenshannon": _jensenshannon,
    "haversine": _haversine,
    "jaccard": _of_flags(lambda both, one, none, a, b: _ratio(one, both + one)),
    "dice": _of_flags(lambda both, one, none, a, b: _ratio(one, 2 * both + one)),
    "rogerstanimoto": _of_flags(lambda both, one, none, a, b: 2 * one / (both + none + 2 * one)),
    "russellrao": _of_flags(lambda both, one, none, a, b: (one + none) / (both + one + none)),
    "sokalsneath": _of_flags(lambda both, one, none, a, b: _ratio(2 * one, both + 2 * one)),
    "yule": _of_flags(lambda both, one, none, a, b: _ratio(2 * a * b, both * none + a * b)),
}
OF_FLAGS = ("jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
OF_SHARES = ("braycurtis", "jensenshannon")
# Their values come from sums whose terms cancel, so that their error does not shrink with them.
_OF_UNIT_SIZE = ("cosine", "correlation", "haversine")


def rounded_size(name: str, precision: float) -> float:
    """Return the size of the numbers whose rounding errors are those of this metric."""
    if name == "jensenshannon":  # the root of such a sum
        return 1 / math.sqrt(precision)
    return 1.0 if name in _OF_UNIT_SIZE else 0.0


def distances(name: str, target, source):
    """Return d(target row, source row) of shape (target rows, source rows)."""
    t, s = np.asarray(target, dtype=Wide)[:, None, :], np.asarray(source, dtype=Wide)[None, :, :]
    with np.errstate(all="ignore"):
        return np.asarray(DEFINITIONS[name](t, s), dtype=Wide)


def edits(left: str, right: str) -> int:
    """Return the Levenshtein distance of two texts."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
