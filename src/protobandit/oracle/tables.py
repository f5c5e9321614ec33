"""Tables of kept distances, from arms to the rows of a target order.

Reading a table costs lookups only. The arms of a table are numbered 0, 1, …; ``arms`` holds their
source rows.

A `FullTable` has every arm at every row. In a `RaggedTable` an arm is measured at the first few
rows, and at later rows only in its own neighbourhood: rows far from an arm stay with their
prototypes whatever happens to that arm. Entries that no swap can use may be dropped. The first rows
stay known in full; at later rows an arm can be measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import are_within
from protobandit.foundation.endless import ENDLESS
from protobandit.foundation.slices import cuts
from protobandit.kernels import ragged_swaps as ragged_swaps_kernels
from protobandit.metrics.operands import Operand
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tasks import CHUNK, Tile, Visit

_TASK_ENTRIES = 1 << 16
_ARMS_AT_ONCE = 512
_PATCH_ENTRIES = 1 << 20  # of one block in a cell, unless `_ARMS_AT_ONCE` arms have more
_LOWERED = (0.8, 0.6, 0.45, 0.3, 0.2, 0.1, 0.0)  # of the limits of a table that grew too large
_ENTRY_WORK = 4  # contiguous numbers that are read in the time of one entry


def _none() -> Ids:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Target rows that were added together: their number before, operand and weights.

    ``rows`` are their numbers as they were read, and ``order`` is the order they were put in
    afterwards, if any. Both are needed only to read the rows again.
    """

    start: int
    targets: Operand
    weights: Doubles
    rows: Ids = field(default_factory=_none)
    order: Ids = field(default_factory=_none)

    @property
    def stop(self) -> int:
        """Return the number of rows up to the end of this batch."""
        return self.start + len(self.targets)


@dataclass(frozen=True, eq=False)
class Within:
    """A ragged table of one batch: the distances of a full table below ``limits``, or all."""

    limits: Floats | None

    def fits(self, n_arms: int, batch: RowBatch) -> bool:
        """Return whether this can be applied, for a table that a checkpoint describes."""
        return self.limits is None or self.limits.shape == (len(batch.targets),)

    def applied(self, table: FullTable, batch: RowBatch) -> RaggedTable:
        """Return the ragged table."""
        return table.ragged(batch, self.limits)


@dataclass(frozen=True, eq=False)
class Entries:
    """Distances that are known at new rows: arms, ascending, columns and values."""

    arms: Ids
    columns: np.ndarray[Any, np.dtype[np.int32]]
    values: Floats

    def fits(self, n_arms: int, batch: RowBatch) -> bool:
        """Return whether this can be applied, for a table that a checkpoint describes."""
        return (
            are_within(self.arms, 0, n_arms)
            and are_within(self.columns, batch.start, batch.stop)
            and bool((np.diff(self.arms) >= 0).all())
            and self.arms.shape == self.columns.shape == self.values.shape
        )

    def applied(self, ragged: RaggedTable, batch: RowBatch) -> RaggedTable:
        """Return a table with these rows and distances."""
        return ragged.with_entries(batch, self.arms, self.columns, self.values)


