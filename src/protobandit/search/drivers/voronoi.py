"""Voronoi iteration: every cell takes its own most central arm, until none moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.search.drivers.full_swaps import Pass
from protobandit.search.objectives.medoids import Medoids, cell_costs, nearest_rows

_ROUNDING = 1e-12


def voronoi_passes(medoids: Medoids, *, last: Pass | None = None) -> Iterator[Pass]:
    """Replace each prototype by the arm of its cell at the least summed distance from the cell.

    A cell is the target rows nearest to a prototype. An arm is in the cell of the row nearest to
    it: where source and target are the same, that is its own.

    ``last`` is the last pass of an earlier run, which has counted the lookups of nearest rows.

    Reference: Maranzana (1963); Park, Jun (2009).
    """
    counts = medoids.table.oracle.counts
    counted = counts.snapshot()
    rows = nearest_rows(medoids.table)
    if last is not None:
        counts.restore(counted)
    while True:
        n_moved = _move(medoids, rows)
        yield Pass(n_moved, is_last=n_moved == 0)
        if n_moved == 0:
            return


def _move(medoids: Medoids, rows: Ids) -> int:
    homes = medoids.near[rows].astype(np.int64)
    homes[medoids.members] = np.arange(medoids.k)  # or another cell might take it too
    costs = cell_costs(medoids, homes)
    best_first = np.lexsort((costs, homes))
    edges = np.searchsorted(homes[best_first], np.arange(medoids.k + 1))
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
