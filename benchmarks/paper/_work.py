"""The work: problem by problem, run by run, on several processes of one thread each.

A job is a problem with the cells that are still wanted of it; its distances are computed once and
serve them all. Cells are handed to the one process that writes as soon as they are finished.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.paper._cells import Cell, append, appending
from benchmarks.paper._contest import Arena, find
from benchmarks.paper._grid import Grid, Key
from benchmarks.paper._judge import Verdict, judge

_PATIENCE = 0.2  # seconds between two looks at who is done


@dataclass(frozen=True, kw_only=True)
class Job:
    """The cells that are wanted of one problem; ``spent`` is what lazybandit-fast took, by k."""

    grid: Grid
    folder: Path | None
    run: int
    skew: int
    wanted: tuple[Key, ...]
    spent: dict[int, int]


def work(jobs: list[Job], table: Path, *, n_processes: int, say: Callable[[str], None]) -> None:
    """Do all jobs and append their cells to ``table``."""
    progress = Progress(jobs, say)
    finished = _in_processes(jobs, n_processes) if n_processes > 1 else _in_turn(jobs)
    with appending(table) as file:
        for cell in finished:
            append(file, cell)
            progress.add(cell)


def jobs_for(grid: Grid, folder: Path | None, runs: int, done: Iterable[Cell]) -> Iterator[Job]:
    """Yield what is left to do, run by run, so that what is finished is a set of whole runs."""
    cells = {cell.key: cell for cell in done}
    for run in range(runs):
        for skew in grid.skews:
            keys = list(grid.keys(run, skew))
            wanted = tuple(key for key in keys if key not in cells)
            fast = [cells[k] for k in keys if k.method == "lazybandit-fast" and k in cells]
            spent = {cell.k: cell.evaluations for cell in fast}
            if wanted:
                yield Job(grid=grid, folder=folder, run=run, skew=skew, wanted=wanted, spent=spent)


class Progress:
    """Says, after each problem, how much is done and about how long the rest will take."""

    def __init__(self, jobs: list[Job], say: Callable[[str], None]) -> None:
        self.left = {(job.run, job.skew): len(job.wanted) for job in jobs}
        self.n_wanted = sum(self.left.values())
        self.n_done = 0
        self.started = perf_counter()
        self.say = say
        say(f"{self.n_wanted:,} cells on {len(jobs)} problems are to be computed.")

    def add(self, cell: Cell) -> None:
        """Note a finished cell."""
        problem = cell.run, cell.skew
        self.left[problem] -= 1
        self.n_done += 1
        if self.left[problem]:
            return
        elapsed = (perf_counter() - self.started) / 60
        rest = elapsed / self.n_done * (self.n_wanted - self.n_done)
        name = f"run {cell.run}" + (f", skew {cell.skew}" if cell.skew else "")
        self.say(
            f"{name} is done: {self.n_done:,} of {self.n_wanted:,} cells after "
            f"{elapsed:.1f} min, about {rest:.0f} min left."
        )


class Desk:
    """Does one job after the other; the problem at hand is kept for the next, if it is the same."""

    def __init__(self) -> None:
        self.arena: Arena | None = None
        self.name: tuple[Any, ...] = ()

    def cells(self, job: Job) -> Iterator[Cell]:
        """Yield the cells of a job as they are finished."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            arena = self._arena(job)
            spent, verdicts = dict(job.spent), {}
            for key in job.wanted:
                found = find(arena, key, spent)
                if key.method == "lazybandit-fast":
                    spent[key.k] = found.evaluations
                # SPOTgreedy and SPOT_M choose the same.
                chosen = found.indices.tobytes()
                if chosen not in verdicts:
                    verdicts[chosen] = judge(
                        arena.posed, arena.distances, arena.scale, found.indices
                    )
                yield _cell(job.grid, key, arena, found, verdicts[chosen])

    def _arena(self, job: Job) -> Arena:
        seed = job.run if job.grid.is_drawn else 0
        name = job.grid.name, job.skew, seed
        if self.arena is None or self.name != name:
            self.arena = None  # the old distances go before the new ones come
            self.arena = Arena.of(job.grid.load(job.folder, job.skew, seed), max(job.grid.ks))
            self.arena.check(job.grid.ks[0])
            self.name = name
        return self.arena


def _cell(grid: Grid, key: Key, arena: Arena, found: Any, verdict: Verdict) -> Cell:
    n_source, n_target = arena.distances.shape
    return Cell(
        dataset=grid.name,
        **key._asdict(),
        n_source=n_source,
        n_target=n_target,
        scale=arena.scale,
        pulls=int(found.pulls),
        comparisons=int(found.comparisons),
        evaluations=int(found.evaluations),
        **asdict(verdict),
    )


def _in_turn(jobs: Iterable[Job]) -> Iterator[Cell]:
    desk = Desk()
    for job in jobs:
        yield from desk.cells(job)


# -- in a process of its own ----------------------------------------------------------------------

_desk = Desk()
_results: Any = None


def _attach(results: Any) -> None:
    """Take the queue that results go to, and end when the one who reads it has ended."""
    global _results
    _results = results
    parent = parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _perform(job: Job) -> int:
    """Do a job; return how many cells were sent."""
    n_sent = 0
    for cell in _desk.cells(job):
        _results.put(cell)
        n_sent += 1
    return n_sent


def _in_processes(jobs: list[Job], n_processes: int) -> Iterator[Cell]:
    context = get_context("spawn")
    results = context.Queue()
    pool = ProcessPoolExecutor(n_processes, context, _attach, (results,))
    try:
        waiting: set[Future[int]] = {pool.submit(_perform, job) for job in jobs}
        n_sent = n_received = 0
        while waiting or n_received < n_sent:
            with suppress(queue.Empty):
                yield results.get(timeout=_PATIENCE)
                n_received += 1
            done = {future for future in waiting if future.done()}
            n_sent += sum(future.result() for future in done)
            waiting -= done
    finally:
        pool.shutdown(cancel_futures=True)
