"""The distances of target rows to their nearest prototypes: histogram, quantiles, worst rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.sample import ReportSample

SHARES = (0.25, 0.5, 0.75, 0.9, 0.99)
_N_BINS = 48


@dataclass(frozen=True, kw_only=True, eq=False)
class DistanceSummary:
    """The distribution of distances to the nearest prototype.

    Attributes
    ----------
    edges, heights, counts
        A histogram: the edges of the bins, the share of the weight and the number of rows in each.
    quantiles
        The weighted quantiles of ``SHARES``.
    mean, least, most
        The weighted mean, the smallest and the largest distance.
    worst
        Positions in the sample of the rows with the largest distances, largest first.
    """

    edges: Doubles
    heights: Doubles
    counts: Ids
    quantiles: Doubles
    mean: float
    least: float
    most: float
    worst: Ids


def summarize_distances(sample: ReportSample, *, n_worst: int) -> DistanceSummary:
    """Summarize the distances of the sample's rows to their nearest prototypes."""
    distances = sample.distances
    least, most = float(distances.min()), float(distances.max())
    low = min(0.0, least)
    edges = np.linspace(low, most if most > low else least + 1, _N_BINS + 1)
    heights, _ = np.histogram(distances, edges, weights=sample.weights)
    counts, _ = np.histogram(distances, edges)
    return DistanceSummary(
        edges=edges,
        heights=heights,
        counts=counts.astype(np.int64),
        quantiles=weighted_quantiles(distances, sample.weights, SHARES),
        mean=float(distances @ sample.weights),
        least=least,
        most=most,
        worst=np.argsort(-distances, kind="stable")[:n_worst],
    )


def weighted_quantiles(values: Doubles, weights: Doubles, shares: tuple[float, ...]) -> Doubles:
    """Return, per share, the smallest value with at least this share of the weight up to it."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    # Rounding can leave a sum of equal weights just below a share.
    at = np.searchsorted(reached, np.array(shares) * reached[-1] * (1 - 1e-12))
    found: Doubles = values[order][np.minimum(at, len(values) - 1)]
    return found
