"""Coverage of a full table, added to arm by arm at once."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.kernels import greedy as greedy_kernels
from protobandit.oracle.tables import FullTable
from protobandit.search.objectives.coverage import ExactCoverage


def lead(
    coverage: ExactCoverage, table: FullTable, arms: Ids, upper: Doubles, n: int
) -> tuple[Ids, Doubles]:
    """Return up to ``n`` of ``arms`` that gain most, each beside those before it, and their gains.

    Fewer where nothing is left to gain. ``upper`` bounds the gains of all arms of the table.
    """
    chosen, gains = np.full(n, -1, dtype=np.int64), np.zeros(n)
    weights, nearest = coverage.weights, coverage.nearest.copy()
    total, n_rows = float(weights.sum()), len(nearest)
    heap = arms[np.argsort(-upper[arms], kind="stable")]
    n_looked = greedy_kernels.lazy_greedy(
        table.matrix, weights, total, nearest, upper.copy(), heap, chosen, gains
    )
    found = chosen >= 0
    table.oracle.look_up((n_looked + int(found.sum())) * n_rows)
    return chosen[found], gains[found]
