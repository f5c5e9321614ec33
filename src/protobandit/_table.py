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
from protobandit._metrics import Prepared
from protobandit._oracle import CHUNK, Oracle, Tile, Visit, cuts
from protobandit._typing import Doubles, Floats, Ids


@dataclass(frozen=True, eq=False)
class Batch:
    """Target rows that were added together: how many were before them, and their prepared form."""

    start: int
    targets: Prepared
    weights: Doubles

    @property
    def stop(self) -> int:
        """Return how many rows there are up to the end of this batch."""
        return self.start + len(self.targets)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """``matrix[i, j]`` is the distance of the j-th target row to source row ``arms[i]``."""

    oracle: Oracle
    arms: Ids
    matrix: Floats

    @classmethod
    def of(cls, oracle: Oracle, arms: Ids, targets: Prepared) -> Table:
        """Compute the table of these source rows and target rows."""
        matrix = np.empty((len(arms), len(targets)), dtype=oracle.dtype)
        oracle.tabulate(arms, targets, matrix)
        return cls(oracle=oracle, arms=arms, matrix=matrix)

    @classmethod
    def whole(cls, oracle: Oracle, targets: Prepared) -> Table:
        """Return the table of all source rows and all target rows, as kept or computed now."""
        arms = np.arange(len(oracle.problem.source))
        kept = oracle.kept
        if kept is None:
            return cls.of(oracle, arms, targets)
        oracle.look_up(kept.size)
        return cls(oracle=oracle, arms=arms, matrix=kept)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the distances."""
        return self.matrix.dtype

    @property
    def groups(self) -> list[slice]:
        """Return the one group of columns that a scan visits."""
        return [slice(0, self.matrix.shape[1])]

    def scan(self, sources: Ids, visit: Visit) -> None:
        """Show ``visit`` the distances of these arms."""
        columns, n = self.groups[0], len(sources) * self.matrix.shape[1]
        self.oracle.look_up(n)

        def show(cut: slice) -> None:
            positions = np.arange(cut.start, cut.stop)
            visit(Tile(self.matrix, sources[cut], 0, columns, positions, 0))

        size = max(1, CHUNK * CHUNK // 4 // self.matrix.shape[1])
        self.oracle.share(show, cuts(len(sources), size), n)

    def column(self, source: int) -> Floats:
        """Return the distances to one arm."""
        self.oracle.look_up(self.matrix.shape[1])
        distances: Floats = self.matrix[source]
        return distances

    def patchwork(self, batch: Batch) -> Patchwork:
        """Return the same numbers as a patchwork of one batch, without copying the distances."""
        n_arms, n_rows = self.matrix.shape
        return Patchwork(
            oracle=self.oracle,
            arms=self.arms,
            batches=(batch,),
            starts=np.arange(n_arms + 1, dtype=np.int64) * n_rows,
            columns=np.tile(np.arange(n_rows, dtype=np.int32), n_arms),
            values=self.matrix.ravel(),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Patchwork:
    """Arm i is measured at ``columns[starts[i]:starts[i + 1]]``; ``values`` are the distances."""

    oracle: Oracle
    arms: Ids
    batches: tuple[Batch, ...]
    starts: Ids
    columns: np.ndarray[Any, np.dtype[np.int32]]
    values: Floats

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def n_rows(self) -> int:
        """Return the number of target rows."""
        return self.batches[-1].stop

    @property
    def weights(self) -> Doubles:
        """Return the weights of all target rows."""
        return np.concatenate([batch.weights for batch in self.batches])

    @property
    def entries(self) -> tuple[Ids, Any, Floats]:
        """Return starts, columns and values, as kernels take them."""
        return self.starts, self.columns, self.values

    def distances(self, arm: int) -> Floats:
        """Return the distances of one arm to every row; those it lacks are computed.

        Of a batch in which it lacks any it is measured anew: one product costs less than a choice.
        """
        own = slice(self.starts[arm], self.starts[arm + 1])
        columns, values = self.columns[own], self.values[own]
        out = np.empty(self.n_rows, dtype=self.values.dtype)
        edges = np.searchsorted(columns, [batch.start for batch in self.batches] + [self.n_rows])
        for batch, first, last in zip(self.batches, edges[:-1], edges[1:], strict=True):
            if last - first == len(batch.targets):
                self.oracle.look_up(int(last - first))
                out[columns[first:last]] = values[first:last]
            else:
                place = out[None, batch.start : batch.stop]
                self.oracle.tabulate(self.arms[arm : arm + 1], batch.targets, place)
        return out

    def extended(
        self, kept: Ids, batch: Batch, cell_starts: Ids, homes: Ids, is_measured: Any
    ) -> Patchwork:
        """Return the arms ``kept``, measured at more rows too: those of their home cells.

        Parameters
        ----------
        kept
            The arms to keep.
        batch
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
        # Each arm's patches stand one after the other, in the order of its homes.
        places = ((starts[:-1] + before)[:, None] + np.cumsum(added, axis=1) - added).ravel()
        arms = self.arms[kept]
        patches = []
        for cell, own in _by_cell(homes, is_measured, len(cell_starts) - 1):
            some = slice(int(cell_starts[cell]), int(cell_starts[cell + 1]))
            if some.stop > some.start:
                patches.append((arms[own // homes.shape[1]], some, places[own]))

        def place(block: Floats, patch: int) -> None:
            _, some, there = patches[patch]
            kernels.scatter(block, batch.start + some.start, there, columns, values)

        blocks = [(sources, batch.targets.take(some)) for sources, some, _ in patches]
        self.oracle.each_patch(blocks, place)
        return Patchwork(
            oracle=self.oracle,
            arms=arms,
            batches=(*self.batches, batch),
            starts=starts,
            columns=columns,
            values=values,
        )


def _by_cell(homes: Ids, is_measured: Any, n_cells: int) -> list[tuple[int, Ids]]:
    """Return, for each cell that is some arm's home, where it stands in ``homes``, flattened."""
    flat = homes.ravel()
    order = np.flatnonzero(np.repeat(is_measured, homes.shape[1]))
    order = order[np.argsort(flat[order], kind="stable")]
    edges = np.searchsorted(flat[order], np.arange(n_cells + 1))
    cells = np.flatnonzero(np.diff(edges))
    return [(int(cell), order[edges[cell] : edges[cell + 1]]) for cell in cells]
