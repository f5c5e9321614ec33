"""The oracle: the only code that computes dissimilarities, and the only one that counts them.

Theory of operation
-------------------
*Evaluations* are dissimilarities computed, *lookups* are answers from what was kept. Both are added
once per block, in the coordinating thread, under the current phase.

A scan of the whole target (`scan`) is cut into tiles by the problem alone: target rows in chunks of
``CHUNK``, chunks in at most 64 groups, source rows in runs. So all sums have the same bits on any
number of threads. A tile is computed, passed to ``visit`` while it is still in cache, and dropped,
unless the oracle keeps the matrix (`keep`). ``visit`` runs on several threads and must write only
to the places of its own tile.

A user's own function is only called on the calling thread, one block after the other, and BLAS
keeps its threads meanwhile. The sequence of blocks is fixed by the problem and the seed. That is
why a log of these blocks (`BlockLog`) is enough to resume a search with such a metric: the search
runs again from its start and takes the blocks from the log until it is at its end.

Under an active observer long work is done some tasks at a time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids, Where
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.foundation.observer import NO_OBSERVER, Halt, Observer, Work
from protobandit.foundation.slices import as_slice, cuts, cuts_of
from protobandit.foundation.threads import (
    Task,
    load_compiled_blas,
    one_blas_thread,
    run,
    worker_count,
)
from protobandit.kernels.cells import judge
from protobandit.kernels.dense_rows import strided_centre
from protobandit.metrics.operands import Operand
from protobandit.oracle.counts import Counts
from protobandit.oracle.nearest_since import fill_nearest
from protobandit.oracle.patches import Judged, Patches
from protobandit.oracle.tasks import (
    CHUNK,
    TILE,
    Scan,
    TableFill,
    Tile,
    Visit,
    groups_of,
    rows_of_task,
)
from protobandit.problem.problem import Problem
from protobandit.rows.rows import Rows

_LOOKUP_RUN = 64  # kept rows of one task
_SMALL_WORK = 4_000_000  # multiplications below which a second thread does not pay
_CACHED_CELLS = 1 << 24
_BLOCK_CELLS = 1 << 19
_PARTS = 64  # of target rows, at most
_GATHERED = 1 << 12  # rows of one task that gathers them
_NARROW = 32  # target rows, below which a block has more source rows
_CENTRE_ROWS = 2048
_OWN_EFFORT = 1e5  # multiplications in the time of one call of a user's own function


class BlockLog(Protocol):
    """The blocks that a user's own function has returned, in the order of its calls."""

    def read(self, out: Floats) -> bool:
        """Fill ``out`` with the next block of an earlier run; return False if there is none."""
        ...

    def append(self, block: Floats) -> None:
        """Add a block that was computed."""
        ...


class _TilesOf:
    """The tiles in which the rows of some scans were computed."""

    def __init__(self, scans: list[Ids], n_source: int) -> None:
        self.scans = scans
        self._tiles = [scan[cut] for scan in scans for cut in cuts(len(scan), TILE)]
        self._tile_of = np.full(n_source, -1)
        for i, tile in enumerate(self._tiles):
            self._tile_of[tile] = i

    def with_rows(self, sources: Ids) -> list[Ids]:
        """Return the tiles that have some of these rows; not every row has a tile."""
        found = np.unique(self._tile_of[sources])
        return [self._tiles[i] for i in found[found >= 0]]


