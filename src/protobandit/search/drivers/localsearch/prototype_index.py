"""A two-level index of many prototypes: near ones are found without comparing with all.

Theory of operation
-------------------
About 2 sqrt(k) prototypes are *pivots*. Every prototype belongs to its nearest pivot. A row is
compared with the pivots, and then with the prototypes of the pivots around its nearest one. That is
about 14 sqrt(k) evaluations per row instead of k. The result may miss a near prototype; every
distance in it is correct. Prototypes are compared with pivots, so the metric must apply to two
source rows: it does, unless it is a user's function or a matrix.
"""

from __future__ import annotations

import math

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.metrics.metrics import Metric
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.patches import Patches
from protobandit.search.drivers.localsearch.lists import (
    Positions,
    RowsBySlot,
    empty_lists,
    insert,
    row_patches,
)

LEAST_PROTOTYPES = 2000  # below, comparing with all is as fast
AROUND = 24  # pivots whose prototypes are compared with a row
_PIVOTS = 2.0  # times sqrt(k)
_ENTRIES = 1 << 17  # distances of one patch


def can_index(metric: Metric) -> bool:
    """Return whether prototypes can be compared with each other."""
    return not metric.is_own and metric.name != "precomputed"


def n_pivots_of(k: int) -> int:
    """Return the number of pivots among k prototypes."""
    return math.ceil(_PIVOTS * math.sqrt(k))


def indexed_lists(
    oracle: Oracle, targets: Operand, prototypes: Ids, n_near: int, random: np.random.Generator
) -> tuple[Positions, Floats]:
    """Return near prototypes of each target row and their distances, found by an index."""
    k, n_pivots = len(prototypes), n_pivots_of(len(prototypes))
    pivots = np.sort(random.choice(k, n_pivots, replace=False))
    sources = oracle.sources(prototypes)
    ends = sources.take(pivots)
    members = RowsBySlot.of(oracle, _compared(oracle, sources, ends, 1), n_pivots)
    around = _compared(oracle, ends, ends, min(AROUND, n_pivots))
    rows = RowsBySlot.of(oracle, _compared(oracle, targets, ends, 1), n_pivots)
    used = np.flatnonzero(rows.n_own)
    candidates = [np.concatenate([members.of_slot(p) for p in around[g]]) for g in used]
    patches, _ = row_patches(
        rows.rows,
        rows.own_ranges(used),
        np.concatenate(candidates),
        np.array([len(some) for some in candidates]),
    )
    slots, gaps = empty_lists(oracle, len(targets), n_near)
    insert(oracle, patches, targets, sources, patches.candidate_ids, slots, gaps)
    return slots, gaps


def _compared(oracle: Oracle, rows: Operand, pivots: Operand, n_near: int) -> Positions:
    """Return the nearest pivots of each row."""
    n, k = len(rows), len(pivots)
    first = np.arange(0, n, max(1, _ENTRIES // k))
    patches = Patches(
        row_ids=np.arange(n, dtype=np.int32),
        first=first,
        last=np.append(first[1:], n),
        candidate_ids=np.arange(k, dtype=np.int32),
        begin=np.zeros(len(first), dtype=np.int64),
        end=np.full(len(first), k),
    )
    slots, gaps = empty_lists(oracle, n, n_near)
    insert(oracle, patches, rows, pivots, patches.candidate_ids, slots, gaps)
    return slots
