"""The target rows a report reads: all rows with weight, or a uniform sample of them.

And what the sample shows: the members of each prototype, and the distribution of distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.result.queries import Queries

N_SAMPLE = 20_000
NONE = -1  # no row
SHARES = (0.25, 0.5, 0.75, 0.9, 0.99)
_N_BINS = 48
_USUAL = 0.995  # share of the weight of rows that the histogram always shows
_ROOM = 1.5  # the largest extent of the histogram, in units of the distance of these rows
# Where a metric is expensive: the fewest rows to draw, and the most calls of the metric.
_LEAST_ROWS, _MOST_CALLS = 1_000, 2_000_000


class Nearest(NamedTuple):
    """Target rows, ascending, each with its nearest prototype and the distance to it."""

    ids: Ids
    labels: Ids
    distances: Doubles

    def at(self, ids: Ids) -> Nearest:
        """Return the entries of these target rows, in the order given."""
        places = np.searchsorted(self.ids, ids)
        return Nearest(ids, self.labels[places], self.distances[places])


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportSample:
    """Target rows, each with its nearest prototype, the distance to it, and its weight.

    ``ids`` are ascending. ``weights`` are positive, with sum 1 over the sample. ``n_weighted`` is
    the number of target rows with positive weight; None if all have.
    """

    ids: Ids
    labels: Ids
    distances: Doubles
    weights: Doubles
    n_target: int
    n_weighted: int | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_all(self) -> int:
        """Return the number of rows the sample was drawn from."""
        return self.n_target if self.n_weighted is None else self.n_weighted

    @property
    def is_whole(self) -> bool:
        """Return whether the sample contains every target row with positive weight."""
        return len(self) == self.n_all

    @property
    def is_weighted(self) -> bool:
        """Return whether weights differ."""
        return bool(np.ptp(self.weights) > 0)


def draw_sample(
    selection: Queries,
    rows: Any,
    *,
    weights: Any,
    n_sample: int | None,
    random: np.random.Generator,
) -> ReportSample:
    """Draw target rows without replacement and find the nearest prototype of each.

    Rows of weight 0 do not contribute to the cost and are never drawn.
    Cost: k evaluations per row drawn.
    """
    n_target = count_rows(rows)
    given = _as_weights(weights, n_target)
    require_integer(n_sample, "n_sample", allows_none=True)
    most = _default_size(selection) if n_sample is None else n_sample
    weighted = np.flatnonzero(given)
    ids = weighted
    if most < len(weighted):
        ids = weighted[np.sort(random.choice(len(weighted), most, replace=False))]
    found = find_nearest(selection, rows, ids)
    own = given[ids] / given[ids].max()  # so that the sum does not overflow
    return ReportSample(
        ids=ids,
        labels=found.labels,
        distances=found.distances,
        weights=own / own.sum(),
        n_target=n_target,
        n_weighted=len(weighted),
    )


def find_nearest(selection: Queries, rows: Any, ids: Ids) -> Nearest:
    """Return the nearest prototypes of the target rows ``ids``. Cost: k evaluations per row."""
    labels, distances = selection.assign(rows_at(rows, ids))
    return Nearest(ids, np.asarray(labels, dtype=np.int64), np.asarray(distances, dtype=np.float64))


def with_others(sample: ReportSample, others: Ids, selection: Queries, rows: Any) -> Nearest:
    """Return the nearest prototypes of the rows of a sample and of some other rows.

    Cost: k evaluations for each of the other rows that is not in the sample.
    """
    missing = np.setdiff1d(others, sample.ids)
    if len(missing) == 0:
        return Nearest(sample.ids, sample.labels, sample.distances)
    found = find_nearest(selection, rows, missing)
    ids = np.concatenate([sample.ids, missing])
    order = np.argsort(ids)
    return Nearest(
        ids[order],
        np.concatenate([sample.labels, found.labels])[order],
        np.concatenate([sample.distances, found.distances])[order],
    )


def count_rows(rows: Any) -> int:
    """Return the number of target rows; raise if there are none."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if n < 1:
        raise InvalidInput("The target has no rows. Pass at least one.")
    return int(n)


