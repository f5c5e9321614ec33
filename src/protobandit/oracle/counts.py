"""The counts of an oracle: evaluations and lookups by phase, and the rows it keeps.

The counts are a separate object. The oracle writes them; the limits, the progress display and the
checkpoint read them without a reference to the oracle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.foundation.endless import ENDLESS

PHASES: Final = ("build", "swap", "assign", "certify")


@dataclass(eq=False)
class Counts:
    """Evaluations and lookups by phase, and the source rows whose dissimilarities are kept.

    A resumed run restores the counts of the earlier run, so that its limits and steps are those of
    an uninterrupted run. ``kept`` has one array of source rows per scan, in the order of the scans;
    a resumed run restores those of the earlier run. The oracle computes these rows again when they
    are needed, but counts them as lookups, as the earlier run would have done. It needs to know
    which rows were scanned together: the last bits of a distance by a matrix product can depend on
    the other rows of the product. ``pulls`` counts rewards of arms; an objective that counts them
    saves the number with its own state.
    """

    evaluations: Counter[str] = field(default_factory=Counter)
    lookups: Counter[str] = field(default_factory=Counter)
    kept: list[Ids] = field(default_factory=list)
    n_kept: int = 0
    pulls: int = 0

    @property
    def total(self) -> int:
        """Return the number of evaluations of all phases."""
        return self.evaluations.total()

    def snapshot(self) -> Ids:
        """Return evaluations and lookups of all phases as one array."""
        counters = (self.evaluations, self.lookups)
        rows = [[counter[phase] for phase in PHASES] for counter in counters]
        return np.array(rows, dtype=np.int64).ravel()

    def restore(self, snapshot: Ids | Sequence[int]) -> None:
        """Set both counters to a `snapshot`."""
        rows = np.asarray(snapshot).reshape(2, -1).tolist()
        for counter, row in zip((self.evaluations, self.lookups), rows, strict=True):
            for phase, n in zip(PHASES, row, strict=True):
                counter[phase] = n

    def keep(self, rows: Ids) -> None:
        """Record source rows whose dissimilarities are kept from now on, scanned together."""
        self.kept.append(rows)
        self.n_kept += len(rows)

    def kept_arrays(self) -> dict[str, Callable[[], Ids]]:
        """Return functions that return ``kept`` of now as arrays, for `restore_kept`."""
        scans, n = self.kept, len(self.kept)
        none = np.empty(0, dtype=np.int64)
        return {
            "kept": lambda: np.concatenate([none, *scans[:n]]),
            "kept sizes": lambda: np.array([len(scan) for scan in scans[:n]], dtype=np.int64),
        }

    def restore_kept(self, arrays: Mapping[str, Ids]) -> None:
        """Set ``kept`` to what `kept_arrays` returned; other arrays are ignored.

        InvalidInput is raised if these cannot be rows of scans. The oracle compares them with the
        number of source rows.
        """
        rows, sizes = arrays["kept"], arrays["kept sizes"]
        require_restorable(
            rows.ndim == sizes.ndim == 1
            and are_within(rows, 0, ENDLESS)
            and are_within(sizes, 0, len(rows) + 1)
            and sizes.sum() == len(rows),
            "rows",
        )
        stops = np.cumsum(sizes)
        self.kept = np.split(rows, stops[:-1]) if len(stops) else []
        self.n_kept = len(rows)

    def by_phase(self) -> Mapping[str, int]:
        """Return the evaluations of every phase, also of phases without any."""
        return {phase: self.evaluations[phase] for phase in PHASES}
