"""The only door to dissimilarities, and the only place where they are counted.

Theory of operation
-------------------
*Evaluations* are dissimilarities computed, *lookups* are answers served from what was kept; both
are added once a block, in the coordinating thread, under the current phase.

A pass over the whole target (`scan`) is cut into tiles by the problem alone: target rows in chunks
of ``CHUNK``, chunks in at most ``_MOST_GROUPS`` groups, source rows in runs. A tile is computed,
handed to ``visit`` while it is still in cache, and forgotten, unless the oracle keeps the matrix
(`keep`). ``visit`` runs on several threads and must write only to the places of its own tile.

A caller's own function is only ever called on the calling thread, with BLAS left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from protobandit._metrics import Prepared, strided_centre
from protobandit._problem import Problem
from protobandit._threads import one_blas_thread, run, worker_count
from protobandit._typing import Doubles, Floats, Ids, Where

PHASES: Final = ("build", "swap", "assign", "certify")
CHUNK: Final = 2048
_MOST_GROUPS = 64
_RUN = 4096  # source rows of one task
_TILE = 256  # source rows of one product
_LOOKUP_RUN = 64  # kept rows of one task
_SMALL_WORK = 4_000_000  # multiplications below which a second thread costs more than it brings
_CACHED_CELLS = 1 << 24
_BLOCK_CELLS = 1 << 22
_CENTRE_ROWS = 2048

# visit(matrix, rows, columns, positions, group): matrix[rows[i], :] holds the distances from target
# rows ``columns`` to the arm at ``positions[i]``.
Visit: TypeAlias = Callable[[Floats, Ids, slice, Ids, int], None]


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
        self.groups = _groups(len(problem.target))
        self._metric = problem.metric
        self.dtype = np.dtype(np.float64) if self._metric.is_expensive else problem.dtype
        self._workers = worker_count(n_jobs)
        self._centre = self._find_centre()
        self._kept: Floats | None = None
        self._is_kept = np.zeros(0, dtype=bool)

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
        """Keep every dissimilarity that a scan computes from now on."""
        shape = len(self.problem.source), len(self.problem.target)
        self._kept = np.empty(shape, dtype=self.dtype)
        self._is_kept = np.zeros(shape[0], dtype=bool)

    # -- rows -----------------------------------------------------------------------------------

    def targets(self, where: Where) -> Prepared:
        """Return these target rows as the metric reads them; costs no evaluation."""
        if self.problem.target is self.problem.source:
            return self._sources(where)
        return self._metric.prepare(self.problem.target.take(where), self._centre)

    def _sources(self, where: Where) -> Prepared:
        if self._all_sources is not None:
            return self._all_sources.take(where)
        return self._metric.prepare(self.problem.source.take(where), self._centre)

    @cached_property
    def _all_sources(self) -> Prepared | None:
        """Hold the source prepared once and for all, if it is small enough to hold twice."""
        source = self.problem.source
        if len(source) * (source.n_columns or 1) > _CACHED_CELLS:
            return None
        return self._metric.prepare(source.take(slice(0, len(source))), self._centre)

    def _find_centre(self) -> Doubles | None:
        if not self._metric.is_centred or self.problem.target.kind != "dense":
            return None
        sides = {id(rows): rows for rows in (self.problem.source, self.problem.target)}
        return strided_centre(*(rows.sample(_CENTRE_ROWS) for rows in sides.values()))

    # -- answers --------------------------------------------------------------------------------

    def distances(self, sources: Ids, targets: Prepared) -> Floats:
        """Return d(target, source), one row a source row."""
        out = np.empty((len(sources), len(targets)), dtype=self.dtype)
        n = self._count(len(sources) * len(targets))

        def fill(tile: slice) -> None:
            self._metric.fill(self._sources(sources[tile]), targets, out[tile])

        run(fill, _cuts(len(sources), _TILE), self._workers_for(n))
        return out

    def visit(self, sources: Ids, targets: Prepared, visit: Callable[[Floats, slice], None]) -> None:
        """Compute d(target, source) in tiles of source rows and hand each to ``visit``."""
        n = self._count(len(sources) * len(targets))

        def fill(tile: slice) -> None:
            block = np.empty((tile.stop - tile.start, len(targets)), dtype=self.dtype)
            self._metric.fill(self._sources(sources[tile]), targets, block)
            visit(block, tile)

        run(fill, _cuts(len(sources), _TILE), self._workers_for(n))

    def column(self, source: int) -> Floats:
        """Return the distances of the whole target to one source row."""
        if self._kept is not None and self._is_kept[source]:
            self.lookups[self.phase] += len(self.problem.target)
            return self._kept[source]
        out = np.empty((1, len(self.problem.target)), dtype=self.dtype)
        n = self._count(out.size)
        row = self._sources(np.array([source]))

        def fill(columns: slice) -> None:
            self._metric.fill(row, self.targets(columns), out[:, columns])

        run(fill, _cuts(out.shape[1], CHUNK), self._workers_for(n))
        return out[0]

    def each_chunk(
        self,
        sources: Ids,
        visit: Callable[[Floats, slice], None],
        rows: Ids | None = None,
    ) -> None:
        """Show ``visit`` the distances to all ``sources`` at once, a chunk of target rows at a time.

        ``rows`` are the target rows to go through (all by default); ``visit`` gets the block, one
        row a source row, and which of ``rows`` it is about.
        """
        n_rows = len(self.problem.target) if rows is None else len(rows)
        n = self._count(len(sources) * n_rows)
        prepared = self._sources(_as_slice(sources))

        def fill(cut: slice) -> None:
            targets = self.targets(cut if rows is None else rows[cut])
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
            self._metric.fill(prepared, targets, block)
            visit(block, cut)

        size = max(1, min(CHUNK, _BLOCK_CELLS // len(sources)))
        run(fill, _cuts(n_rows, size), self._workers_for(n))

    def scan(self, sources: Ids, visit: Visit) -> None:
        """Show ``visit`` the distances of the whole target to each of ``sources``."""
        is_known = self._is_kept[sources] if self._kept is not None else np.zeros(len(sources), bool)
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
            for group, columns in enumerate(self.groups):
                visit(kept[:, columns], sources[positions[cut]], columns, positions[cut], group)

        run(show, _cuts(len(positions), _LOOKUP_RUN), self._workers if n > _SMALL_WORK else 1)

    def _compute(self, sources: Ids, positions: Ids, visit: Visit) -> None:
        if len(positions) == 0:
            return
        n = self._count(len(positions) * len(self.problem.target))
        runs = [positions[cut] for cut in _cuts(len(positions), _RUN)]
        tasks = [(g, some) for g in range(len(self.groups)) for some in runs]

        def fill(task: tuple[int, Ids]) -> None:
            group, some = task
            for columns in _cuts_of(self.groups[group], CHUNK):
                targets = self.targets(columns)
                for cut in _cuts(len(some), _TILE):
                    self._tile(sources[some[cut]], targets, columns, some[cut], group, visit)

        run(fill, tasks, self._workers_for(n))
        if self._kept is not None:
            self._is_kept[sources[positions]] = True

    def _tile(
        self, sources: Ids, targets: Prepared, columns: slice, positions: Ids, group: int, visit: Visit
    ) -> None:
        place = _as_slice(sources)
        if self._kept is not None and isinstance(place, slice):
            block = self._kept[place, columns]
        else:
            block = np.empty((len(sources), len(targets)), dtype=self.dtype)
        self._metric.fill(self._sources(place), targets, block)
        if self._kept is not None and not isinstance(place, slice):
            self._kept[place, columns] = block
        visit(block, np.arange(len(sources)), columns, positions, group)

    def _count(self, n: int) -> int:
        self.evaluations[self.phase] += n
        _ = self._all_sources  # made here, before several threads ask for it
        return n

    def _workers_for(self, n: int) -> int:
        if self._metric.is_expensive or n * (self.problem.source.n_columns or 1) < _SMALL_WORK:
            return 1
        return self._workers


def _groups(n: int) -> list[slice]:
    chunks = -(-n // CHUNK)
    return list(_cuts(n, CHUNK * -(-chunks // _MOST_GROUPS)))


def _cuts(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _cuts_of(whole: slice, size: int) -> Iterator[slice]:
    return (
        slice(start, min(start + size, whole.stop)) for start in range(whole.start, whole.stop, size)
    )


def _as_slice(ids: Ids) -> Where:
    """Return consecutive numbers as a slice, which reads without copying."""
    if len(ids) and ids[-1] - ids[0] == len(ids) - 1 and (np.diff(ids) == 1).all():
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids
