"""The long work of the oracle, cut into tasks by the problem: scans of the target, and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.slices import cuts, cuts_of
from protobandit.metrics.metrics import Metric
from protobandit.metrics.operands import Operand

CHUNK: Final = 2048
TILE: Final = 256  # source rows of one product
_MOST_GROUPS = 64
_RUN = 4096  # source rows of one task
_FEW = 8  # the same under an active observer, where pairs are compared one by one
_OBSERVED_CELLS = 1 << 21  # approximate dissimilarities of one task under an active observer

ScanTask: TypeAlias = "tuple[int, slice]"  # a group of target rows, and some of the positions


@dataclass(frozen=True, eq=False)
class Tile:
    """A block of distances, as ``visit`` gets it.

    ``matrix[rows[i], first:]`` starts with d(target, source) for the target rows ``columns``, where
    the source row is the one at ``positions[i]`` of those requested.
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
    """Passes the distances of the whole target to ``sources[positions]`` to ``visit``.

    ``targets`` returns the operand of target rows. ``tile`` computes the distances of some source
    rows to the target rows ``columns``; it returns a matrix, their rows in it, and its first
    column. ``size`` is the number of source rows of a task; tiles, and so all sums, are the same
    for every multiple of ``TILE``.
    """

    sources: Ids
    positions: Ids
    groups: list[slice]
    visit: Visit
    targets: Callable[[slice], Operand]
    tile: Callable[[Ids, Operand, slice], tuple[Floats, Ids, int]]
    size: int

    def tasks(self) -> Sequence[ScanTask]:
        """Return each group of target rows with each run of source rows."""
        runs = list(cuts(len(self.positions), self.size))
        return [(group, some) for group in range(len(self.groups)) for some in runs]

    def fill(self, task: ScanTask) -> None:
        """Compute the tiles of a task, and pass on each while it is still in cache."""
        group, cut = task
        some = self.positions[cut]
        for columns in cuts_of(self.groups[group], CHUNK):
            targets = self.targets(columns)
            for tile in cuts(len(some), TILE):
                matrix, rows, first = self.tile(self.sources[some[tile]], targets, columns)
                self.visit(Tile(matrix, rows, first, columns, some[tile], group))

    def count(self, task: ScanTask) -> int:
        """Return how many evaluations a task counts."""
        group, cut = task
        return _length(self.groups[group]) * _length(cut)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableFill:
    """Fills ``out`` with d(target, source), one row per source row, block by block.

    ``size`` is the number of source rows of a block.
    """

    sources: Ids
    targets: Operand
    out: Floats
    fill_block: Callable[[Ids, Operand, Floats], None]
    size: int = TILE

    def tasks(self) -> Sequence[tuple[slice, slice]]:
        """Return each chunk of target rows with each tile of source rows."""
        tiles = list(cuts(len(self.sources), self.size))
        return [(columns, tile) for columns in cuts(len(self.targets), CHUNK) for tile in tiles]

    def fill(self, task: tuple[slice, slice]) -> None:
        """Compute one block."""
        columns, tile = task
        block = self.out[tile, columns]
        self.fill_block(self.sources[tile], self.targets.take(columns), block)

    def count(self, task: tuple[slice, slice]) -> int:
        """Return how many evaluations a task counts."""
        return _length(task[0]) * _length(task[1])


def groups_of(n: int) -> list[slice]:
    """Return the groups of ``n`` target rows; all but the last consist of whole chunks."""
    chunks = -(-n // CHUNK)
    return list(cuts(n, CHUNK * -(-chunks // _MOST_GROUPS)))


def rows_of_task(metric: Metric, groups: list[slice], is_observed: bool) -> int:
    """Return the number of source rows of a scan's task: fewer under an active observer."""
    if metric.is_expensive:
        return _FEW if is_observed and metric.is_by_pairs else TILE
    if not is_observed:
        return _RUN
    n_tiles = _OBSERVED_CELLS // (TILE * max(_length(group) for group in groups))
    return min(_RUN, TILE * max(1, n_tiles))


def _length(cut: slice) -> int:
    return int(cut.stop - cut.start)
