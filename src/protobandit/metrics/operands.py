"""Rows in the form that a metric reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids, Where


@dataclass(frozen=True, eq=False)
class Operand:
    """Rows in the form that one metric reads, with their norms if it needs them.

    ``given`` are the rows before centring: a C-contiguous array, a CSR matrix, a list, or column
    numbers (precomputed). ``norms`` are squared, of the centred rows if there are any. ``near`` are
    the centred rows, or None. Only few pairs then need the rows before centring, so `take` does not
    copy those. ``at`` are the positions of the rows in ``given``, or None for all of them in order.
    """

    given: Any
    norms: Floats | None = None
    near: Floats | None = None
    at: Ids | None = None

    def __len__(self) -> int:
        if self.at is not None:
            return len(self.at)
        return len(self.given) if isinstance(self.given, list) else int(self.given.shape[0])

    @property
    def rows(self) -> Any:
        """Return the rows before centring."""
        return self.given if self.at is None else self.given[self.at]

    def take(self, where: Where) -> Operand:
        """Return some of the rows, prepared."""
        norms, near = (
            None if part is None else _taken(part, where) for part in (self.norms, self.near)
        )
        if self.at is not None:
            return Operand(self.given, norms, near, self.at[where])
        if near is not None and not isinstance(where, slice):
            return Operand(self.given, norms, near, where)
        return Operand(_taken(self.given, where), norms, near)


def _taken(part: Any, where: Where) -> Any:
    if isinstance(part, list) and not isinstance(where, slice):
        return [part[i] for i in where]
    return np.ascontiguousarray(part[where]) if isinstance(part, np.ndarray) else part[where]