class Oracle:
    """Compute and count dissimilarities of source rows and target rows.

    ``n_jobs`` is the number of threads; None or -1 for all available cores. ``observer`` observes
    long work. ``log`` is where the blocks of a user's own function are logged, if anywhere.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        n_jobs: int | None = None,
        counts: Counts | None = None,
        observer: Observer = NO_OBSERVER,
        log: BlockLog | None = None,
    ) -> None:
        self.problem = problem
        self.counts = Counts() if counts is None else counts
        self.phase = "build"
        self.observer = observer
        self.log = log
        self.groups = groups_of(len(problem.target))
        self._metric = problem.metric
        self.dtype = problem.distance_dtype
        self._workers = worker_count(n_jobs)
        self._centre = self._find_centre()
        self._kept: Floats | None = None
        self._is_kept = np.zeros(0, dtype=bool)
        self._n_measured = 0  # by an expensive metric under an observer
        self._n_present = 0  # rows that are kept, those that an earlier run had kept not counted
        self._tiles = _TilesOf([], 0)

    def beside(self, problem: Problem) -> Oracle:
        """Return an oracle of other rows or another metric that shares counts, observer and log."""
        return Oracle(
            problem,
            n_jobs=self._workers,
            counts=self.counts,
            observer=self.observer,
            log=self.log,
        )

    def uncounted(self) -> Oracle:
        """Return an oracle of the same rows whose work is neither counted nor interrupted."""
        other = copy(self)
        other.counts, other.observer, other.log = Counts(), NO_OBSERVER, None
        return other

    @property
    def evaluations(self) -> Counter[str]:
        """Return the dissimilarities computed, by phase."""
        return self.counts.evaluations

    @property
    def lookups(self) -> Counter[str]:
        """Return the answers from what was kept, by phase."""
        return self.counts.lookups

    # -- state ----------------------------------------------------------------------------------

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Count under ``phase``."""
        before, self.phase = self.phase, phase
        try:
            yield
        finally:
            self.phase = before

    def at_work(self) -> AbstractContextManager[None]:
        """Limit BLAS to one thread, unless the metric is the user's own function."""
        return nullcontext() if self._metric.is_expensive else one_blas_thread()

    @property
    def matrix_bytes(self) -> int:
        """Return the bytes of all dissimilarities."""
        return len(self.problem.source) * len(self.problem.target) * self.dtype.itemsize

    def keep(self) -> None:
        """Keep every dissimilarity that a scan computes from now on; what is kept stays.

        Rows that an earlier run had kept (``counts.kept``) are computed when they are needed, each
        with the rows of its tile in that run, and count as lookups.
        """
        if self._kept is None:
            shape = len(self.problem.source), len(self.problem.target)
            self._kept = np.empty(shape, dtype=self.dtype)
            self._is_kept = np.zeros(shape[0], dtype=bool)

    @property
    def n_kept(self) -> int:
        """Return the number of source rows whose dissimilarities have been kept.

        In a resumed run, rows that the earlier run had kept count too.
        """
        return self.counts.n_kept

    @property
    def kept(self) -> Floats | None:
        """Return all dissimilarities, one row per source row, if every one has been kept."""
        return self._kept if self._kept is not None and self._is_kept.all() else None

    # -- rows -----------------------------------------------------------------------------------

    def targets(self, where: Where) -> Operand:
        """Return the operand of these target rows; costs no evaluation."""
        if self.problem.target is self.problem.source:
            return self.sources(where)
        return self._metric.prepare(self.problem.target.take(where), self._centre)

    def many_targets(self, ids: Ids) -> Operand:
        """Return what `targets` returns, prepared in parallel if the rows are in memory."""
        return self._many(self.problem.target, ids, self.targets)

    def many_sources(self, ids: Ids) -> Operand:
        """Return what `sources` returns, prepared in parallel if the rows are in memory."""
        if self._all_sources is not None:
            return self.sources(as_slice(ids))
        return self._many(self.problem.source, ids, self.sources)

    def _many(self, rows: Rows, ids: Ids, operand_of: Callable[[Where], Operand]) -> Operand:
        """Return the operand of some rows; consecutive rows are not copied if they need not be."""
        where = as_slice(ids)
        if len(ids) == 0 or not rows.is_in_memory or operand_of(ids[:1]).at is not None:
            return operand_of(where)
        some: Where = slice(where.start, where.start + 1) if isinstance(where, slice) else ids[:1]
        first, block = operand_of(some), rows.take(some)
        is_given = isinstance(where, slice) and np.may_share_memory(first.given, block)
        whole = Operand(
            *(
                None if part is None else np.empty((len(ids), *part.shape[1:]), part.dtype)
                for part in (None if is_given else first.given, first.norms, first.near)
            )
        )

        def fill(cut: slice) -> None:
            part = operand_of(as_slice(ids[cut]))
            for name in ("given", "norms", "near"):
                out = getattr(whole, name)
                if out is not None:
                    out[cut] = getattr(part, name)

        self.share(fill, cuts(len(ids), _GATHERED), rows.n_cells)
        return replace(whole, given=rows.take(where)) if is_given else whole

    def operand(self, rows: Rows) -> Operand:
        """Return the operand of rows that a stream has delivered; costs no evaluation."""
        return self._metric.prepare(rows.take(slice(0, len(rows))), self._centre)

    def sources(self, where: Where) -> Operand:
        """Return the operand of these source rows; costs no evaluation."""
        if self._all_sources is not None:
            return self._all_sources.take(where)
        return self._metric.prepare(self.problem.source.take(where), self._centre)

    @cached_property
    def _all_sources(self) -> Operand | None:
        """Return the operand of the whole source, if it is small enough to be kept twice."""
        source = self.problem.source
        if source.n_cells > _CACHED_CELLS or source.is_partitioned:
            return None
        return self._metric.prepare(source.take(slice(0, len(source))), self._centre)

    def _find_centre(self) -> Doubles | None:
        if not self._metric.is_centred or self.problem.target.kind != "dense":
            return None
        sides = {id(rows): rows for rows in (self.problem.source, self.problem.target)}
        return strided_centre(*(rows.sample(_CENTRE_ROWS) for rows in sides.values()))

    # -- answers --------------------------------------------------------------------------------

    def distances(self, sources: Ids, targets: Operand) -> Floats:
        """Return d(target, source), one row per source row."""
        out = np.empty((len(sources), len(targets)), dtype=self.dtype)
        n = self._count(len(sources) * len(targets))

        def fill(tile: slice) -> None:
            self._fill(self.sources(sources[tile]), targets, out[tile])

        self._run(fill, cuts(len(sources), TILE), n)
        return out

    def nearest_since(self, sources: Operand, targets: Operand, since: Ids) -> Floats:
        """Return min d(target j, sources[since[j]:]), infinite where that leaves none."""
        self._count(int((len(sources) - since).sum()))
        nearest = np.full(len(targets), np.inf, dtype=self.dtype)
        can_pair = self._metric.fill_pairs is not None and isinstance(targets.given, np.ndarray)
        pairs = self._fill_pairs if can_pair else None
        fill_nearest(sources, targets, since, nearest, fill=self._fill, fill_pairs=pairs)
        return nearest

    def visit(
        self,
        sources: Ids | Operand,
        targets: Operand,
        visit: Callable[[Floats, slice], None],
        size: int = TILE,
    ) -> None:
        """Compute d(target, source) in tiles of ``size`` source rows and pass each to ``visit``.

        ``sources`` are the numbers of the rows, or their operand.
        """
        n = self._count(len(sources) * len(targets))

        def fill(tile: slice) -> None:
            if isinstance(sources, Operand):
                rows = sources.take(tile)
            else:
                rows = self.sources(as_slice(sources[tile]))
            block = np.empty((len(rows), len(targets)), dtype=self.dtype)
            self._fill(rows, targets, block)
            visit(block, tile)

        self._run(fill, cuts(len(sources), size), n)

    def column(self, source: int) -> Floats:
        """Return the distances of the whole target to one source row, under the phase "assign"."""
        with self.during("assign"):
            return self._column(source)

    def _column(self, source: int) -> Floats:
        self._recover(np.array([source]))
        if self._kept is not None and self._is_kept[source]:
            self.lookups[self.phase] += len(self.problem.target)
            kept: Floats = self._kept[source]
            return kept
        out = np.empty((1, len(self.problem.target)), dtype=self.dtype)
        n = self._count(out.size)
        row = self.sources(np.array([source]))

        def fill(columns: slice) -> None:
            self._fill(row, self.targets(columns), out[:, columns])

        self._run(fill, cuts(out.shape[1], CHUNK), n)
        column: Floats = out[0]
        return column

    def tabulate(self, sources: Ids, targets: Operand, out: Floats) -> None:
        """Fill ``out`` with d(target, source), one row per source row."""

        def fill(rows: Ids, some: Operand, block: Floats) -> None:
            self._fill(self.sources(as_slice(rows)), some, block)

        # Blocks of few target rows are long, or most of the time is spent between blocks.
        length = 1 if self._metric.is_expensive else max(1, _NARROW // max(len(targets), 1))
        table = TableFill(
            sources=sources, targets=targets, out=out, fill_block=fill, size=length * TILE
        )
        self._carry_out(table, out.size)

    def each_patch(
        self, patches: Sequence[tuple[Ids, Operand]], visit: Callable[[Floats, int], None]
    ) -> None:
        """Compute d(target, source) for many small sets of source rows and target rows.

        ``visit`` gets each block, one row per source row, and the number of its patch.
        """
        n = self._count(sum(len(sources) * len(targets) for sources, targets in patches))

        def fill(patch: int) -> None:
            sources, targets = patches[patch]
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
            self._fill(self.sources(as_slice(sources)), targets, block)
            visit(block, patch)

        self._run(fill, range(len(patches)), n)

    def each_block(
        self, blocks: Sequence[tuple[Ids, Ids]], visit: Callable[[Floats, int], None]
    ) -> None:
        """Do as `each_patch` with the numbers of target rows, which are read in the task."""
        n = self._count(sum(len(sources) * len(targets) for sources, targets in blocks))

        def fill(number: int) -> None:
            sources, targets = blocks[number]
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
            self._fill(self.sources(as_slice(sources)), self.targets(as_slice(targets)), block)
            visit(block, number)

        self._run(fill, range(len(blocks)), n)

    def visit_patches(
        self,
        patches: Patches,
        rows: Operand,
        candidates: Operand,
        visit: Callable[[Floats, Ids, slice], None],
        *,
        are_targets: bool = True,
    ) -> None:
        """Compute the distances of patches in runs and pass each run to ``visit``.

        ``visit`` gets the distances of a run, one line per row, where each of its patches begins in
        them, and the run. The rows are target rows and the candidates source rows, or the reverse
        if not ``are_targets``.
        """
        fill_patches, room = self._patch_filler(rows), threading.local()

        def fill(run: slice) -> None:
            at = patches.at[run.start : run.stop + 1] - patches.at[run.start]
            if at[-1] == 0:  # patches without rows or without candidates
                return
            values = self._room(room, at[-1])
            if fill_patches is not None:
                fill_patches(rows, candidates, patches, run, at[:-1], values, None)
            else:
                self._fill_run(patches, run, at, rows, candidates, values, are_targets)
            visit(values, at, run)

        self._run(fill, patches.runs(), self._count(patches.n_entries))

    def judge_patches(
        self,
        patches: Patches,
        rows: Operand,
        candidates: Operand,
        judged: Judged,
        out: Floats | None = None,
    ) -> None:
        """Judge the candidates of patches, source rows, by what they would change for target rows.

        The distances are written to ``out`` from ``patches.at`` on, if it is passed.
        """
        fill_patches, room = self._patch_filler(rows), threading.local()

        def fill(run: slice) -> None:
            first, last = patches.at[run.start], patches.at[run.stop]
            at = patches.at[run.start : run.stop + 1] - first
            if at[-1] == 0:
                return
            kept = None if out is None else out[first:last]
            if fill_patches is not None:
                fill_patches(rows, candidates, patches, run, at[:-1], kept, judged)
                return
            values = self._room(room, at[-1]) if kept is None else kept
            self._fill_run(patches, run, at, rows, candidates, values, are_targets=True)
            cells, weights, served, D, E, changes, gains = judged.arrays(run)
            first, last = patches.first[run], patches.last[run]
            n = patches.end[run] - patches.begin[run]
            ids = patches.row_ids
            judge(
                values, at[:-1], first, last, cells, ids, weights, served, D, E, n, changes, gains
            )

        runs = patches.runs(are_kept=out is not None or fill_patches is None)
        self._run(fill, runs, self._count(patches.n_entries))

    def _patch_filler(self, rows: Operand) -> Callable[..., None] | None:
        """Return the function of the metric that fills patches with these rows, or None."""
        if self._metric.fill_patches is None or not isinstance(rows.given, np.ndarray):
            return None
        load_compiled_blas()
        return self._metric.fill_patches

    def _room(self, room: threading.local, n: int) -> Floats:
        """Return n numbers that a thread uses again: to ask for memory takes longer than that."""
        if len(getattr(room, "values", ())) < n:
            room.values = np.empty(n, dtype=self.dtype)
        values: Floats = room.values[:n]
        return values

    def _fill_run(
        self,
        patches: Patches,
        run: slice,
        at: Ids,
        rows: Operand,
        candidates: Operand,
        values: Floats,
        are_targets: bool,
    ) -> None:
        for p in range(run.start, run.stop):
            own = values[at[p - run.start] : at[p - run.start + 1]]
            self._fill_patch(patches, p, rows, candidates, are_targets, own)

    def _fill_patch(
        self,
        patches: Patches,
        p: int,
        rows: Operand,
        candidates: Operand,
        are_targets: bool,
        out: Floats,
    ) -> None:
        some = rows.take(patches.rows_of(p))
        others = candidates.take(patches.candidates_of(p))
        if len(some) == 0 or len(others) == 0:
            return
        lines = out.reshape(len(some), len(others))
        if not are_targets:
            self._fill(some, others, lines)
            return
        block = np.empty((len(others), len(some)), dtype=self.dtype)
        self._fill(others, some, block)
        lines[:] = block.T

    def look_up(self, n: int) -> None:
        """Count answers from a table as lookups."""
        self.lookups[self.phase] += n

    def share(
        self,
        function: Callable[[Task], None],
        tasks: Iterable[Task],
        n: int,
        may_halt: bool = False,
    ) -> None:
        """Run ``function`` on every task; on this thread alone if the work ``n`` is small.

        The unit of work is a multiplication.

        An interruption ends it between two tasks only if ``may_halt``.
        """
        workers = self._workers if n > _SMALL_WORK else 1
        if may_halt:
            self._observed(function, tasks, workers, n)
        else:
            run(function, tasks, workers)

    def each_chunk(
        self,
        sources: Ids,
        visit: Callable[[Floats, slice], None],
        rows: Ids | None = None,
    ) -> None:
        """Pass the distances to all ``sources`` to ``visit``, chunk by chunk of target rows.

        ``rows`` are the target rows (all by default). ``visit`` gets the block, one row per source
        row, and the slice of ``rows`` it belongs to.
        """
        n_rows = len(self.problem.target) if rows is None else len(rows)
        n = self._count(len(sources) * n_rows)
        prepared = self.sources(as_slice(sources))

        def fill(cut: slice) -> None:
            targets = self.targets(cut if rows is None else rows[cut])
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
            self._fill(prepared, targets, block)
            visit(block, cut)

        size = max(1, min(CHUNK, _BLOCK_CELLS // len(sources)))
        self._run(fill, cuts(n_rows, size), n)

    def each_part(
        self,
        sources: Ids,
        visit: Callable[[Floats, slice, int], None],
        rows: Ids | None = None,
    ) -> int:
        """Do as `each_chunk`, in parts of the rows; return the number of parts, at most 64.

        ``visit`` also gets the number of the part. The chunks of a part are visited in order, so
        sums over a part have the same bits on any number of threads.
        """
        n_rows = len(self.problem.target) if rows is None else len(rows)
        n = self._count(len(sources) * n_rows)
        prepared = self.sources(as_slice(sources))
        size = max(1, min(CHUNK, _BLOCK_CELLS // len(sources)))
        parts = list(cuts(n_rows, size * -(-n_rows // (size * _PARTS))))

        def fill(part: int) -> None:
            for cut in cuts_of(parts[part], size):
                targets = self.targets(cut if rows is None else rows[cut])
                block = np.empty((len(sources), len(targets)), dtype=self.dtype)
                self._fill(prepared, targets, block)
                visit(block, cut, part)

        self._run(fill, range(len(parts)), n)
        return len(parts)

    def scan(self, sources: Ids, visit: Visit) -> None:
        """Pass the distances of the whole target to each of ``sources`` to ``visit``, in tiles."""
        self._recover(sources)
        is_known = np.zeros(len(sources), bool) if self._kept is None else self._is_kept[sources]
        known, new = np.flatnonzero(is_known), np.flatnonzero(~is_known)
        self._look_up(sources, known, visit)
        self._compute(sources, new, visit)

    def _look_up(self, sources: Ids, positions: Ids, visit: Visit) -> None:
        if self._kept is None or len(positions) == 0:
            return
        kept = self._kept
        n = len(positions) * len(self.problem.target)
        self.lookups[self.phase] += n

        def show(cut: slice) -> None:
            some = positions[cut]
            for group, columns in enumerate(self.groups):
                visit(Tile(kept, sources[some], columns.start, columns, some, group))

        run(show, cuts(len(positions), _LOOKUP_RUN), self._workers if n > _SMALL_WORK else 1)

    def _compute(self, sources: Ids, positions: Ids, visit: Visit) -> None:
        if len(positions) == 0:
            return
        scan = Scan(
            sources=sources,
            positions=positions,
            groups=self.groups,
            visit=visit,
            targets=self.targets,
            tile=self._tile,
            size=rows_of_task(self._metric, self.groups, self.observer.is_active),
        )
        self._carry_out(scan, len(positions) * len(self.problem.target))
        if self._kept is not None:
            self._is_kept[sources[positions]] = True
            self._n_present += len(positions)
            self.counts.keep(sources[positions])

    def _recover(self, sources: Ids) -> None:
        """Compute rows again that an earlier run had kept; in the same tiles, so with its bits."""
        if self._kept is None or self._n_present == self.counts.n_kept:
            return
        if self._tiles.scans is not self.counts.kept:
            n_source = len(self.problem.source)
            require_restorable(
                all(are_within(scan, 0, n_source) for scan in self.counts.kept), "rows"
            )
            self._tiles = _TilesOf(self.counts.kept, n_source)
        tiles = self._tiles.with_rows(sources[~self._is_kept[sources]])
        columns = [some for group in self.groups for some in cuts_of(group, CHUNK)]

        def fill(task: tuple[slice, Ids]) -> None:
            self._tile(task[1], self.targets(task[0]), task[0])

        _ = self._all_sources  # made here, before several threads ask for it
        n_rows = sum(map(len, tiles))
        tasks = [(some, tile) for some in columns for tile in tiles]
        n = n_rows * len(self.problem.target)
        self._observed(fill, tasks, self._workers_for(n), self._effort(n))
        for tile in tiles:
            self._is_kept[tile] = True
        self._n_present += n_rows

    def _run(self, fill: Callable[[Any], None], tasks: Iterable[Any], n: int) -> None:
        """Run tasks that compute ``n`` dissimilarities, which have been counted."""
        with self._only_computed(n):
            self._observed(fill, tasks, self._workers_for(n), self._effort(n))

    @contextmanager
    def _only_computed(self, n: int) -> Iterator[None]:
        """Correct the count of ``n`` dissimilarities if a user's function is stopped between."""
        before = self._n_measured
        try:
            yield
        except Halt:
            if self._metric.is_expensive:
                self.evaluations[self.phase] -= n - (self._n_measured - before)
            raise

    def _observed(
        self, fill: Callable[[Any], None], tasks: Iterable[Any], workers: int, effort: float
    ) -> None:
        """Run tasks under the observer."""
        if not self.observer.is_active:
            run(fill, tasks, workers)
            return
        do = partial(run, fill, workers=workers)
        is_paced = self._metric.is_expensive
        self.observer.carry_out(
            Work(tasks=list(tasks), do=do, effort=effort, n_workers=workers, is_paced=is_paced)
        )

    def _carry_out(self, piece: Scan | TableFill, n: int) -> None:
        """Count and compute a scan or a table under the observer."""
        workers = self._workers_for(n)
        _ = self._all_sources  # made here, before several threads ask for it

        def do(some: Sequence[Any]) -> None:
            n_counted = sum(map(piece.count, some))
            self.evaluations[self.phase] += n_counted
            with self._only_computed(n_counted):
                run(piece.fill, some, workers)

        def do_each(some: Sequence[Any]) -> None:
            for task in some:
                do([task])

        # How many tasks are done at a time depends on their speed. A log compares the counts at
        # every block, so these must not depend on it.
        is_paced = self._metric.is_expensive
        work = Work(
            tasks=piece.tasks(),
            do=do_each if is_paced else do,
            effort=self._effort(n),
            n_workers=workers,
            is_paced=is_paced,
        )
        self.observer.carry_out(work)

    def _fill(self, sources: Operand, targets: Operand, out: Floats) -> None:
        """Compute a block of dissimilarities, or take it from the log of an earlier run."""
        if self.log is None or not self._metric.is_expensive:
            self._measure(sources, targets, out)
        elif self.log.read(out):
            self._n_measured += out.size
        else:
            self._measure(sources, targets, out)
            self.log.append(out)

    def _measure(self, sources: Operand, targets: Operand, out: Floats) -> None:
        """Compute a block; if the metric is expensive, the observer looks between its calls."""
        metric, observer = self._metric, self.observer
        if not (metric.is_expensive and observer.is_active):
            metric.fill(sources, targets, out)
        elif not metric.is_by_pairs:
            for _ in observer.paced(1):
                metric.fill(sources, targets, out)
                self._n_measured += out.size
        else:
            for i in range(len(sources)):
                row = sources.take(slice(i, i + 1))
                for cut in observer.paced(len(targets)):
                    metric.fill(row, targets.take(cut), out[i : i + 1, cut])
                    self._n_measured += cut.stop - cut.start

    def _fill_pairs(
        self, sources: Operand, targets: Operand, at: Ids, rows: Ids, out: Floats
    ) -> None:
        """Compute the dissimilarities of pairs of rows."""
        assert self._metric.fill_pairs is not None
        if self.log is None or not self._metric.is_expensive:
            self._metric.fill_pairs(sources, targets, at, rows, out)
        elif not self.log.read(out):
            self._metric.fill_pairs(sources, targets, at, rows, out)
            self.log.append(out)

    def _effort(self, n: int) -> float:
        """Return about how many multiplications ``n`` dissimilarities are."""
        columns = self.problem.source.n_columns or 1
        return n * (_OWN_EFFORT if self._metric.is_expensive else columns)

    def _tile(self, sources: Ids, targets: Operand, columns: slice) -> tuple[Floats, Ids, int]:
        """Compute a tile, in place if it is kept; return the matrix, its rows and first column."""
        place = as_slice(sources)
        rows = self.sources(place)
        if self._kept is not None and isinstance(place, slice):
            self._fill(rows, targets, self._kept[place, columns])
            return self._kept, sources, columns.start
        block = np.empty((len(sources), len(targets)), dtype=self.dtype)
        self._fill(rows, targets, block)
        if self._kept is not None:
            self._kept[place, columns] = block
        return block, np.arange(len(sources)), 0

    def _count(self, n: int) -> int:
        self.evaluations[self.phase] += n
        _ = self._all_sources  # made here, before several threads ask for it
        return n

    def _workers_for(self, n: int) -> int:
        if self._metric.is_expensive or n * (self.problem.source.n_columns or 1) < _SMALL_WORK:
            return 1
        return self._workers
