"""The nearest of those prototypes that came after a row was last looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.slices import equal_runs
from protobandit.metrics.operands import Operand

Fill: TypeAlias = Callable[[Operand, Operand, Floats], None]
FillPairs: TypeAlias = Callable[[Operand, Operand, Ids, Ids, Floats], None]

_FEW_ROWS = 8  # below which a product costs more than its pairs


def fill_nearest(
    sources: Operand,
    targets: Operand,
    since: Ids,
    nearest: Floats,
    *,
    fill: Fill,
    fill_pairs: FillPairs | None,
) -> None:
    """Set ``nearest[j]`` to min d(target j, sources[since[j]:]), but leave it where that is none.

    Target rows that start at the same source row are compared in one product, stragglers pair by
    pair where ``fill_pairs`` can.
    """
    runs, stragglers = equal_runs(since, 1 if fill_pairs is None else _FEW_ROWS)
    for rows in runs:
        some = sources.take(slice(int(since[rows[0]]), len(sources)))
        if len(some):
            block = np.empty((len(some), len(rows)), dtype=nearest.dtype)
            fill(some, targets.take(rows), block)
            nearest[rows] = block.min(axis=0)
    stragglers = stragglers[since[stragglers] < len(sources)]
    if len(stragglers) and fill_pairs is not None:
        at, rows, starts = _pairs(stragglers, since[stragglers], len(sources))
        values = np.empty(len(at), dtype=nearest.dtype)
        fill_pairs(sources, targets, at, rows, values)
        nearest[stragglers] = np.minimum.reduceat(values, starts)


def _pairs(rows: Ids, since: Ids, n: int) -> tuple[Ids, Ids, Ids]:
    """Return each row paired with the sources from its ``since`` to ``n``, and where it starts."""
    lengths = n - since
    starts = np.cumsum(lengths) - lengths
    at = np.arange(lengths.sum()) - np.repeat(starts - since, lengths)
    return at, np.repeat(rows, lengths), starts
