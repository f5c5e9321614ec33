"""Long pieces of work, cut into tasks by the problem: scans of the target, and tables.

Both say how many dissimilarities a task computes, which part of which array it fills, and what is
to be done with a part that was filled in from the notes of an earlier run instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids, Where
from protobandit.foundation.slices import as_slice, cuts, cuts_of
from protobandit.metrics.metrics import Metric
from protobandit.metrics.operands import Operand

CHUNK: Final = 2048
TILE: Final = 256  # source rows of one product
_MOST_GROUPS = 64
_RUN = 4096  # source rows of one task
_FEW = 8  # the same where somebody looks on and pairs are compared one by one
_WATCHED_CELLS = 1 << 21  # dissimilarities of one task where somebody looks on, about

ScanTask: TypeAlias = "tuple[int, Ids]"  # a group of target rows, and positions of source rows


@dataclass(frozen=True, eq=False)
class Tile:
    """``matrix[rows[i], first:]`` starts with d(target, source) for the target rows ``columns``.

    ``positions[i]`` is where that source row stands among those asked for.
    """

    matrix: Floats
    rows: Ids
    first: int
    columns: slice
    positions: Ids
    group: int


Visit: TypeAlias = Callable[[Tile], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scan:
    """Shows ``visit`` the distances of the whole target to ``sources[positions]``.

    Attributes
    ----------
    targets
        Prepares target rows.
    tile
        Computes the distances of some source rows to prepared target rows, which are ``columns``;
        returns a matrix, where in it they are, and its first column.
    size
        How many source rows a task has. Tiles, and so all sums, are the same for every multiple
        of ``TILE``.
    kept
        The matrix that ``tile`` fills, if distances are kept.
    sums, given
        What ``visit`` fills, if that is one number for each source row and group, and the
        prototypes on which it depends.
    """

    sources: Ids
    positions: Ids
    groups: list[slice]
    visit: Visit
    targets: Callable[[slice], Operand]
    tile: Callable[[Ids, Operand, slice], tuple[Floats, Ids, int]]
    size: int
    kept: Floats | None = None
    sums: Doubles | None = None
    given: Ids | None = None

    def tasks(self) -> Sequence[ScanTask]:
        """Return each group of target rows with each run of source rows."""
        runs = [self.positions[cut] for cut in cuts(len(self.positions), self.size)]
        return [(group, some) for group in range(len(self.groups)) for some in runs]

    def fill(self, task: ScanTask) -> None:
        """Compute the tiles of a task, and show each while it is still in cache."""
        group, some = task
        for columns in cuts_of(self.groups[group], CHUNK):
            targets = self.targets(columns)
            for cut in cuts(len(some), TILE):
                matrix, rows, first = self.tile(self.sources[some[cut]], targets, columns)
                self.visit(Tile(matrix, rows, first, columns, some[cut], group))

    def count(self, task: ScanTask) -> int:
        """Return how many dissimilarities a task computes."""
        group, some = task
        return len(some) * _length(self.groups[group])

    def noted(self) -> dict[str, Any]:
        """Return what a `Work` must know for notes to be taken of it."""
        if self.kept is not None:
            keys = (self.sources[self.positions],)
            return {"keys": keys, "array": self.kept, "place": self._kept_place, "is_kept": True}
        given = np.empty(0, dtype=np.int64) if self.given is None else self.given
        return {
            "keys": (self.sources, given),
            "array": self.sums,
            "place": lambda task: (task[1], task[0]),
        }

    def _kept_place(self, task: ScanTask) -> tuple[Where, slice]:
        return as_slice(self.sources[task[1]]), self.groups[task[0]]

    def recalled(self, task: ScanTask) -> None:
        """Show what was kept as if it had just been computed; sums have been filled in."""
        if self.kept is None:
            return
        group, some = task
        for columns in cuts_of(self.groups[group], CHUNK):
            for cut in cuts(len(some), TILE):
                rows = self.sources[some[cut]]
                self.visit(Tile(self.kept, rows, columns.start, columns, some[cut], group))


@dataclass(frozen=True, kw_only=True, eq=False)
class TableFill:
    """Fills ``out`` with d(target, source), one row a source row, block by block."""

    sources: Ids
    targets: Operand
    out: Floats
    fill_block: Callable[[Ids, Operand, Floats], None]

    def tasks(self) -> Sequence[tuple[slice, slice]]:
        """Return each chunk of target rows with each tile of source rows."""
        tiles = list(cuts(len(self.sources), TILE))
        return [(columns, tile) for columns in cuts(len(self.targets), CHUNK) for tile in tiles]

    def fill(self, task: tuple[slice, slice]) -> None:
        """Compute one block."""
        columns, tile = task
        block = self.out[tile, columns]
        self.fill_block(self.sources[tile], self.targets.take(columns), block)

    def count(self, task: tuple[slice, slice]) -> int:
        """Return how many dissimilarities a task computes."""
        return _length(task[0]) * _length(task[1])

    def noted(self) -> dict[str, Any]:
        """Return what a `Work` must know for notes to be taken of it."""
        return {
            "keys": (self.sources, np.array([len(self.targets)])),
            "array": self.out,
            "place": lambda task: (task[1], task[0]),
            "is_kept": True,
        }

    def recalled(self, task: tuple[slice, slice]) -> None:
        """Do nothing: the block has been filled in."""


def groups_of(n: int) -> list[slice]:
    """Return the groups of ``n`` target rows, each of whole chunks but for the last."""
    chunks = -(-n // CHUNK)
    return list(cuts(n, CHUNK * -(-chunks // _MOST_GROUPS)))


def rows_of_task(metric: Metric, groups: list[slice], is_watched: bool) -> int:
    """Return how many source rows a task of a scan has: fewer where somebody looks on."""
    if metric.is_expensive:
        return _FEW if is_watched and metric.is_by_pairs else TILE
    if not is_watched:
        return _RUN
    n_tiles = _WATCHED_CELLS // (TILE * max(_length(group) for group in groups))
    return min(_RUN, TILE * max(1, n_tiles))


def _length(cut: slice) -> int:
    return int(cut.stop - cut.start)
