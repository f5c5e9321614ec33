"""The only door to dissimilarities, and the only place where they are counted.

Theory of operation
-------------------
*Evaluations* are dissimilarities computed, *lookups* are answers served from what was kept; both
are added once a block, in the coordinating thread, under the current phase.

A pass over the whole target (`scan`) is cut into tiles by the problem alone: target rows in chunks
of ``CHUNK``, chunks in at most 64 groups, source rows in runs. A tile is computed, handed to
``visit`` while it is still in cache, and forgotten, unless the oracle keeps the matrix (`keep`).
``visit`` runs on several threads and must write only to the places of its own tile.

A caller's own function is only ever called on the calling thread, with BLAS left alone.

Where somebody looks on, long work is done some tasks at a time, in an order fixed by the problem.
What an earlier run has done of it is then taken from its notes, tile by tile, to the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids, Where
from protobandit.foundation.observer import NO_OBSERVER, Observer, Work
from protobandit.foundation.slices import as_slice, cuts
from protobandit.foundation.threads import Task, one_blas_thread, run, worker_count
from protobandit.kernels.dense_rows import strided_centre
from protobandit.metrics.operands import Operand
from protobandit.oracle.nearest_since import fill_nearest
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

PHASES: Final = ("build", "swap", "assign", "certify")
_LOOKUP_RUN = 64  # kept rows of one task
_SMALL_WORK = 4_000_000  # multiplications below which a second thread costs more than it brings
_CACHED_CELLS = 1 << 24
_BLOCK_CELLS = 1 << 22
_CENTRE_ROWS = 2048
_OWN_EFFORT = 1e5  # multiplications in the time of one call of a caller's own function


class Oracle:
    """Answers what the dissimilarity of a source row and a target row is, and counts.

    Parameters
    ----------
    problem
        Whose rows and metric.
    n_jobs
        Threads; None or -1 for all cores at hand.
    """

    def __init__(self, problem: Problem, *, n_jobs: int | None = None) -> None:
        self.problem = problem
        self.evaluations: Counter[str] = Counter()
        self.lookups: Counter[str] = Counter()
        self.phase = "build"
        self.observer: Observer = NO_OBSERVER
        self.groups = groups_of(len(problem.target))
        self._metric = problem.metric
        self.dtype = np.dtype(np.float64) if self._metric.is_expensive else problem.dtype
        self._workers = worker_count(n_jobs)
        self._centre = self._find_centre()
        self._kept: Floats | None = None
        self._is_kept = np.zeros(0, dtype=bool)

    def beside(self, problem: Problem) -> Oracle:
        """Return an oracle of other rows or another metric, which counts where this one does."""
        other = Oracle(problem, n_jobs=self._workers)
        other.evaluations, other.lookups = self.evaluations, self.lookups
        other.observer = self.observer
        return other

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
        """Hold BLAS to one thread, unless the metric is the caller's own function."""
        return nullcontext() if self._metric.is_expensive else one_blas_thread()

    @property
    def matrix_bytes(self) -> int:
        """Return what keeping every dissimilarity would take."""
        return len(self.problem.source) * len(self.problem.target) * self.dtype.itemsize

    def keep(self) -> None:
        """Keep every dissimilarity that a scan computes from now on; what is kept stays."""
        if self._kept is None:
            shape = len(self.problem.source), len(self.problem.target)
            self._kept = np.empty(shape, dtype=self.dtype)
            self._is_kept = np.zeros(shape[0], dtype=bool)
            for sources in self.observer.kept_before():
                self.scan(sources, lambda tile: None)

    @property
    def n_kept(self) -> int:
        """Return the number of source rows whose dissimilarities have been kept."""
        return int(np.count_nonzero(self._is_kept))

    @property
    def kept(self) -> Floats | None:
        """Return all dissimilarities, one row a source row, if every one has been kept."""
        return self._kept if self._kept is not None and self._is_kept.all() else None

    # -- rows -----------------------------------------------------------------------------------

    def targets(self, where: Where) -> Operand:
        """Return these target rows as the metric reads them; costs no evaluation."""
        if self.problem.target is self.problem.source:
            return self.sources(where)
        return self._metric.prepare(self.problem.target.take(where), self._centre)

    def sources(self, where: Where) -> Operand:
        """Return these source rows as the metric reads them; costs no evaluation."""
        if self._all_sources is not None:
            return self._all_sources.take(where)
        return self._metric.prepare(self.problem.source.take(where), self._centre)

    @cached_property
    def _all_sources(self) -> Operand | None:
        """Hold the source prepared once and for all, if it is small enough to hold twice."""
        source = self.problem.source
        if source.n_cells > _CACHED_CELLS:
            return None
        return self._metric.prepare(source.take(slice(0, len(source))), self._centre)

    def _find_centre(self) -> Doubles | None:
        if not self._metric.is_centred or self.problem.target.kind != "dense":
            return None
        sides = {id(rows): rows for rows in (self.problem.source, self.problem.target)}
        return strided_centre(*(rows.sample(_CENTRE_ROWS) for rows in sides.values()))

    # -- answers --------------------------------------------------------------------------------

    def distances(self, sources: Ids, targets: Operand) -> Floats:
        """Return d(target, source), one row a source row."""
        out = np.empty((len(sources), len(targets)), dtype=self.dtype)
        n = self._count(len(sources) * len(targets))

        def fill(tile: slice) -> None:
            self._metric.fill(self.sources(sources[tile]), targets, out[tile])

        self._run(fill, cuts(len(sources), TILE), n)
        return out

    def nearest_since(self, sources: Operand, targets: Operand, since: Ids) -> Floats:
        """Return min d(target j, sources[since[j]:]), infinite where that leaves none."""
        self._count(int((len(sources) - since).sum()))
        nearest = np.full(len(targets), np.inf, dtype=self.dtype)
        own, can_pair = self._metric, isinstance(targets.given, np.ndarray)
        pairs = own.fill_pairs if can_pair else None
        fill_nearest(sources, targets, since, nearest, fill=own.fill, fill_pairs=pairs)
        return nearest

    def visit(self, sources: Ids, targets: Operand, visit: Callable[[Floats, slice], None]) -> None:
        """Compute d(target, source) in tiles of source rows and hand each to ``visit``."""
        n = self._count(len(sources) * len(targets))

        def fill(tile: slice) -> None:
            block = np.empty((tile.stop - tile.start, len(targets)), dtype=self.dtype)
            self._metric.fill(self.sources(sources[tile]), targets, block)
            visit(block, tile)

        self._run(fill, cuts(len(sources), TILE), n)

    def column(self, source: int) -> Floats:
        """Return the distances of the whole target to one source row, under the phase "assign"."""
        with self.during("assign"):
            return self._column(source)

    def _column(self, source: int) -> Floats:
        if self._kept is not None and self._is_kept[source]:
            self.lookups[self.phase] += len(self.problem.target)
            kept: Floats = self._kept[source]
            return kept
        out = np.empty((1, len(self.problem.target)), dtype=self.dtype)
        n = self._count(out.size)
        row = self.sources(np.array([source]))

        def fill(columns: slice) -> None:
            self._metric.fill(row, self.targets(columns), out[:, columns])

        self._run(fill, cuts(out.shape[1], CHUNK), n)
        column: Floats = out[0]
        return column

    def tabulate(self, sources: Ids, targets: Operand, out: Floats, name: str = "") -> None:
        """Fill ``out`` with d(target, source), one row a source row.

        With a ``name``, what an earlier run noted of the same is not computed again.
        """

        def fill(rows: Ids, some: Operand, block: Floats) -> None:
            self._metric.fill(self.sources(as_slice(rows)), some, block)

        table = TableFill(sources=sources, targets=targets, out=out, fill_block=fill)
        self._work_off(table, out.size, name)

    def each_patch(
        self, patches: Sequence[tuple[Ids, Operand]], visit: Callable[[Floats, int], None]
    ) -> None:
        """Compute d(target, source) for many small sets of source rows and target rows.

        ``visit`` gets each block, one row a source row, and the number of its patch.
        """
        n = self._count(sum(len(sources) * len(targets) for sources, targets in patches))

        def fill(patch: int) -> None:
            sources, targets = patches[patch]
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
            self._metric.fill(self.sources(as_slice(sources)), targets, block)
            visit(block, patch)

        self._run(fill, range(len(patches)), n)

    def look_up(self, n: int) -> None:
        """Count answers that were served from a table."""
        self.lookups[self.phase] += n

    def share(
        self,
        function: Callable[[Task], None],
        tasks: Iterable[Task],
        n: int,
        may_halt: bool = False,
    ) -> None:
        """Run ``function`` on every task; on this thread alone when ``n`` numbers are few.

        An interruption ends it between two tasks only where it ``may_halt``.
        """
        workers = self._workers if n > _SMALL_WORK else 1
        if may_halt:
            self._look_on(function, tasks, workers, n)
        else:
            run(function, tasks, workers)

    def each_chunk(
        self,
        sources: Ids,
        visit: Callable[[Floats, slice], None],
        rows: Ids | None = None,
    ) -> None:
        """Show ``visit`` the distances to all ``sources`` at once, chunk by chunk of target rows.

        ``rows`` are the target rows to go through (all by default); ``visit`` gets the block, one
        row a source row, and which of ``rows`` it is about.
        """
        n_rows = len(self.problem.target) if rows is None else len(rows)
        n = self._count(len(sources) * n_rows)
        prepared = self.sources(as_slice(sources))

        def fill(cut: slice) -> None:
            targets = self.targets(cut if rows is None else rows[cut])
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
            self._metric.fill(prepared, targets, block)
            visit(block, cut)

        size = max(1, min(CHUNK, _BLOCK_CELLS // len(sources)))
        self._run(fill, cuts(n_rows, size), n)

    def scan(
        self, sources: Ids, visit: Visit, sums: Doubles | None = None, given: Ids | None = None
    ) -> None:
        """Show ``visit`` the distances of the whole target to each of ``sources``.

        ``sums`` is what ``visit`` fills, if that is one number for each source row and group, and
        depends on nothing but the prototypes ``given``: so much of it as an earlier run has noted
        is taken from there.
        """
        is_known = np.zeros(len(sources), bool) if self._kept is None else self._is_kept[sources]
        known, new = np.flatnonzero(is_known), np.flatnonzero(~is_known)
        self._look_up(sources, known, visit)
        self._compute(sources, new, visit, sums, given)

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

    def _compute(
        self, sources: Ids, positions: Ids, visit: Visit, sums: Doubles | None, given: Ids | None
    ) -> None:
        if len(positions) == 0:
            return
        scan = Scan(
            sources=sources,
            positions=positions,
            groups=self.groups,
            visit=visit,
            targets=self.targets,
            tile=self._tile,
            size=rows_of_task(self._metric, self.groups, self.observer is not NO_OBSERVER),
            kept=self._kept,
            sums=sums,
            given=given,
        )
        name = "kept" if self._kept is not None else f"sums by {self._metric.name}"
        n_target = len(self.problem.target)
        is_noted = self._kept is not None or sums is not None
        self._work_off(scan, len(positions) * n_target, f"{name} over {n_target}" * is_noted)
        if self._kept is not None:
            self._is_kept[sources[positions]] = True

    def _run(self, fill: Callable[[Any], None], tasks: Iterable[Any], n: int) -> None:
        """Run tasks that compute ``n`` dissimilarities, which have been counted."""
        self._look_on(fill, tasks, self._workers_for(n), self._effort(n))

    def _look_on(
        self, fill: Callable[[Any], None], tasks: Iterable[Any], workers: int, effort: float
    ) -> None:
        """Run tasks of which no notes are taken, with looks in between if anybody looks on."""
        if self.observer is NO_OBSERVER:
            run(fill, tasks, workers)
            return
        do = partial(run, fill, workers=workers)
        self.observer.work_off(Work(tasks=list(tasks), do=do, effort=effort, n_workers=workers))

    def _work_off(self, piece: Scan | TableFill, n: int, name: str) -> None:
        """Count and compute a piece of work, of which notes may be taken under a name."""
        workers, tasks = self._workers_for(n), piece.tasks()

        def do(some: Sequence[Any]) -> None:
            self._count(sum(piece.count(task) for task in some))
            run(piece.fill, some, workers)

        def recalled(task: Any) -> None:
            self._count(piece.count(task))
            piece.recalled(task)

        noted: dict[str, Any] = {}
        if name and self.observer is not NO_OBSERVER:
            noted = {"name": name, "recalled": recalled, **piece.noted()}
        noted |= {"effort": self._effort(n), "n_workers": workers}
        self.observer.work_off(Work(tasks=tasks, do=do, **noted))

    def _effort(self, n: int) -> float:
        """Return about how many multiplications ``n`` dissimilarities are."""
        columns = self.problem.source.n_columns or 1
        return n * (_OWN_EFFORT if self._metric.is_expensive else columns)

    def _tile(self, sources: Ids, targets: Operand, columns: slice) -> tuple[Floats, Ids, int]:
        """Compute one tile, in place if it is to be kept; return matrix, rows and first column."""
        place = as_slice(sources)
        rows = self.sources(place)
        if self._kept is not None and isinstance(place, slice):
            self._metric.fill(rows, targets, self._kept[place, columns])
            return self._kept, sources, columns.start
        block = np.empty((len(sources), len(targets)), dtype=self.dtype)
        self._metric.fill(rows, targets, block)
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
