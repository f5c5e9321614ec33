"""Local search for a source in parts: on a sample first, then by passes over all parts.

Theory of operation
-------------------
1. The stages of local search run on the sample, which the driver holds.
2. A pass: every part proposes moves (`part_moves.propose`), judged on some rows of the target
   sample. The driver merges them: for each cell the best few, by their gain and then by their row
   number. It judges these on the whole target sample and makes moves by the ordinary pass of local
   search with these candidates as its pool, so every move lowers the cost on the target sample.
   (Parts propose many more candidates than one machine judges. If they judged them on the whole
   sample, a pass would take several times as long, for the same result: 10^6 rows, k = 500.)
3. Passes end when one gains less than the stage requires, or after `MOST_PASSES`.

The driver has all state: prototypes, target sample, lists. Tasks are pure, so the result depends on
the parts, the seed and nothing else. A checkpoint has the prototypes after the last pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, require_restorable, weights_or_ones
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.problem import Problem
from protobandit.rows.partitioned_rows import PartitionedRows
from protobandit.rows.rows import DenseRows
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.local_search import LEAST_GAIN, LocalSearch
from protobandit.search.drivers.localsearch.part_moves import Judges, Moves, propose
from protobandit.search.drivers.localsearch.pools import SourcePool
from protobandit.search.drivers.localsearch.schedule import Stage
from protobandit.search.drivers.localsearch.stages import Found, StagedSearch

MOST_PASSES = 3
EXPECTED_PASSES = 2
_MOST_MOVES = 4  # passes of the driver over the moves of one pass
_KEPT = 12  # additions, and replacements, per cell that the driver judges again
_PRUNED = 64  # moves per cell, from which the driver drops the worst while parts arrive
_SCREENED = 256  # judged rows per prototype on which parts judge their candidates
_LEAST_SCREENED = 1 << 15
_STATE = "parts"


@dataclass(frozen=True, eq=False)
class FoundInParts:
    """What a search in parts has found.

    ``oracle`` is that of the prototypes and the target sample: ``found.prototypes`` are rows of its
    source. ``ids`` are their numbers in the collection.
    """

    oracle: Oracle
    found: Found
    ids: Ids
    n_passes: int


class PartSearch:
    """Prototypes of a collection that passes over its parts improve.

    Parameters
    ----------
    staged
        The search on the sample; its oracle is that of the sample.
    source
        The collection.
    """

    def __init__(self, staged: StagedSearch, source: PartitionedRows) -> None:
        self._staged = staged
        self._source = source
        self._oracle = staged.oracle
        self._random = staged.random
        self._control: SearchControl = staged.control
        self._stage: Stage = staged.stages[-1]
        self._sample: Problem = staged.oracle.problem
        self.n_passes = 0
        self.found: Found | None = None
        self.ids: Ids = np.empty(0, dtype=np.int64)
        self._rows: Any = None
        self._is_done = False

    def run(self) -> FoundInParts:
        """Return the prototypes after all passes, or when something ends the search."""
        saved = self._control.states.restore(_STATE)
        if saved is None:
            found = self._staged.run()
            self._set(found, self._source.sampled.ids[found.prototypes])
            self._rows = self._sample.source.take(found.prototypes)
            self._is_done = self._control.stopped is not None
            if not self._is_done:
                self._save()
        else:
            self._restore(saved)
        try:
            while not self._is_done and self.n_passes < MOST_PASSES:
                if not self._control.allows(self._pass_evaluations()):
                    break
                self._make_pass()
                self._save()
        except Halt:
            self._control.stop()
        self._source.keep(self.ids, self._rows)
        assert self.found is not None
        return FoundInParts(self._oracle_of(self._rows), self.found, self.ids, self.n_passes)

    def _set(self, found: Found, ids: Ids) -> None:
        self.found = replace(found, prototypes=np.arange(len(found.prototypes)))
        self.ids = ids

    def _pass_evaluations(self) -> int:
        return pass_evaluations(
            len(self._source), len(self.ids), self._stage, len(self._sample.target)
        )

    # -- a pass ---------------------------------------------------------------------------------

    def _make_pass(self) -> None:
        """Let all parts propose moves, and make the best."""
        control, found = self._control, self.found
        assert found is not None
        n_parts, number = len(self._source.lengths), self.n_passes + 1
        judged = self._judged()
        before = judged.summed
        moves = self._proposed(judged, number, n_parts)
        control.report(f"pass {number}, merging", n_picked=len(self.ids), cost=judged.cost)
        n_moves, after, mass = self._moved(judged, moves) if len(moves) else (0, before, found.mass)
        gain = 1 - after / before if before > 0 else 0.0
        self.n_passes = number
        self._is_done = gain < self._stage.least_gain
        self.found = replace(
            found, mass=mass, n_moves=found.n_moves + n_moves, n_passes=found.n_passes + 1
        )

    def _judged(self) -> JudgedRows:
        """Return the target sample with lists of the current prototypes."""
        oracle, target = self._oracle_of(self._rows), self._sample.target
        weights = weights_or_ones(self._sample.weights, len(target))
        every, k = np.arange(len(target)), len(self.ids)
        width = self._stage.width
        judged = JudgedRows.assigned(
            oracle, every, weights / weights.max(), np.arange(k), width.n_near, self._random
        )
        judged.find_common(k, width.n_common)
        return judged

    def _proposed(self, judged: JudgedRows, number: int, n_parts: int) -> Moves:
        """Return the best moves of all parts, with row numbers of the collection."""
        source, k, control = self._source, len(self.ids), self._control
        cost, judged = judged.cost, self._screening(judged)
        least = LEAST_GAIN * judged.summed
        judges = Judges(
            metric=self._sample.metric,
            rows=self._sample.target.take(judged.ids),
            weights=judged.weights,
            slots=judged.slots,
            gaps=judged.gaps,
            common=judged.common,
            prototypes=self._rows,
            width=self._stage.width,
            seed=int(self._random.integers(2**63)),
            least_gain=float(judged.losses(judged.near, k).min()) + least,
            least_change=least,
        )

        def look(n_done: int) -> None:
            control.report(f"pass {number}, part {n_done} of {n_parts}", n_picked=k, cost=cost)
            if control.is_interrupted():
                raise Halt

        moves = Moves.none(source.n_columns or 0, self._rows.dtype)
        for part, own in source.run(propose, judges, doing=f"pass {number}", look=look):
            moves = moves.joined(replace(own, ids=source.starts[part] + own.ids))
            if len(moves) > _PRUNED * k:
                moves = moves.best(_KEPT)
        self._oracle.evaluations[self._oracle.phase] += moves.evaluations
        is_new = ~np.isin(moves.ids, self.ids)
        return replace(
            moves,
            **{
                name: getattr(moves, name)[is_new]
                for name in ("ids", "rows", "cells", "gains", "changes")
            },
        ).best(_KEPT)

    def _screening(self, judged: JudgedRows) -> JudgedRows:
        """Return some of the judged rows, with their lists."""
        n = max(_LEAST_SCREENED, _SCREENED * len(self.ids))
        if n >= len(judged.ids):
            return judged
        some = np.sort(self._random.choice(len(judged.ids), n, replace=False))
        return replace(
            judged,
            ids=judged.ids[some],
            weights=judged.weights[some],
            targets=judged.targets.take(some),
            slots=judged.slots[some],
            gaps=judged.gaps[some],
        )

    def _moved(self, judged: JudgedRows, moves: Moves) -> tuple[int, float, Doubles]:
        """Make moves on the target sample; return their number, the summed cost and the masses."""
        k, width = len(self.ids), self._stage.width
        rows = np.concatenate([self._rows, moves.rows.astype(self._rows.dtype, copy=False)])
        oracle = self._oracle_of(rows)
        own = replace(judged, oracle=oracle, targets=oracle.targets(judged.ids))
        pool = SourcePool(own, k + np.arange(len(moves)), k, is_held=True)
        search, n_moves = LocalSearch(own, pool, np.arange(k), width, self._random), 0
        for _ in range(_MOST_MOVES):
            gain, n = search.make_pass()
            n_moves += n
            if gain < self._stage.least_gain:
                break
        ids = np.concatenate([self.ids, moves.ids])
        self.ids, self._rows = ids[search.prototypes], rows[search.prototypes]
        mass = np.bincount(own.slots[:, 0], own.weights, k).astype(np.float64)
        return n_moves, own.summed, mass

    def _oracle_of(self, rows: Any) -> Oracle:
        """Return the oracle of some source rows and the target sample."""
        oracle = self._oracle.beside(
            Problem(
                source=DenseRows(rows, name="source", dtype=self._sample.source.dtype),
                target=self._sample.target,
                metric=self._sample.metric,
                weights=self._sample.weights,
                k=len(self.ids),
                feasibility=Feasibility.none(len(rows)),
            )
        )
        oracle.phase = self._oracle.phase
        return oracle

    # -- checkpoints ----------------------------------------------------------------------------

    def _save(self) -> None:
        found = self.found
        assert found is not None
        values = {
            "n_passes": self.n_passes,
            "is_done": self._is_done,
            "counts": [found.n_rows, found.n_moves, found.n_passes],
        }
        arrays = {"ids": self.ids, "rows": self._rows, "mass": found.mass.copy()}
        self._control.states.save(_STATE, SavedState(values, arrays), instead_of="local search")

    def _restore(self, saved: SavedState) -> None:
        ids, rows, mass = (saved.arrays[name] for name in ("ids", "rows", "mass"))
        k = self._sample.k
        require_restorable(
            ids.shape == (k,)
            and are_within(ids, 0, len(self._source))
            and rows.shape == (k, self._source.n_columns)
            and rows.dtype == self._sample.source.dtype
            and mass.shape == (k,),
            "prototypes",
        )
        self.found = Found(np.arange(k), mass, *saved.values["counts"])
        self.ids, self._rows = ids.copy(), rows.copy()
        self.n_passes, self._is_done = saved.values["n_passes"], saved.values["is_done"]


def pass_evaluations(n_source: int, k: int, stage: Stage, n_judged: int) -> int:
    """Return about how many evaluations a pass over all parts has."""
    return n_source * (k + stage.width.n_probes) + n_judged * k
