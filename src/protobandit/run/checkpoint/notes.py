"""What a search writes down for another to go on from, and how far its works have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.observer import SavedStage, Work

KEPT = "kept"  # how the names of scans begin whose distances are kept
_MOST_SUMS = 1 << 28  # bytes of sums that are written down again and again


@dataclass
class Record:
    """How far a work has come, and where what it has filled can be read again.

    ``offsets`` says where the shelf has the part of each task, of works that are kept; ``sums`` is
    the whole array of others, which are small. ``is_past`` tells whether the search has been noted
    to be further on since.
    """

    name: str
    keys: tuple[Ids, ...]
    n_tasks: int
    n_done: int = 0
    offsets: list[int] = field(default_factory=list)
    sums: Any = None
    is_past: bool = False
    work: Work | None = None

    def is_of(self, work: Work) -> bool:
        """Tell whether this is a record of the same work, done by an earlier run."""
        is_alike = (self.name, self.n_tasks, len(self.keys)) == (
            work.name,
            len(work.tasks),
            len(work.keys),
        )
        return is_alike and all(
            np.array_equal(a, b) for a, b in zip(self.keys, work.keys, strict=True)
        )

    @property
    def n_written(self) -> int:
        """Return how many tasks need not be done again."""
        return len(self.offsets) if self.sums is None else self.n_done


class Notes:
    """The notes of one search.

    Parameters
    ----------
    stages
        What an earlier run has noted.
    records
        How far its works had come.
    spent
        What it had spent in all: evaluations and lookups by phase, seconds.
    """

    def __init__(
        self,
        stages: Mapping[str, SavedStage] | None = None,
        records: list[Record] | None = None,
        spent: Mapping[str, Any] | None = None,
    ) -> None:
        self.stages = dict(stages or {})
        self.records = list(records or [])
        self.spent = dict(spent or {})
        self.is_changed = False
        self._to_recall = set(self.stages)

    def recall(self, stage: str) -> SavedStage | None:
        """Return what an earlier run noted, the first time it is asked for."""
        if stage not in self._to_recall:
            return None
        self._to_recall.remove(stage)
        return self.stages[stage]

    def note(self, stage: str, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Write down a stage, in place of what it held before."""
        self._to_recall.discard(stage)
        self.stages[stage] = SavedStage(values, arrays)
        self.is_changed = True

    def begin(self, work: Work) -> Record:
        """Return the record of a work: that of an earlier run, or a new one."""
        for record in self.records:
            if record.work is None and record.is_of(work):
                break
        else:
            record = Record(work.name, work.keys, len(work.tasks))
            self.records.append(record)
        record.work = work
        return record

    def advance(self, record: Record, n_done: int) -> None:
        """Note that so many tasks of a work are done."""
        assert record.work is not None
        record.n_done, work = n_done, record.work
        self.is_changed = True
        if work.is_kept:
            return
        if n_done == record.n_tasks:
            # Sums serve no more once they have been used, nor do those of any scan before.
            self.records = [r for r in self.records if r.work is None or r.work.is_kept]
        elif work.array.nbytes <= _MOST_SUMS:
            record.sums = work.array

    def kept(self) -> list[Ids]:
        """Return the source rows of each scan that an earlier run has done, kept and passed."""
        return [r.keys[0] for r in self.records if r.name.startswith(KEPT) and r.is_past]

    def pass_on(self) -> None:
        """Note that the works done so far are behind where another run will begin."""
        for record in self.records:
            record.is_past |= record.n_done == record.n_tasks
