"""The stages of local search: how many rows, how many passes, and what these cost.

Constants were chosen on Gaussian clusters of Zipf sizes (10^5 and 10^6 rows, 64 columns) and on
MNIST, with other seeds than those of the published comparison. Costs measured there:

- lists of 8, 9 and 11 prototypes, candidates judged on 1,024 rows: 5.1996, 5.1979 and 5.1978 in
  0.63, 0.64 and 0.69 s of passes (10^5 rows, k = 1,000); at effort 0.25 lists of 3 and 4: 5.268 in
  0.67 s and 5.252 in 0.72 s, on MNIST (k = 300) 5.608 in 1.0 s and 5.597 in 1.1 s;
- lists of 9 and 36 candidates per cell, of 8 and 48, of 7 and 64: 5.1987, 5.1981 and 5.1993 in
  0.62, 0.64 and 0.64 s of passes (10^5 rows, k = 1,000, 14 seeds), 5.1355, 5.1355 and 5.1358 in
  3.8, 3.4 and 3.5 s (10^6 rows), 6.1196, 6.1196 and 6.1185 in 0.41, 0.38 and 0.41 s (k = 100),
  4.1876, 4.1868 and 4.1918 in 3.3, 3.6 and 2.7 s (10^5 rows, k = 10,000);
- lists of 8 and 36 candidates per cell, lists of 6 and 24: 5.0724 in 4.7 s and 5.0742 in 4.0 s
  (CIFAR-10 in grey, 50,000 x 1,024, k = 1,000), so long rows have shorter lists and fewer
  candidates; lists of 11 and 36, lists of 6 and 24: 5.193 in 1.4 s and 5.199 in 1.0 s (10^5 rows
  of 64 columns, k = 1,000), so other rows keep them;
- moves judged on the first half of the lists only: 5.990 instead of 5.983;
- candidates judged first on 512, 1,024 or 1,536 rows of a cell: 5.2002, 5.1978 and 5.1974 in 0.66,
  0.69 and 0.75 s of passes (10^5 rows, k = 1,000): worse estimates have more candidates measured on
  all rows in vain; on 512, 1,024 or 2,048 rows: 5.1366, 5.1353 and 5.1346 in 4.8, 4.1 and 5.2 s
  (10^6 rows, one seed);
- 24, 40 or 64 prototypes near a cell: 5.0516, 5.0481 and 5.0477 (MNIST, k = 1,000); 40 or 64:
  4.1917 and 4.1863 (10^5 rows, k = 10,000); in about the same time;
- many source rows compared with 4 sqrt(k) cells and those around, or with all: 5.2107 in 1.6 s and
  5.2100 in 2.4 s at effort 0.25, 5.312 in 0.9 s and 5.309 in 1.7 s at effort 0.05 (10^6 rows,
  k = 1,000). Where source and judged rows are as many, it would save less and cost more: 4.746 in
  6.9 s and 4.738 in 10.1 s (3 x 10^5 source and 2 x 10^5 other target rows, k = 5,000), and 0.2%
  for nothing on synthetic embeddings. With 2 sqrt(k) cells one row in ten misses its cell and seems
  far, so that it is drawn more often: 0.6% worse;
- at effort 0.05, 10,362 instead of 32,768 judged rows and a start from 1.3 instead of 4.2 million
  distances (k = 100, six seeds): 0.57 to 0.67 of the CPU time for 0.4% more cost (clusters, MNIST,
  embeddings; 0.8% on a table of 5 columns); fewer distances of the start alone cost nothing;
- few cells need more rows: from 512 to 2,900 at k = 100: 6.924 -> 6.922 (10^5 rows), 6.045 -> 6.040
  (MNIST); from 512 to 8,192 at k = 20: 8.698 -> 8.671;
- k = 10,000 of 10^5 rows: up to 10 passes 5.030, up to 16 passes 5.020; lists of 24 5.021;
- k = 10,000 of 10^6 rows: passes until one gains less than 0.03%, 4.4953 in 29 s; less than 0.01%,
  4.4888 in 31 s (one seed); lists of 9 instead of 8, 4.4945 in 30 s;
- candidates that are central in their cell instead of near its prototype: 6.012 -> 5.994 (10^6
  rows, k = 1,000) and 6.882 -> 6.826 (k = 100); 8, 16 or 32 probes make no difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from protobandit.search.drivers.localsearch.prototype_index import (
    AROUND,
    LEAST_PROTOTYPES,
    n_pivots_of,
)

_FIRST_ROWS = 100  # judged rows per prototype of the first stage
_LEAST_ROWS = 1 << 15  # judged rows of the first stage, at most all
_GROWTH = 8  # at most, from one stage to the next
_MOST_ROWS = 2_000  # judged rows per prototype of the last stage, times the effort
_MOST_JUDGED = 4_000_000  # judged rows of the last stage at balanced effort
_BALANCED = 2.5
_CANDIDATES, _FEWEST_CANDIDATES, _PROBES, _COMMON = 48, 24, 16, 64  # per cell
_CANDIDATES_OF_LONG_ROWS = 24
_SMALL_CELL = 36  # rows: of smaller ones, lists are longer and passes more
_SCREENED, _LEAST_SCREENED, _MOST_SCREENED = 1024, 384, 8192  # rows that judge candidates of a cell
_FEW_CELLS, _MANY_CELLS = 64, 1000
_SCREENED_POWER = 0.6
_LENGTH, _LENGTH_OF_LONG_ROWS, _LONG_ROW = 5.0, 4.0, 1024  # of lists at effort 1; bytes
_SHORTEST_LIST, _LONGEST_LIST = 4, 20
_MOST_GREEDY = 200  # prototypes of which a greedy start finds good ones
_START_ARMS, _LEAST_START, _MOST_START = 1000, 1 << 20, 1 << 22  # source rows, and distances
_STARTED = 128  # distances of the start per judged row, between these two numbers
_MANY_CELLS_OF_POOL, _MANY_SOURCES = 512, 4  # cells, and source rows per judged row
_LITTLE_EFFORT = 0.5
MOST_STEPS, _STEPS = 4, 2.2  # of a source row, from one cell to a nearer one: at most, on average
_FIRST_CELLS = 4.0  # times sqrt(k): with which source rows are compared first
_HELD_BYTES = 1 << 30  # of source rows that are kept in memory beside the judged rows
_FREE = 64  # prototypes, one of which may serve no row
SERVED = 8  # judged rows per prototype, from which on one that serves none is of no use
_MOST_EXPECTED_PASSES = 12  # before the gain is small, however many are allowed
_FEWEST_PASSES = 3
_PASSES = 0.9  # share of the passes that are made before the gain is small
_ACTIVE = 0.7  # share of cells that a pass judges, on average over a stage
_MEASURED, _REFRESHED = 0.5, 0.5  # candidates measured, prototypes compared, of the most possible


@dataclass(frozen=True, kw_only=True)
class Width:
    """How many rows and prototypes a pass compares.

    ``n_near`` is the length of the lists, ``n_candidates`` the number of candidates per cell, of
    which ``n_drawn`` are drawn in proportion to their distance, ``n_probes`` the number of judged
    rows by which central rows are found, ``n_screened`` the number of those on which candidates are
    judged first, and ``n_common`` the number of prototypes near a cell.
    """

    n_near: int
    n_candidates: int
    n_drawn: int
    n_probes: int
    n_screened: int
    n_common: int = _COMMON


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Passes on one set of judged rows.

    Moves are judged on ``n_rows`` target rows. ``n_sources`` source rows may become prototypes;
    ``are_judged`` is whether these are the judged rows, ``is_held`` whether they are kept in memory
    (otherwise they are read once per pass), and ``is_descending`` whether they find their cells
    without being compared with all (see `pools`). The prototypes are assigned ``n_rounds`` times,
    each time with up to ``n_passes`` passes; a round ends when a pass lowers the cost by less than
    ``least_gain`` of it.
    """

    n_rows: int
    n_sources: int
    are_judged: bool
    is_held: bool
    width: Width
    n_rounds: int
    n_passes: int
    least_gain: float
    is_descending: bool = False

    def expected_passes(self, k: int) -> float:
        """Return about how many passes over all cells a round has."""
        # Few prototypes start at good places.
        most = min(_MOST_EXPECTED_PASSES, 2.5 * math.sqrt(math.sqrt(k)))
        return _ACTIVE * min(_PASSES * self.n_passes, most)


