"""What an oracle has counted: evaluations and lookups by phase, and the rows it has kept.

The counts are an object of their own, shared by the oracle that counts and by those who read: the
limits, the progress display and the checkpoint. None of them needs the oracle itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from protobandit.foundation.array_types import Ids

PHASES: Final = ("build", "swap", "assign", "certify")


@dataclass(eq=False)
class Counts:
    """Evaluations and lookups by phase, and the source rows whose dissimilarities are kept.

    A resumed run restores the counts of the run before it, so that its limits and steps are those
    of an uninterrupted run. ``kept`` then names rows that the earlier run had kept: the oracle
    computes them again when they are needed and counts them as lookups, as that run would have.
    """

    evaluations: Counter[str] = field(default_factory=Counter)
    lookups: Counter[str] = field(default_factory=Counter)
    kept: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def total(self) -> int:
        """Return the number of evaluations of all phases."""
        return self.evaluations.total()

    def snapshot(self) -> Ids:
        """Return both counters as one array, phase by phase."""
        counters = (self.evaluations, self.lookups)
        return np.array([[counter[phase] for phase in PHASES] for counter in counters]).ravel()

    def restore(self, snapshot: Ids | Sequence[int]) -> None:
        """Set both counters to a `snapshot`."""
        rows = np.asarray(snapshot).reshape(2, -1).tolist()
        for counter, row in zip((self.evaluations, self.lookups), rows, strict=True):
            counter.update(
                {phase: n - counter[phase] for phase, n in zip(PHASES, row, strict=True)}
            )

    def by_phase(self) -> Mapping[str, Any]:
        """Return the evaluations of every phase, those without any included."""
        return {phase: self.evaluations[phase] for phase in PHASES}
