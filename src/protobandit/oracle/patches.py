"""Many small blocks of distances, computed together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Ids

# Distances of one task. The most stay in cache; little work is divided among the threads evenly.
_MOST_ENTRIES, _FEWEST_ENTRIES, _N_TASKS = 1 << 17, 1 << 13, 16


@dataclass(frozen=True, eq=False)
class Patches:
    """Blocks of distances between some rows and some candidates.

    Patch p compares the rows ``row_ids[first[p] : last[p]]`` with the candidates
    ``candidate_ids[begin[p] : end[p]]``; both are positions in operands.
    """

    row_ids: NDArray[np.int32]
    first: Ids
    last: Ids
    candidate_ids: NDArray[np.int32]
    begin: Ids
    end: Ids

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def at(self) -> Ids:
        """Return where the distances of each patch begin if all are stored one after the other."""
        sizes = (self.last - self.first) * (self.end - self.begin)
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def n_entries(self) -> int:
        """Return the number of distances."""
        return int(self.at[-1])

    def rows_of(self, patch: int) -> Ids:
        """Return the rows of a patch."""
        return self.row_ids[self.first[patch] : self.last[patch]].astype(np.int64)

    def candidates_of(self, patch: int) -> Ids:
        """Return the candidates of a patch."""
        return self.candidate_ids[self.begin[patch] : self.end[patch]].astype(np.int64)

    def runs(self) -> Iterator[slice]:
        """Yield runs of patches, each with about as many distances as one task computes."""
        n_entries = min(_MOST_ENTRIES, max(_FEWEST_ENTRIES, self.n_entries // _N_TASKS))
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.at, self.at[start] + n_entries, side="right")) - 1
            stop = max(stop, start + 1)
            yield slice(start, stop)
            start = stop