@dataclass(frozen=True, eq=False)
class Extension:
    """The arms to keep, and where they are measured at new rows; see `RaggedTable.extended`."""

    kept: Ids
    cell_starts: Ids
    homes: np.ndarray[Any, np.dtype[np.int32]]
    is_measured: Any
    limits: Floats

    def fits(self, n_arms: int, batch: RowBatch) -> bool:
        """Return whether this can be applied, for a table that a checkpoint describes."""
        starts = self.cell_starts
        return (
            are_within(self.kept, 0, n_arms)
            and are_within(starts, 0, len(batch.targets) + 1)
            and bool((np.diff(starts) >= 0).all())
            and are_within(self.homes, -1, len(starts) - 1)
            and self.homes.ndim == 2
            and len(self.homes) == len(self.kept) == len(self.is_measured)
            and self.is_measured.dtype == bool
            and self.limits.shape == (batch.start,)
        )

    def applied(self, ragged: RaggedTable, batch: RowBatch) -> RaggedTable:
        """Return a table with these rows, and their distances to arms computed."""
        homes = self.homes.astype(np.int64)
        return ragged.extended(
            self.kept, batch, self.cell_starts, homes, self.is_measured, self.limits
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class FullTable:
    """``matrix[i, j]`` is the distance of the j-th target row to source row ``arms[i]``."""

    oracle: Oracle
    arms: Ids
    matrix: Floats

    @classmethod
    def of(cls, oracle: Oracle, arms: Ids, targets: Operand) -> FullTable:
        """Compute the table of these source rows and target rows."""
        matrix = np.empty((len(arms), len(targets)), dtype=oracle.dtype)
        oracle.tabulate(arms, targets, matrix)
        return cls(oracle=oracle, arms=arms, matrix=matrix)

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

    def ragged(
        self, batch: RowBatch, limits: Floats | None = None, most: int = ENDLESS
    ) -> RaggedTable:
        """Return this table as a ragged table of one batch: all distances, or those below limits.

        The smallest distance of each arm is always kept. Without ``limits`` nothing is copied.
        If there would be more than ``most`` entries, the limits are lowered.
        """
        n_arms, n_rows = self.matrix.shape
        if limits is not None:
            starts, columns, values, limits = self.within(limits, most)
        else:
            starts = np.arange(n_arms + 1, dtype=np.int64) * n_rows
            columns = np.tile(np.arange(n_rows, dtype=np.int32), n_arms)
            values = self.matrix.ravel()
        return RaggedTable(
            table=self,
            arms=self.arms,
            batches=(batch,),
            growth=(Within(limits),),
            starts=starts,
            columns=columns,
            values=values,
        )

    def within(self, limits: Floats, most: int = ENDLESS) -> tuple[Ids, Any, Floats, Floats]:
        """Return starts, columns, values of distances below limits and of each arm's smallest.

        If these are more than ``most``, the limits are lowered. They are returned too.
        """
        n_arms, n_rows = self.matrix.shape
        counts = np.empty(n_arms, dtype=np.int64)
        tasks = list(cuts(n_arms, max(1, CHUNK * CHUNK // 8 // n_rows)))

        def is_within(cut: slice) -> Any:
            some = self.matrix[cut]
            found = some < limits
            found[np.arange(len(some)), some.argmin(axis=1)] = True
            return found

        def count(cut: slice) -> None:
            counts[cut] = np.count_nonzero(is_within(cut), axis=1)

        # Counting first needs no second copy of the entries, which may be most of the table.
        lower = lowered(limits)
        self.oracle.share(count, tasks, self.matrix.size)
        while counts.sum() > most and limits.any():
            limits = next(lower)
            self.oracle.share(count, tasks, self.matrix.size)
        starts = np.concatenate([[0], np.cumsum(counts)])
        columns = np.empty(starts[-1], dtype=np.int32)
        values = np.empty(starts[-1], dtype=self.matrix.dtype)

        def copy(cut: slice) -> None:
            at = np.flatnonzero(is_within(cut))
            own = slice(starts[cut.start], starts[cut.stop])
            columns[own] = at % n_rows
            values[own] = self.matrix[cut].ravel()[at]

        self.oracle.share(copy, tasks, self.matrix.size)
        return starts, columns, values, limits


@dataclass(frozen=True, kw_only=True, eq=False)
class RaggedTable:
    """Arm i is measured at ``columns[starts[i]:starts[i + 1]]``; ``values`` are the distances.

    ``table`` has the first batch in full, for all arms that ever took part, in ascending order.
    ``growth`` is how each batch was added. With the batches it is enough to compute the table
    again, and takes a small part of its memory.
    """

    table: FullTable
    arms: Ids
    batches: tuple[RowBatch, ...]
    growth: tuple[Within | Entries | Extension, ...]
    starts: Ids
    columns: np.ndarray[Any, np.dtype[np.int32]]
    values: Floats

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def oracle(self) -> Oracle:
        """Return the oracle that computes the distances."""
        return self.table.oracle

    @cached_property
    def groups(self) -> Ids:
        """Return the group of each arm, for quotas."""
        return self.oracle.problem.feasibility.groups[self.arms]

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
        """Return starts, columns and values: the arguments of kernels."""
        return self.starts, self.columns, self.values

    def distances(self, arms: Ids) -> Floats:
        """Return the distances of some arms to every row; beyond the first batch they are computed.

        Few of these were measured before, and one product costs less than selecting the others.
        """
        out = np.empty((len(arms), self.n_rows), dtype=self.values.dtype)
        first, *others = self.batches
        sources = self.arms[arms]
        self.oracle.look_up(len(arms) * first.stop)
        out[:, : first.stop] = self.table.matrix[np.searchsorted(self.table.arms, sources)]
        for batch in others:
            self.oracle.tabulate(sources, batch.targets, out[:, batch.start : batch.stop])
        return out

    @classmethod
    def grown(
        cls,
        table: FullTable,
        batches: Sequence[RowBatch],
        growth: Sequence[Within | Entries | Extension],
    ) -> RaggedTable:
        """Return the table that has grown in this way; its distances are computed again."""
        made: Any = table
        for batch, step in zip(batches, growth, strict=True):
            made = step.applied(made, batch)
        ragged: RaggedTable = made
        return ragged

    def with_entries(self, batch: RowBatch, arms: Ids, columns: Any, values: Floats) -> RaggedTable:
        """Return this table with more rows, at which some distances are known.

        ``arms``, ascending, ``columns`` and ``values`` have one number per distance.
        """
        n_added = np.bincount(arms, minlength=len(self.arms))
        is_new = np.zeros(len(self.values) + len(values), dtype=bool)
        is_new[np.arange(len(values)) + np.repeat(self.starts[1:], n_added)] = True
        is_old = ~is_new

        def merged(old: Any, new: Any) -> Any:
            both = np.empty(len(is_new), dtype=old.dtype)
            both[is_old], both[is_new] = old, new
            return both

        return replace(
            self,
            batches=(*self.batches, batch),
            growth=(*self.growth, Entries(arms, columns, values)),
            starts=self.starts + np.concatenate([[0], np.cumsum(n_added)]),
            columns=merged(self.columns, columns),
            values=merged(self.values, values),
        )

    def reweighted(self, weights: Doubles) -> RaggedTable:
        """Return this table with other weights of its first rows."""
        batches = [
            replace(batch, weights=np.append(weights[batch.start : batch.stop], batch.weights[n:]))
            for batch in self.batches
            if (n := min(max(len(weights) - batch.start, 0), len(batch.targets))) >= 0
        ]
        return replace(self, batches=tuple(batches))

    def extended(
        self,
        kept: Ids,
        batch: RowBatch,
        cell_starts: Ids,
        homes: Ids,
        is_measured: Any,
        limits: Floats,
        most: int = ENDLESS,
    ) -> RaggedTable:
        """Return the arms ``kept``, also measured at the new rows of their home cells.

        Parameters
        ----------
        kept
            The arms to keep.
        batch
            The target rows to add, those of cell 0 first, then those of cell 1, and so on.
        cell_starts
            Where each cell starts among them, and the end of the last cell.
        homes
            For each arm kept, its distinct home cells; -1 where it has fewer.
        is_measured
            For each arm kept, whether it needs more rows.
        limits
            For each earlier row, the distance from which on nothing is kept.
        most
            The number of entries above which these limits are lowered.
        """
        before = np.empty(len(kept), dtype=np.int64)
        nowhere = self.columns[:0], self.values[:0]
        added = np.diff(cell_starts)[homes]
        added[~is_measured] = 0
        added[homes < 0] = 0
        lower = lowered(limits)
        self._keep(kept, limits, before, np.zeros_like(kept), *nowhere)
        while before.sum() + added.sum() > most and limits.any():
            limits = next(lower)
            self._keep(kept, limits, before, np.zeros_like(kept), *nowhere)
        starts = np.concatenate([[0], np.cumsum(before + added.sum(axis=1))])
        columns = np.empty(starts[-1], dtype=np.int32)
        values = np.empty(starts[-1], dtype=self.values.dtype)
        self._keep(kept, limits, before, starts[:-1], columns, values)
        # The patches of an arm are stored one after the other, in the order of its home cells.
        places = ((starts[:-1] + before)[:, None] + np.cumsum(added, axis=1) - added).ravel()
        arms = self.arms[kept]
        patches = []
        for some, own in _patches(homes, is_measured, cell_starts):
            if some.stop > some.start:
                patches.append((arms[own // homes.shape[1]], some, places[own]))

        def place(block: Floats, patch: int) -> None:
            _, some, there = patches[patch]
            ragged_swaps_kernels.scatter(block, batch.start + some.start, there, columns, values)

        blocks = [(sources, batch.targets.take(some)) for sources, some, _ in patches]
        self.oracle.each_patch(blocks, place)
        return RaggedTable(
            table=self.table,
            arms=arms,
            batches=(*self.batches, batch),
            growth=(
                *self.growth,
                Extension(kept, cell_starts, homes.astype(np.int32), is_measured, limits),
            ),
            starts=starts,
            columns=columns,
            values=values,
        )

    def _keep(
        self, arms: Ids, limits: Floats, counts: Ids, places: Ids, columns: Any, values: Floats
    ) -> None:
        """Count the arms' entries within the limits, and copy them if ``columns`` has room."""

        def keep(cut: slice) -> None:
            to = counts[cut], places[cut], columns, values
            ragged_swaps_kernels.keep_within(*self.entries, arms[cut], limits, *to)

        self._each_cut(arms, keep)

    def _each_cut(self, arms: Ids, compute: Callable[[slice], None]) -> None:
        """Call ``compute`` with slices of these arms that have about the same number of entries."""
        n = int(np.diff(self.starts)[arms].sum())
        size = max(1, _TASK_ENTRIES * len(arms) // max(n, 1))
        self.oracle.share(compute, cuts(len(arms), size), _ENTRY_WORK * n)

    def show(self, arms: Ids, compute: Callable[[slice], None]) -> None:
        """Call ``compute`` with slices of these arms, and count their entries as lookups."""
        self.look_up(arms)
        self._each_cut(arms, compute)

    def look_up(self, arms: Ids) -> None:
        """Count the entries of these arms as lookups."""
        self.oracle.look_up(int(np.diff(self.starts)[arms].sum()))


def lowered(limits: Floats) -> Iterator[Floats]:
    """Yield lower and lower limits; the last are 0, below which there is nothing."""
    finite = np.where(np.isfinite(limits), limits, np.finfo(limits.dtype).max)
    yield from (finite * limits.dtype.type(factor) for factor in _LOWERED)


def _patches(homes: Ids, is_measured: Any, cell_starts: Ids) -> Iterator[tuple[slice, Ids]]:
    """Yield slices of rows, and which entries of the flattened ``homes`` are to be measured there.

    The slices are cells, or all rows if every cell is a home of every arm. Where that would make a
    large block, they are repeated for some arms at a time.
    """
    n_cells, n_homes = len(cell_starts) - 1, homes.shape[1]
    if n_homes == n_cells:
        whole = slice(0, int(cell_starts[-1]))
        measured = np.flatnonzero(is_measured) * n_homes
        yield from ((whole, measured[cut]) for cut in cuts(len(measured), _ARMS_AT_ONCE))
        return
    # NumPy sorts short integers by radix sort, several times faster.
    flat = homes.ravel().astype(np.uint16 if n_cells < 1 << 16 else np.int64)
    order = np.flatnonzero(np.repeat(is_measured, n_homes) & (homes.ravel() >= 0))
    order = order[np.argsort(flat[order], kind="stable")]
    edges = np.searchsorted(flat[order], np.arange(n_cells + 1))
    for cell in np.flatnonzero(np.diff(edges)):
        rows = slice(int(cell_starts[cell]), int(cell_starts[cell + 1]))
        own, n_rows = order[edges[cell] : edges[cell + 1]], rows.stop - rows.start
        n_arms = max(_ARMS_AT_ONCE, _PATCH_ENTRIES // max(n_rows, 1))
        yield from ((rows, own[cut]) for cut in cuts(len(own), n_arms))
