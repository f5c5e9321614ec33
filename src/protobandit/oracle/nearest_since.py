"""The distance of a target row to the nearest of the prototypes that are new to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.slices import equal_runs
from protobandit.metrics.operands import Operand

Fill: TypeAlias = Callable[[Operand, Operand, Floats], None]
FillPairs: TypeAlias = Callable[[Operand, Operand, Ids, Ids, Floats], None]

_FEW_ROWS = 8  # below this many a product costs more than the single pairs


def fill_nearest(
    sources: Operand,
    targets: Operand,
    since: Ids,
    nearest: Floats,
    *,
    fill: Fill,
    fill_pairs: FillPairs | None,
) -> None:
    """Set ``nearest[j]`` to min d(target j, sources[since[j]:]); leave it where that is empty.

    Target rows that start at the same source row are compared in one product; the others pair by
    pair, if ``fill_pairs`` is given.
    """
    runs, rest = equal_runs(since, 1 if fill_pairs is None else _FEW_ROWS)
    for rows in runs:
        some = sources.take(slice(int(since[rows[0]]), len(sources)))
        if len(some):
            block = np.empty((len(some), len(rows)), dtype=nearest.dtype)
            fill(some, targets.take(rows), block)
            nearest[rows] = block.min(axis=0)
    rest = rest[since[rest] < len(sources)]
    if len(rest) and fill_pairs is not None:
        at, rows, starts = _pairs(rest, since[rest], len(sources))
        values = np.empty(len(at), dtype=nearest.dtype)
        fill_pairs(sources, targets, at, rows, values)
        nearest[rest] = np.minimum.reduceat(values, starts)


def _pairs(rows: Ids, since: Ids, n: int) -> tuple[Ids, Ids, Ids]:
    """Return pairs of each row with the sources from its ``since`` on, and each row's start."""
    lengths = n - since
    starts = np.cumsum(lengths) - lengths
    at = np.arange(lengths.sum()) - np.repeat(starts - since, lengths)
    return at, np.repeat(rows, lengths), starts
