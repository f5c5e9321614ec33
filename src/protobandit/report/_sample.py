"""The target rows a report looks at: all of them, or some drawn evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._typing import Doubles, Ids

N_SAMPLE = 20_000
_LEAST, _MOST_CALLS = 1_000, 2_000_000  # rows, and calls of a function of the user's own


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Target rows, each with its nearest prototype, the distance to it, and its weight.

    ``ids`` ascend; ``weights`` sum to 1 over the sample; ``n_target`` is how many there are in all.
    """

    ids: Ids
    labels: Ids
    distances: Doubles
    weights: Doubles
    n_target: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_whole(self) -> bool:
        """Return whether every target row is in it."""
        return len(self) == self.n_target


def draw(
    selection: Any, rows: Any, *, weights: Any, n_sample: int | None, random: np.random.Generator
) -> Sample:
    """Draw target rows without replacement and ask which prototype is nearest to each.

    Cost: k evaluations a row drawn.
    """
    n_target = length(rows)
    given = _as_weights(weights, n_target)
    most = _fitting(selection) if n_sample is None else n_sample
    if most < 1:
        raise InvalidInput(f"n_sample={n_sample!r} is not a number of rows. Pass 1 or more.")
    ids = np.arange(n_target)
    if most < n_target:
        ids = np.sort(random.choice(n_target, most, replace=False))
    labels, distances = selection.assign(taken(rows, ids))
    own = given[ids]
    return Sample(
        ids=ids,
        labels=np.asarray(labels, dtype=np.int64),
        distances=np.asarray(distances, dtype=np.float64),
        weights=own / own.sum() if own.sum() > 0 else np.full(len(ids), 1 / len(ids)),
        n_target=n_target,
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
        return np.full(n, 1 / n)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(
            f"weights have shape {values.shape} for {n} target rows, or hold a negative or "
            f"non-finite value. Pass one finite number >= 0 a target row."
        )
    if values.sum() <= 0:
        raise InvalidInput("weights are all 0. Give at least one target row some weight.")
    return values