def start_size(size: Size, first: Stage) -> tuple[int, int]:
    """Return how many source and target rows a greedy start compares; (0, 0) for a random one.

    It takes at most a quarter of the limit of evaluations, and little time beside the ``first``
    stage if that judges few rows.
    """
    if size.k > _MOST_GREEDY or size.k >= size.n_source:
        return 0, 0
    n_arms, most = min(size.n_source, max(_START_ARMS, 10 * size.k)), _MOST_START
    if first.n_rows < size.n_target:
        most = min(most, max(_LEAST_START, _STARTED * first.n_rows))
    if size.limit is not None:
        most = min(most, size.limit // 4)
    n_rows = min(size.n_target, most // n_arms)
    return (n_arms, n_rows) if n_rows >= size.k else (0, 0)


def least_free_slots(k: int) -> int:
    """Return how many prototypes that serve no row are too many for the passes."""
    return max(2, k // _FREE)


def _few_rows(k: int, effort: float) -> int:
    """Return how many judged rows the first stage has at least, unless there are fewer."""
    few = round(_LEAST_ROWS * math.sqrt(min(1.0, effort / _LITTLE_EFFORT)))
    return min(_LEAST_ROWS, max(_FIRST_ROWS * k, few))


def n_first_cells(k: int) -> int:
    """Return about how many of k cells source rows are compared with before they go on."""
    return math.ceil(_FIRST_CELLS * math.sqrt(k))


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a problem, as far as stages depend on it.

    ``is_same`` is whether source and target are the same rows, ``is_indexed`` whether prototypes
    can be found by an index. ``row_bytes`` are those of a prepared row, ``itemsize`` of a distance.
    ``limit`` is that of evaluations.
    """

    n_source: int
    n_target: int
    k: int
    is_same: bool
    is_indexed: bool
    row_bytes: float
    itemsize: int
    limit: int | None = None

    def stages(self, effort: float, most_rows: int | None = None) -> tuple[Stage, ...]:
        """Return the stages of a search; ``most_rows`` bounds the number of judged rows."""
        k, few = self.k, _few_rows(self.k, effort)
        most = min(self.n_target, max(few, math.ceil(_MOST_ROWS * k * effort / _BALANCED)))
        most = min(most, max(math.ceil(_MOST_JUDGED * effort / _BALANCED), 10 * k))
        if most_rows is not None:
            most = max(1, min(most, most_rows))
        sizes = [most]
        least = max(few, _FIRST_ROWS * k)
        while sizes[0] > 2 * least:
            sizes.insert(0, max(least, sizes[0] // _GROWTH))
        stages = [self._stage(n_rows, effort, is_last=n_rows == most) for n_rows in sizes]
        n_drawn = stages[-1].n_sources
        if n_drawn < self.n_source:
            stages.append(self._reading_stage(stages[-1], effort))
        return tuple(stages)

    def _stage(self, n_rows: int, effort: float, *, is_last: bool) -> Stage:
        n_sources = n_rows if self.is_same else min(self.n_source, n_rows)
        per_cell = max(1.0, n_sources / self.k)
        length = _LENGTH_OF_LONG_ROWS if self._has_long_rows else _LENGTH
        length *= math.sqrt(effort) * max(1.0, _SMALL_CELL / per_cell) ** 0.7
        n_near = min(self.k, max(_SHORTEST_LIST, min(_LONGEST_LIST, round(length))))
        return Stage(
            n_rows=n_rows,
            n_sources=n_sources,
            are_judged=self.is_same,
            is_held=True,
            is_descending=not self.is_same and self._is_descending(n_sources, n_rows, effort),
            width=self._width(n_near, effort),
            n_rounds=2 if is_last and self.k >= LEAST_PROTOTYPES else 1,
            n_passes=self._n_passes(n_rows, effort) if is_last else 8,
            least_gain=self._least_gain(n_rows, effort) if is_last else 2e-3,
        )

    def _width(self, n_near: int, effort: float) -> Width:
        # Few cells are large, so that many of their rows are almost central.
        few = min(4.0, max(1.0, _FEW_CELLS / self.k))
        share = effort / _BALANCED
        n_screened = _SCREENED * share * max(1.0, _MANY_CELLS / self.k) ** _SCREENED_POWER
        n_balanced = _CANDIDATES_OF_LONG_ROWS if self._has_long_rows else _CANDIDATES
        n_candidates = round(n_balanced * few * min(4.0, math.sqrt(share)))
        return Width(
            n_near=n_near,
            n_candidates=max(_FEWEST_CANDIDATES, n_candidates),
            n_drawn=max(_FEWEST_CANDIDATES, n_candidates) // 3,
            n_probes=round(_PROBES * few),
            n_screened=min(_MOST_SCREENED, max(_LEAST_SCREENED, round(n_screened))),
        )

    @property
    def _has_long_rows(self) -> bool:
        """Return whether computing distances takes most of the time of a pass."""
        return self.row_bytes >= _LONG_ROW

    def _n_passes(self, n_rows: int, effort: float) -> int:
        # Few rows allow more passes, and there a cell matters more.
        most = 20 if n_rows <= _LEAST_ROWS else 10 if self._has_small_cells(n_rows) else 6
        return max(_FEWEST_PASSES, round(most * math.sqrt(effort)))

    def _least_gain(self, n_rows: int, effort: float) -> float:
        # With many prototypes, passes take little time beside the assignment of all rows.
        is_cheap = self._has_small_cells(n_rows) or self.k >= LEAST_PROTOTYPES
        return (2.5e-4 if is_cheap else 7.5e-4) / effort

    def _has_small_cells(self, n_rows: int) -> bool:
        """Return whether passes take little time, compared with the assignment of all rows."""
        return n_rows < _SMALL_CELL * self.k

    def _reading_stage(self, last: Stage, effort: float) -> Stage:
        """Return the stage in which all source rows take part, where they did not before."""
        is_held = self.n_source * self.row_bytes <= _HELD_BYTES
        return replace(
            last,
            n_sources=self.n_source,
            are_judged=False,
            is_held=is_held,
            is_descending=is_held and self._is_descending(self.n_source, last.n_rows, effort),
            n_rounds=1,
            n_passes=1 if effort <= 1 else 2,
        )

    def _is_descending(self, n_sources: int, n_rows: int, effort: float) -> bool:
        is_long = n_sources >= _MANY_SOURCES * n_rows or effort < _LITTLE_EFFORT
        return self.k >= _MANY_CELLS_OF_POOL and is_long

    def assignment_evaluations(self, stage: Stage, *, is_most: bool = False) -> int:
        """Return about how many evaluations assigning the rows of a stage to prototypes has.

        With ``is_most``, source rows take as many as they can.
        """
        own = self._pool_evaluations(stage, is_most=is_most)
        if self.k < LEAST_PROTOTYPES or not self.is_indexed:
            return stage.n_rows * self.k + own
        n_pivots = n_pivots_of(self.k)
        around = math.ceil(AROUND * self.k / n_pivots)
        compared = (stage.n_rows + self.k + n_pivots) * n_pivots + stage.n_rows * around
        return compared + own

    def _pool_evaluations(self, stage: Stage, *, is_most: bool) -> int:
        """Return how many evaluations finding the cells of all source rows has, or at most has."""
        if stage.are_judged:
            return 0
        if not stage.is_descending:
            return stage.n_sources * self.k
        n_first, n_common = n_first_cells(self.k), stage.width.n_common
        if is_most:  # the first cells are at equal steps, so there may be twice as many
            return stage.n_sources * (2 * n_first + MOST_STEPS * n_common)
        return round(stage.n_sources * (n_first + _STEPS * min(n_common, 3 * stage.width.n_near)))

    def pass_evaluations(self, stage: Stage) -> int:
        """Return about how many evaluations a pass over all cells has."""
        width, per_cell = stage.width, stage.n_sources / self.k
        n_probed = stage.n_sources * width.n_probes if per_cell > width.n_candidates else 0
        judged = self._n_screened(stage) * min(width.n_candidates, per_cell)
        measured = stage.n_rows * width.n_near * _MEASURED
        compared = stage.n_rows * width.n_common * _REFRESHED
        return round(judged + n_probed + measured + compared + self._update_evaluations(stage) / 2)

    def most_pass_evaluations(self, stage: Stage) -> int:
        """Return a number of evaluations that a pass does not exceed."""
        width = stage.width
        # A candidate is judged in one cell.
        judged = min(
            self._n_screened(stage) * width.n_candidates,
            min(stage.n_rows, width.n_screened) * stage.n_sources,
        )
        measured = stage.n_rows * (2 * width.n_near + width.n_common)
        probed = stage.n_sources * width.n_probes
        return judged + measured + probed + self._update_evaluations(stage)

    def _n_screened(self, stage: Stage) -> int:
        """Return on how many rows candidates are judged, at most, counted once for each cell."""
        width = stage.width
        return min(stage.n_rows * width.n_near, self.k * width.n_screened)

    def _update_evaluations(self, stage: Stage) -> int:
        if stage.are_judged:
            return 0
        return stage.n_sources * (stage.width.n_common if stage.is_held else self.k)

    def evaluations(self, stages: Sequence[Stage]) -> int:
        """Return about how many evaluations all stages have."""
        return self._start_evaluations(stages) + sum(
            stage.n_rounds
            * (
                self.assignment_evaluations(stage)
                + round(stage.expected_passes(self.k) * self.pass_evaluations(stage))
            )
            for stage in stages
        )

    def most_evaluations(self, stages: Sequence[Stage]) -> int:
        """Return a number of evaluations that all stages do not exceed."""
        return self._start_evaluations(stages) + sum(
            stage.n_rounds
            * (self._most_assignment(stage) + stage.n_passes * self.most_pass_evaluations(stage))
            for stage in stages
        )

    def _start_evaluations(self, stages: Sequence[Stage]) -> int:
        n_arms, n_rows = start_size(self, stages[0])
        return n_arms * n_rows

    def least_evaluations(self, stages: Sequence[Stage]) -> int:
        """Return the most that the start and the first pass need."""
        first = stages[0]
        assignment = self.assignment_evaluations(first, is_most=True)
        return self._start_evaluations(stages) + assignment + self.most_pass_evaluations(first)

    def filling(self, stage: Stage) -> int:
        """Return how many evaluations may be spent on prototypes that serve no row, per round."""
        return 2 * stage.n_rows * (self.k + stage.width.n_common)

    def _most_assignment(self, stage: Stage) -> int:
        own = self._pool_evaluations(stage, is_most=True)
        n_pivots = n_pivots_of(self.k)
        # In the worst case all prototypes belong to a few pivots.
        extra = (stage.n_rows + self.k + n_pivots) * n_pivots if self.k >= LEAST_PROTOTYPES else 0
        return stage.n_rows * self.k + extra + own + self.filling(stage)

    def memory(self, stages: Sequence[Stage]) -> int:
        """Return the bytes that the largest stage keeps."""
        return max(self._stage_memory(stage) for stage in stages)

    def _stage_memory(self, stage: Stage) -> int:
        lists = stage.n_rows * stage.width.n_near * (4 + self.itemsize)
        grouped = stage.n_rows * stage.width.n_near * (4 + 2 * self.itemsize)
        grouped += self._n_screened(stage) * (4 + self.itemsize)
        rows = stage.n_rows * (self.row_bytes + 36)
        sources = 0.0 if stage.are_judged else stage.n_sources * (12 + self.itemsize)
        if not stage.are_judged and stage.is_held:
            sources += stage.n_sources * (self.row_bytes + 16 * stage.is_descending)
        width = stage.width
        cells = self.k * (32 * width.n_candidates + 8 * width.n_common + 256 + 3 * self.row_bytes)
        return round(2 * lists + grouped + 1.5 * rows + sources + cells + 2 * self.n_source)


def n_list_entries(stages: Sequence[Stage], k: int) -> float:
    """Return about how many entries of lists all passes read."""
    return sum(
        stage.n_rounds * stage.expected_passes(k) * stage.n_rows * stage.width.n_near
        for stage in stages
    )
