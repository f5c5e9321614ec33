"""The source rows that may become prototypes, each in the cell of the prototype it may replace.

A source row belongs to the cell whose *representative* it is nearest to: the judged row of the cell
that is nearest to its prototype. So only dissimilarities of a target row and a source row are
needed, which every metric has. Where source and target are the same rows, the judged rows are
source rows too, and their lists say to which cell they belong.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels import cells as kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.search.drivers.localsearch.judged_rows import (
    JudgedRows,
    Positions,
    RowsBySlot,
    row_patches,
)


class Pool(Protocol):
    """Source rows that may become prototypes.

    Attributes
    ----------
    ids
        The source rows.
    slots, gaps
        For each of them the slot of its cell, and its distance to the representative of the cell.
    """

    ids: Ids
    slots: Positions
    gaps: Floats

    def update(self, moved: NDArray[np.bool_], common: Positions | None) -> None:
        """Assign rows to cells again after some prototypes have moved."""
        ...

    def operand(self, positions: Positions) -> tuple[Operand, Positions]:
        """Return an operand that has these rows of the pool, and their positions in it."""
        ...


class JudgedPool:
    """The judged rows, where these are source rows too."""

    def __init__(self, judged: JudgedRows) -> None:
        self._judged = judged
        self.ids = judged.ids

    @property
    def slots(self) -> Positions:
        return self._judged.slots[:, 0]

    @property
    def gaps(self) -> Floats:
        return self._judged.gaps[:, 0]

    def update(self, moved: NDArray[np.bool_], common: Positions | None) -> None:
        pass

    def operand(self, positions: Positions) -> tuple[Operand, Positions]:
        return self._judged.targets, positions
