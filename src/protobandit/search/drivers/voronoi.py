"""Voronoi iteration: each cell takes its most central arm as prototype, until none changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.search.drivers.full_swaps import Pass
from protobandit.search.objectives.medoids import Medoids, cell_costs, nearest_rows

_ROUNDING = 1e-12


def voronoi_passes(medoids: Medoids, *, last: Pass | None = None) -> Iterator[Pass]:
    """Replace each prototype by the arm of its cell with the least summed distance to the cell.

    A cell is the target rows whose nearest prototype is the same. An arm belongs to the cell of its
    nearest target row. If source and target are the same rows, that is the arm itself.

    ``last`` is the last pass of an earlier run, which has counted the lookups of nearest rows.

    Reference: Maranzana (1963); Park, Jun (2009).
    """
    counts = medoids.table.oracle.counts
    counted = counts.snapshot()
    rows = nearest_rows(medoids.table)
    if last is not None:
        counts.restore(counted)
    while True:
        n_moved = _recentre(medoids, rows)
        yield Pass(n_moved, is_last=n_moved == 0)
        if n_moved == 0:
            return


def _recentre(medoids: Medoids, rows: Ids) -> int:
    """Make each cell's most central arm its prototype; return how many have changed."""
    cells = medoids.near[rows].astype(np.int64)
    cells[medoids.members] = np.arange(medoids.k)  # otherwise two cells might take the same arm
    costs = cell_costs(medoids, cells)
    best_first = np.lexsort((costs, cells))
    edges = np.searchsorted(cells[best_first], np.arange(medoids.k + 1))
    limits = costs[medoids.members] * (1 - _ROUNDING)
    n_moved = 0
    for slot in range(medoids.k):
        own = best_first[edges[slot] : edges[slot + 1]]
        own = own[medoids.may_enter(own, slot)]
        if len(own) and costs[own[0]] < limits[slot]:
            medoids.set_slot(slot, int(own[0]))
            n_moved += 1
    if n_moved:
        medoids.update()
    return n_moved
