"""Tables: distances that have been computed and are kept, of arms to the rows of a target order.

What has been computed is never computed again: reading a table costs lookups only. The arms of a
table are numbered 0, 1, …; ``arms`` says which source rows they are.

`Table` is full: every arm at every row. `Patchwork` is ragged: an arm is measured at the first few
rows and, of the later ones, only at those in its own neighbourhood, since far rows would stay with
their prototypes whatever became of that arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit import kernels
from protobandit._oracle import CHUNK, Oracle, Tile, Visit, cuts
from protobandit._typing import Doubles, Floats, Ids


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """``matrix[i, j]`` is d(target ``rows[j]``, source ``arms[i]``); ``weights`` are of the rows."""

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

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the distances."""
        return self.matrix.dtype

    @property
    def groups(self) -> list[slice]:
        """Return the one group of columns that a scan visits."""
        return [slice(0, len(self.rows))]

    def scan(self, sources: Ids, visit: Visit) -> None:
        """Show ``visit`` the distances of these arms."""
        columns = self.groups[0]
        self._look_up(len(sources))

        def show(cut: slice) -> None:
            positions = np.arange(cut.start, cut.stop)
            visit(Tile(self.matrix, sources[cut], 0, columns, positions, 0))

        size = max(1, CHUNK * CHUNK // 4 // len(self.rows))
        self.oracle.share(show, cuts(len(sources), size), len(sources) * len(self.rows))

    def column(self, source: int) -> Floats:
        """Return the distances to one arm."""
        self._look_up(1)
        distances: Floats = self.matrix[source]
        return distances

    def _look_up(self, n_arms: int) -> None:
        self.oracle.look_up(n_arms * len(self.rows))

    def patchwork(self) -> Patchwork:
        """Return the same numbers as a patchwork, without copying the distances."""
        n_arms, n_rows = self.matrix.shape
        return Patchwork(
            oracle=self.oracle,
            arms=self.arms,
            rows=self.rows,
            weights=self.weights,
            starts=np.arange(n_arms + 1, dtype=np.int64) * n_rows,
            columns=np.tile(np.arange(n_rows, dtype=np.int32), n_arms),
            values=self.matrix.ravel(),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Patchwork:
    """Arm i is measured at ``columns[starts[i]:starts[i + 1]]``; ``values`` are the distances."""

    oracle: Oracle
    arms: Ids
    rows: Ids
    weights: Doubles
    starts: Ids
    columns: np.ndarray[Any, np.dtype[np.int32]]
    values: Floats

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def entries(self) -> tuple[Ids, Any, Floats]:
        """Return starts, columns and values, as kernels take them."""
        return self.starts, self.columns, self.values

    def distances(self, arm: int) -> Floats:
        """Return the distances of one arm to every row; those it lacks are computed."""
        own = slice(self.starts[arm], self.starts[arm + 1])
        out = np.full(len(self.rows), np.nan, dtype=self.values.dtype)
        out[self.columns[own]] = self.values[own]
        lacking = np.flatnonzero(np.isnan(out))
        self.oracle.look_up(len(out) - len(lacking))
        if len(lacking):
            targets = self.oracle.targets(self.rows[lacking])
            out[lacking] = self.oracle.distances(self.arms[arm : arm + 1], targets)[0]
        return out

    def extended(
        self,
        kept: Ids,
        rows: Ids,
        weights: Doubles,
        cell_starts: Ids,
        homes: Ids,
        is_measured: np.ndarray[Any, np.dtype[np.bool_]],
    ) -> Patchwork:
        """Return the arms ``kept``, measured at more rows too: those of their home cells.

        Parameters
        ----------
        kept
            The arms to keep.
        rows, weights
            The target rows to add, those of cell 0 first, then those of cell 1, and so on.
        cell_starts
            Where each cell starts among them; one more than there are cells.
        homes
            For each arm kept, its home cells, without repetition.
        is_measured
            For each arm kept, whether it needs more rows at all.
        """
        before, added = np.diff(self.starts)[kept], np.diff(cell_starts)[homes]
        added[~is_measured] = 0
        starts = np.concatenate([[0], np.cumsum(before + added.sum(axis=1))])
        columns = np.empty(starts[-1], dtype=np.int32)
        values = np.empty(starts[-1], dtype=self.values.dtype)
        kernels.copy_ragged(*self.entries, kept, starts[:-1], columns, values)
        # Where each arm's patch of each of its homes goes: one after the other.
        places = (starts[:-1] + before)[:, None] + np.cumsum(added, axis=1) - added
        order = np.flatnonzero(np.repeat(is_measured, homes.shape[1]))
        order = order[np.argsort(homes.ravel()[order], kind="stable")]
        edges = np.searchsorted(homes.ravel()[order], np.arange(len(cell_starts)))
        arms = self.arms[kept]
        patches = []
        for cell in np.flatnonzero((np.diff(cell_starts) > 0) & (np.diff(edges) > 0)):
            own = order[edges[cell] : edges[cell + 1]]
            some = slice(int(cell_starts[cell]), int(cell_starts[cell + 1]))
            patches.append((arms[own // homes.shape[1]], some, places.ravel()[own]))

        def place(block: Floats, patch: int) -> None:
            _, some, there = patches[patch]
            kernels.scatter(block, len(self.rows) + some.start, there, columns, values)

        self.oracle.each_patch([(sources, rows[some]) for sources, some, _ in patches], place)
        return Patchwork(
            oracle=self.oracle,
            arms=arms,
            rows=np.append(self.rows, rows),
            weights=np.append(self.weights, weights),
            starts=starts,
            columns=columns,
            values=values,
        )
