"""Which rows each prototype stands for: the nearest ones, and those it covers badly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.sample import ReportSample

NONE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Members:
    """For each prototype, positions in the sample: of the nearest rows, and of the farthest.

    Both have a row a prototype and end in -1 where there are fewer; no row is in both. ``counts``
    are the rows nearest to each, ``means`` their weighted mean distances (NaN where there are
    none).
    """

    nearest: Ids
    farthest: Ids
    counts: Ids
    means: Doubles


def gather(sample: ReportSample, *, k: int, most: int) -> Members:
    """Return up to ``most`` nearest and ``most`` farthest rows of each of ``k`` prototypes."""
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