def rows_at(rows: Any, ids: Ids) -> Any:
    """Return some rows of an array, memory map, CSR matrix, frame, list or table of columns."""
    if isinstance(rows, (list, tuple)):
        return [rows[int(i)] for i in ids]
    if hasattr(rows, "iloc"):
        return rows.iloc[ids]
    return rows[ids] if hasattr(rows, "__getitem__") else rows.take(ids)


# -- members --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Members:
    """The nearest and the farthest members of each prototype, as positions in the sample.

    Both have one row per prototype, filled up with -1; no member is in both. ``counts`` and
    ``means`` are the number of members and their weighted mean distance; NaN without members.
    """

    nearest: Ids
    farthest: Ids
    counts: Ids
    means: Doubles

    def first(self, n: int) -> Members:
        """Return the members of the first ``n`` prototypes."""
        return Members(
            nearest=self.nearest[:n],
            farthest=self.farthest[:n],
            counts=self.counts[:n],
            means=self.means[:n],
        )


def find_members(sample: ReportSample, *, k: int, most: int) -> Members:
    """Return up to ``most`` nearest and ``most`` farthest members of each of ``k`` prototypes."""
    order = np.lexsort((sample.distances, sample.labels))
    counts = np.bincount(sample.labels, minlength=k)
    nearest, farthest = (np.full((k, most), NONE, dtype=np.int64) for _ in range(2))
    ends = np.cumsum(counts)
    labels = sample.labels[order]
    place = np.arange(len(order)) - (ends - counts)[labels]  # among the members, nearest first
    from_end = counts[labels] - 1 - place
    is_near = place < np.minimum(most, -(-counts // 2))[labels]
    is_far = ~is_near & (from_end < most)
    nearest[labels[is_near], place[is_near]] = order[is_near]
    farthest[labels[is_far], from_end[is_far]] = order[is_far]
    mass = np.bincount(sample.labels, sample.weights, minlength=k)
    total = np.bincount(sample.labels, sample.weights * sample.distances, minlength=k)
    means = np.divide(total, mass, out=np.full(k, np.nan), where=mass > 0)
    return Members(nearest=nearest, farthest=farthest, counts=counts, means=means)


# -- distances ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class DistanceSummary:
    """The distribution of distances to the nearest prototype.

    ``heights`` and ``counts`` are the share of the weight and the number of rows in each bin of a
    histogram, which ends before few rows that are much farther; their share is ``beyond``.
    ``quantiles`` and ``mean`` are weighted; the former are those of ``SHARES``.
    ``worst`` holds positions in the sample of the rows with the largest distances, largest first.
    """

    edges: Doubles
    heights: Doubles
    counts: Ids
    quantiles: Doubles
    mean: float
    least: float
    most: float
    worst: Ids
    beyond: float = 0.0


def summarize_distances(sample: ReportSample, *, n_worst: int) -> DistanceSummary:
    """Summarize the distances of the sample's rows to their nearest prototypes."""
    distances = sample.distances
    least, most = float(distances.min()), float(distances.max())
    low = min(0.0, least)
    (usual,) = weighted_quantiles(distances, sample.weights, (_USUAL,))
    end = low + _ROOM * (usual - low)
    high = end if low < end < most else most
    edges = np.linspace(low, high if high > low else least + 1, _N_BINS + 1)
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
        beyond=float(sample.weights[distances > edges[-1]].sum()),
    )


def weighted_quantiles(values: Doubles, weights: Doubles, shares: tuple[float, ...]) -> Doubles:
    """Return, per share, the smallest value with at least this share of the weight up to it."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    # Rounding can leave a sum of equal weights just below a share.
    at = np.searchsorted(reached, np.array(shares) * reached[-1] * (1 - 1e-12))
    found: Doubles = values[order][np.minimum(at, len(values) - 1)]
    return found


def _default_size(selection: Queries) -> int:
    """Return how many rows to draw if the user does not say."""
    metric = selection.metric
    if isinstance(metric, str) or not metric.is_expensive:
        return N_SAMPLE
    return int(np.clip(_MOST_CALLS // len(selection.indices), _LEAST_ROWS, N_SAMPLE))


def _as_weights(weights: Any, n: int) -> Doubles:
    if weights is None:
        return np.ones(n)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(
            f"weights have shape {values.shape} for {n} target rows, or contain a negative or "
            f"non-finite value. Pass one finite number >= 0 per target row."
        )
    if not values.any():
        raise InvalidInput("weights are all 0. Pass a positive weight for at least one target row.")
    return values
