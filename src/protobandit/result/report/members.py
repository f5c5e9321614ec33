"""The target rows nearest to each prototype: the closest of them, and the farthest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.sample import ReportSample

NONE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Members:
    """The nearest and the farthest members of each prototype, as positions in the sample.

    Attributes
    ----------
    nearest, farthest
        One row per prototype, filled up with -1. No member is in both.
    counts
        The number of members of each prototype.
    means
        Their weighted mean distance; NaN for a prototype without members.
    """

    nearest: Ids
    farthest: Ids
    counts: Ids
    means: Doubles


def find_members(sample: ReportSample, *, k: int, most: int) -> Members:
    """Return up to ``most`` nearest and ``most`` farthest members of each of ``k`` prototypes."""
    order = np.lexsort((sample.distances, sample.labels))
    counts = np.bincount(sample.labels, minlength=k)
    nearest, farthest = (np.full((k, most), NONE, dtype=np.int64) for _ in range(2))
    ends = np.cumsum(counts)
    for i in range(k):
        own = order[ends[i] - counts[i] : ends[i]]
        n_near = min(most, -(-len(own) // 2))
        far = own[n_near:][::-1][:most]
        nearest[i, :n_near], farthest[i, : len(far)] = own[:n_near], far
    mass = np.bincount(sample.labels, sample.weights, minlength=k)
    total = np.bincount(sample.labels, sample.weights * sample.distances, minlength=k)
    means = np.divide(total, mass, out=np.full(k, np.nan), where=mass > 0)
    return Members(nearest=nearest, farthest=farthest, counts=counts, means=means)
