"""The distance to the nearest prototype of the target rows that were sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle


class SeenRows:
    """Keeps min d(j, M) of each target row that was read, and the number of prototypes compared.

    A row that is read again is compared only with the prototypes that were added since.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._nearest: Floats = np.empty(0, dtype=oracle.dtype)
        self._n_compared: Ids = np.empty(0, dtype=np.int64)
        self._prepared: tuple[Ids, Operand] | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def nearest(self, ids: Ids, targets: Operand, prototypes: Ids) -> Floats:
        """Return min d(j, prototypes) of these distinct rows, given also in prepared form."""
        at = np.searchsorted(self._ids, ids)
        is_seen = at < len(self._ids)
        is_seen[is_seen] = self._ids[at[is_seen]] == ids[is_seen]
        old, new = at[is_seen], ~is_seen
        n_compared = np.zeros(len(ids), dtype=np.int64)
        n_compared[is_seen] = self._n_compared[old]
        nearest = self._oracle.nearest_since(self._prepare(prototypes), targets, n_compared)
        nearest[is_seen] = np.minimum(nearest[is_seen], self._nearest[old])
        self._nearest[old] = nearest[is_seen]
        self._n_compared[old] = len(prototypes)
        self._insert(ids[new], nearest[new], len(prototypes))
        return nearest

    def state(self) -> dict[str, Any]:
        """Return copies of the arrays from which `restore` makes the same object."""
        return {
            "ids": self._ids.copy(),
            "nearest": self._nearest.copy(),
            "applied": self._n_compared.copy(),
        }

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Set what `state` returned."""
        self._ids, self._nearest = arrays["ids"], arrays["nearest"]
        self._n_compared = arrays["applied"]

    def _prepare(self, prototypes: Ids) -> Operand:
        if self._prepared is None or self._prepared[0] is not prototypes:
            self._prepared = prototypes, self._oracle.sources(prototypes)
        return self._prepared[1]

    def _insert(self, ids: Ids, nearest: Floats, n_compared: int) -> None:
        order = np.argsort(ids)
        at = np.searchsorted(self._ids, ids[order])
        is_old = np.ones(len(self._ids) + len(ids), dtype=bool)
        is_old[at + np.arange(len(ids))] = False
        self._ids = _merged(is_old, self._ids, ids[order])
        self._nearest = _merged(is_old, self._nearest, nearest[order])
        self._n_compared = _merged(is_old, self._n_compared, np.full(len(ids), n_compared))


def _merged(is_old: Any, old: Any, new: Any) -> Any:
    out = np.empty(len(is_old), dtype=old.dtype)
    out[is_old] = old
    out[~is_old] = new
    return out
