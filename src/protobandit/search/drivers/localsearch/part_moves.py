"""The pass of local search over one part of the source: a pure function, the task of a pass.

A task gets the judged rows with their lists of near prototypes (`Judges`). It draws candidates from
its part and judges them as a pass on one machine does, with the same code. It returns, for every
cell, the best candidate to add and the best to replace the prototype, if they can lower the cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.problem import Problem
from protobandit.rows.parts import PartRows, writable
from protobandit.rows.rows import DenseRows
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.lists import Positions, RowsBySlot
from protobandit.search.drivers.localsearch.local_search import LocalSearch
from protobandit.search.drivers.localsearch.pools import SourcePool
from protobandit.search.drivers.localsearch.schedule import Width

# Candidates of a part per cell, on average over all cells: parts together have many more than one
# machine judges. A part that has rows of few cells judges more in each.
_CANDIDATES = 8
_DRAWN_SHARE = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Judges:
    """What all tasks of a pass share: judged rows, their lists, and the prototypes.

    An addition is proposed if it gains more than ``least_gain``, a replacement if the cost falls by
    more than ``least_change``.
    """

    metric: Metric
    rows: np.ndarray[Any, Any]
    weights: Doubles
    slots: Positions
    gaps: Floats
    common: Positions
    prototypes: np.ndarray[Any, Any]
    width: Width
    seed: int
    least_gain: float
    least_change: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Moves:
    """Candidates for moves: rows of a part, or of all parts.

    ``gains`` is what each saves as an additional prototype, ``changes`` how the cost changes if it
    replaces the prototype of its cell; 0 where it is not the best of its cell and part.
    """

    ids: Ids
    rows: np.ndarray[Any, Any]
    cells: Ids
    gains: Doubles
    changes: Doubles
    evaluations: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def best(self, n: int) -> Moves:
        """Return the ``n`` best additions and the ``n`` best replacements of every cell.

        Equal ones are ordered by their row numbers, so the result does not depend on the order in
        which parts were added.
        """
        kept = np.zeros(len(self), dtype=bool)
        for worth in (-self.gains, self.changes):
            order = np.lexsort((self.ids, worth, self.cells))
            cells = self.cells[order]
            rank = np.arange(len(order)) - np.searchsorted(cells, cells)
            kept[order[(rank < n) & (worth[order] < 0)]] = True
        order = np.flatnonzero(kept)
        order = order[np.argsort(self.ids[order], kind="stable")]
        return Moves(
            ids=self.ids[order],
            rows=self.rows[order],
            cells=self.cells[order],
            gains=self.gains[order],
            changes=self.changes[order],
            evaluations=self.evaluations,
        )

    def joined(self, other: Moves) -> Moves:
        """Return these candidates and others."""
        return Moves(
            ids=np.concatenate([self.ids, other.ids]),
            rows=np.concatenate([self.rows, other.rows]),
            cells=np.concatenate([self.cells, other.cells]),
            gains=np.concatenate([self.gains, other.gains]),
            changes=np.concatenate([self.changes, other.changes]),
            evaluations=self.evaluations + other.evaluations,
        )

    @staticmethod
    def none(n_columns: int, dtype: Any) -> Moves:
        """Return no candidates."""
        return Moves(
            ids=np.empty(0, dtype=np.int64),
            rows=np.empty((0, n_columns), dtype=dtype),
            cells=np.empty(0, dtype=np.int64),
            gains=np.empty(0),
            changes=np.empty(0),
        )


def propose(part: PartRows, judges: Judges, number: int) -> Moves:
    """Return the best moves that the rows of a part offer; row numbers are those in the part."""
    n, k, dtype = len(part), len(judges.prototypes), judges.rows.dtype
    # The prototypes come last: a search needs them among its source rows.
    rows = np.concatenate([part.numbers.astype(dtype, copy=False), judges.prototypes])
    problem = Problem(
        source=DenseRows(rows, name="source", dtype=dtype),
        target=DenseRows(writable(judges.rows), name="target", dtype=dtype),
        metric=judges.metric,
        weights=None,
        k=k,
        feasibility=Feasibility.none(n + k),
    )
    oracle = Oracle(problem, n_jobs=1)
    every = np.arange(len(judges.rows))
    judged = JudgedRows(
        oracle,
        every,
        writable(judges.weights),
        oracle.targets(slice(0, len(every))),
        writable(judges.slots),
        writable(judges.gaps),
        writable(judges.common),
    )
    pool = SourcePool(judged, np.arange(n), k, is_held=True)
    n_present = len(np.unique(pool.slots))
    n_candidates = min(judges.width.n_candidates, -(-_CANDIDATES * k // n_present))
    width = replace(
        judges.width, n_candidates=n_candidates, n_drawn=max(1, n_candidates // _DRAWN_SHARE)
    )
    random = np.random.default_rng([judges.seed, number])
    search = LocalSearch(judged, pool, n + np.arange(k), width, random)
    found = search.proposals(RowsBySlot.of(judged.oracle, judged.slots, k), judged.near)
    adds, replaces = found.gains > judges.least_gain, found.changes < -judges.least_change
    cells = np.concatenate([found.cells[adds], np.flatnonzero(replaces)])
    ids = np.concatenate([found.additions[adds], found.replacements[replaces]])
    gains = np.concatenate([found.gains[adds], np.zeros(replaces.sum())])
    ids, first = np.unique(ids, return_index=True)
    cells = cells[first]
    return Moves(
        ids=ids,
        rows=np.array(part.numbers[ids]),
        cells=cells,
        gains=gains[first],
        changes=np.where(found.replacements[cells] == ids, found.changes[cells], 0.0),
        evaluations=oracle.evaluations.total(),
    )
