"""How far target rows are from their nearest prototype."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.sample import ReportSample

SHARES = (0.25, 0.5, 0.75, 0.9, 0.99)
_N_BINS = 48


@dataclass(frozen=True, kw_only=True, eq=False)
class DistanceSummary:
    """A histogram of distances by weight, quantiles, and the rows that are worst off.

    ``heights`` sum to 1 and ``counts`` to the rows looked at; ``quantiles`` belong to ``SHARES``;
    ``worst`` are positions in the sample, worst first.
    """

    edges: Doubles
    heights: Doubles
    counts: Ids
    quantiles: Doubles
    mean: float
    least: float
    most: float
    worst: Ids


def spread(sample: ReportSample, *, n_worst: int) -> DistanceSummary:
    """Describe the distances of the sample's rows to their nearest prototypes."""
    distances = sample.distances
    least, most = float(distances.min()), float(distances.max())
    edges = np.linspace(min(0.0, least), most if most > min(0.0, least) else least + 1, _N_BINS + 1)
    heights, _ = np.histogram(distances, edges, weights=sample.weights)
    counts, _ = np.histogram(distances, edges)
    return DistanceSummary(
        edges=edges,
        heights=heights,
        counts=counts.astype(np.int64),
        quantiles=quantiles(distances, sample.weights, SHARES),
        mean=float(distances @ sample.weights),
        least=least,
        most=most,
        worst=np.argsort(-distances, kind="stable")[:n_worst],
    )


def quantiles(values: Doubles, weights: Doubles, shares: tuple[float, ...]) -> Doubles:
    """Return the least values below which at least these shares of the weight lie."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    # A sum of equal weights may fall short of a share by rounding.
    at = np.searchsorted(reached, np.array(shares) * reached[-1] * (1 - 1e-12))
    found: Doubles = values[order][np.minimum(at, len(values) - 1)]
    return found
