"""The target rows a report looks at: all that have weight, or some of them drawn evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput

N_SAMPLE = 20_000
_LEAST, _MOST_CALLS = 1_000, 2_000_000  # rows, and calls of a function of the user's own


class Nearest(NamedTuple):
    """Target rows, ascending, each with its nearest prototype and the distance to it."""

    ids: Ids
    labels: Ids
    distances: Doubles

    def of(self, ids: Ids) -> Nearest:
        """Return some of them, in the order given."""
        at = np.searchsorted(self.ids, ids)
        return Nearest(ids, self.labels[at], self.distances[at])


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportSample:
    """Target rows, each with its nearest prototype, the distance to it, and its weight.

    ``ids`` ascend; ``weights`` are positive and sum to 1 over the sample. There are ``n_target``
    rows in all; ``n_weighted`` of them have weight, or all where it is None.
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
        """Return how many rows it could have been drawn from."""
        return self.n_target if self.n_weighted is None else self.n_weighted

    @property
    def is_whole(self) -> bool:
        """Return whether every target row that has weight is in it."""
        return len(self) == self.n_all

    @property
    def is_weighted(self) -> bool:
        """Return whether some rows count more than others."""
        return bool(np.ptp(self.weights) > 0)


def draw(
    selection: Any, rows: Any, *, weights: Any, n_sample: int | None, random: np.random.Generator
) -> ReportSample:
    """Draw target rows without replacement and ask which prototype is nearest to each.

    Rows of weight 0 are no part of what prototypes stand for, and never drawn.
    Cost: k evaluations a row drawn.
    """
    n_target = length(rows)
    given = _as_weights(weights, n_target)
    most = _fitting(selection) if n_sample is None else n_sample
    if most < 1:
        raise InvalidInput(f"n_sample={n_sample!r} is not a number of rows. Pass 1 or more.")
    weighted = np.flatnonzero(given)
    ids = weighted
    if most < len(weighted):
        ids = weighted[np.sort(random.choice(len(weighted), most, replace=False))]
    found = nearest(selection, rows, ids)
    own = given[ids] / given[ids].max()  # so that no sum overflows
    return ReportSample(
        ids=ids,
        labels=found.labels,
        distances=found.distances,
        weights=own / own.sum(),
        n_target=n_target,
        n_weighted=len(weighted),
    )


def nearest(selection: Any, rows: Any, ids: Ids) -> Nearest:
    """Ask which prototype is nearest to these rows. Cost: k evaluations a row."""
    labels, distances = selection.assign(taken(rows, ids))
    return Nearest(ids, np.asarray(labels, dtype=np.int64), np.asarray(distances, dtype=np.float64))


def with_others(sample: ReportSample, others: Ids, selection: Any, rows: Any) -> Nearest:
    """Return the rows of a sample and others with the prototypes nearest to them.

    Cost: k evaluations for each of the others that is not in the sample.
    """
    missing = np.setdiff1d(others, sample.ids)
    if len(missing) == 0:
        return Nearest(sample.ids, sample.labels, sample.distances)
    found = nearest(selection, rows, missing)
    ids = np.concatenate([sample.ids, missing])
    order = np.argsort(ids)
    return Nearest(
        ids[order],
        np.concatenate([sample.labels, found.labels])[order],
        np.concatenate([sample.distances, found.distances])[order],
    )


def length(rows: Any) -> int:
    """Return how many rows there are."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if n < 1:
        raise InvalidInput("The target has no rows. Pass at least one.")
    return int(n)


def taken(rows: Any, ids: Ids) -> Any:
    """Return some rows of an array, memory map, CSR matrix, frame, list or table of columns."""
    if isinstance(rows, (list, tuple)):
        return [rows[int(i)] for i in ids]
    if hasattr(rows, "iloc"):
        return rows.iloc[ids]
    return rows[ids] if hasattr(rows, "__getitem__") else rows.take(ids)


def _fitting(selection: Any) -> int:
    if not getattr(selection.metric, "is_expensive", False):
        return N_SAMPLE
    return int(np.clip(_MOST_CALLS // len(selection.indices), _LEAST, N_SAMPLE))


def _as_weights(weights: Any, n: int) -> Doubles:
    if weights is None:
        return np.ones(n)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(
            f"weights have shape {values.shape} for {n} target rows, or hold a negative or "
            f"non-finite value. Pass one finite number >= 0 a target row."
        )
    if not values.any():
        raise InvalidInput("weights are all 0. Give at least one target row some weight.")
    return values
