"""A table: the distances of some source rows to the first rows of a target order, kept.

What has been computed is never computed again: an arm's distances form a prefix of one shared
order, which grows while the number of arms shrinks. Reading the table costs lookups only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit._oracle import CHUNK, Oracle, Tile, Visit, cuts
from protobandit._typing import Doubles, Floats, Ids


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """``matrix[i, j]`` is d(target ``rows[j]``, source ``arms[i]``); ``weights`` are of the rows.

    Arms of a table are its rows, 0, 1, …; ``arms`` says which source rows they are.
    """

    oracle: Oracle
    arms: Ids
    rows: Ids
    weights: Doubles
    matrix: Floats

    @classmethod
    def of(cls, oracle: Oracle, arms: Ids, rows: Ids, weights: Doubles) -> Table:
        """Compute the table of these source rows and target rows."""
        matrix = np.empty((len(arms), len(rows)), dtype=oracle.dtype)
        oracle.tabulate(arms, rows, matrix)
        return cls(oracle=oracle, arms=arms, rows=rows, weights=weights, matrix=matrix)

    def narrowed(self, kept: Ids) -> Table:
        """Return the table of the arms ``kept`` alone."""
        return replace(self, arms=self.arms[kept], matrix=self.matrix[kept])

    def extended(self, kept: Ids, rows: Ids, weights: Doubles) -> Table:
        """Return the table of the arms ``kept``, with these target rows added."""
        n = len(self.rows)
        matrix = np.empty((len(kept), n + len(rows)), dtype=self.matrix.dtype)
        matrix[:, :n] = self.matrix[kept]
        self.oracle.tabulate(self.arms[kept], rows, matrix[:, n:])
        return replace(
            self,
            arms=self.arms[kept],
            rows=np.append(self.rows, rows),
            weights=np.append(self.weights, weights),
            matrix=matrix,
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the distances."""
        return self.matrix.dtype

    @property
    def groups(self) -> list[slice]:
        """Return the one group of columns that a scan visits."""
        return [slice(0, len(self.rows))]

    def scan(self, arms: Ids, visit: Visit) -> None:
        """Show ``visit`` the distances of these arms."""
        columns = self.groups[0]
        self.look_up(len(arms))

        def show(cut: slice) -> None:
            positions = np.arange(cut.start, cut.stop)
            visit(Tile(self.matrix, arms[cut], 0, columns, positions, 0))

        size = max(1, CHUNK * CHUNK // 4 // len(self.rows))
        self.oracle.share(show, cuts(len(arms), size), len(arms) * len(self.rows))

    def column(self, arm: int) -> Floats:
        """Return the distances to one arm."""
        self.look_up(1)
        distances: Floats = self.matrix[arm]
        return distances

    def look_up(self, n_arms: int) -> None:
        """Count a reading of this many arms."""
        self.oracle.lookups[self.oracle.phase] += n_arms * len(self.rows)
