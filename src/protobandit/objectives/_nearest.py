"""The distance to the nearest prototype, for the target rows that were sampled and no others."""

from __future__ import annotations

import numpy as np

from protobandit._metrics import Prepared
from protobandit._oracle import Oracle
from protobandit._typing import Floats, Ids


class SeenRows:
    """Remembers min d(j, M) for each target row met, and how many prototypes it accounts for.

    A row that is met again is compared only with the prototypes added since.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._nearest: Floats = np.empty(0, dtype=oracle.dtype)
        self._applied: Ids = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def nearest(self, ids: Ids, targets: Prepared, prototypes: Ids) -> Floats:
        """Return min d(j, prototypes) for these distinct rows, whose prepared form is given."""
        at = np.searchsorted(self._ids, ids)
        is_seen = at < len(self._ids)
        is_seen[is_seen] = self._ids[at[is_seen]] == ids[is_seen]
        nearest = np.full(len(ids), np.inf, dtype=self._oracle.dtype)
        applied = np.zeros(len(ids), dtype=np.int64)
        nearest[is_seen] = self._nearest[at[is_seen]]
        applied[is_seen] = self._applied[at[is_seen]]
        self._catch_up(nearest, applied, targets, prototypes)
        self._nearest[at[is_seen]] = nearest[is_seen]
        self._applied[at[is_seen]] = len(prototypes)
        self._insert(ids[~is_seen], nearest[~is_seen], len(prototypes))
        return nearest

    def _catch_up(
        self, nearest: Floats, applied: Ids, targets: Prepared, prototypes: Ids
    ) -> None:
        order = np.argsort(applied, kind="stable")
        starts = np.flatnonzero(np.diff(applied[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            new = prototypes[applied[rows[0]] :]
            if len(new):
                block = self._oracle.distances(new, targets.take(rows))
                nearest[rows] = np.minimum(nearest[rows], block.min(axis=0))

    def _insert(self, ids: Ids, nearest: Floats, applied: int) -> None:
        order = np.argsort(ids)
        ids, nearest = ids[order], nearest[order]
        at = np.searchsorted(self._ids, ids)
        self._ids = np.insert(self._ids, at, ids)
        self._nearest = np.insert(self._nearest, at, nearest)
        self._applied = np.insert(self._applied, at, applied)
