"""Compute cells: problem by problem, run by run, in several processes with one thread each.

A job is a problem with its missing cells; its distances are computed once for all of them. The
worker processes send each finished cell to the main process, which alone writes the table.
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

from benchmarks.common.records import append, appending
from benchmarks.paper.cells import Cell
from benchmarks.paper.grid import Grid, Key
from benchmarks.paper.methods import Instance, Outcome, run_method
from benchmarks.paper.scores import Scores, scores_of

_INTERVAL = 0.2  # seconds between two checks of the processes


@dataclass(frozen=True, kw_only=True)
class Job:
    """The missing cells of one problem; ``spent`` are the evaluations of lazybandit-fast by k."""

    grid: Grid
    folder: Path | None
    run: int
    skew: int
    wanted: tuple[Key, ...]
    spent: dict[int, int]


def run_jobs(
    jobs: list[Job], table: Path, *, n_processes: int, report: Callable[[str], None]
) -> None:
    """Run all jobs and append their cells to ``table``."""
    progress = Progress(jobs, report)
    finished = _in_processes(jobs, n_processes) if n_processes > 1 else _in_this_process(jobs)
    with appending(table, Cell) as file:
        for cell in finished:
            append(file, cell)
            progress.add(cell)


def jobs_for(grid: Grid, folder: Path | None, runs: int, done: Iterable[Cell]) -> Iterator[Job]:
    """Yield the missing jobs run by run, so that an interrupted run leaves complete runs."""
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
    """Reports after each problem how many cells are done and the estimated time left."""

    def __init__(self, jobs: list[Job], report: Callable[[str], None]) -> None:
        self.left = {(job.run, job.skew): len(job.wanted) for job in jobs}
        self.n_wanted = sum(self.left.values())
        self.n_done = 0
        self.started = perf_counter()
        self.report = report
        report(f"Computing {self.n_wanted:,} cells on {len(jobs)} problems.")

    def add(self, cell: Cell) -> None:
        """Count a finished cell."""
        problem = cell.run, cell.skew
        self.left[problem] -= 1
        self.n_done += 1
        if self.left[problem]:
            return
        elapsed = (perf_counter() - self.started) / 60
        rest = elapsed / self.n_done * (self.n_wanted - self.n_done)
        name = f"run {cell.run}" + (f", skew {cell.skew}" if cell.skew else "")
        self.report(
            f"{name} is done: {self.n_done:,} of {self.n_wanted:,} cells after "
            f"{elapsed:.1f} min, about {rest:.0f} min left."
        )


class Worker:
    """Runs one job after the other; keeps the distances if the next problem is the same."""

    def __init__(self) -> None:
        self.instance: Instance | None = None
        self.name: tuple[Any, ...] = ()

    def cells(self, job: Job) -> Iterator[Cell]:
        """Yield the cells of a job as they are finished."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            instance = self._instance(job)
            spent, known = dict(job.spent), {}
            for key in job.wanted:
                outcome = run_method(instance, key, spent)
                if key.method == "lazybandit-fast":
                    spent[key.k] = outcome.evaluations
                # SPOTgreedy and SPOT_M have the same prototypes.
                chosen = outcome.indices.tobytes()
                if chosen not in known:
                    known[chosen] = scores_of(instance.problem, instance.scale, outcome.indices)
                yield _cell(job.grid, key, instance, outcome, known[chosen])

    def _instance(self, job: Job) -> Instance:
        seed = job.run if job.grid.is_drawn else 0
        name = job.grid.name, job.skew, seed
        if self.instance is None or self.name != name:
            self.instance = None  # frees the old distances before the new ones are computed
            problem = job.grid.load(job.folder, job.skew, seed)
            self.instance = Instance.of(problem, max(job.grid.ks))
            self.instance.check(job.grid.ks[0])
            self.name = name
        return self.instance


def _cell(grid: Grid, key: Key, instance: Instance, outcome: Outcome, scores: Scores) -> Cell:
    n_source, n_target = instance.distances.shape
    return Cell(
        dataset=grid.name,
        **key._asdict(),
        n_source=n_source,
        n_target=n_target,
        scale=instance.scale,
        pulls=int(outcome.pulls),
        comparisons=int(outcome.comparisons),
        evaluations=int(outcome.evaluations),
        **asdict(scores),
    )


def _in_this_process(jobs: Iterable[Job]) -> Iterator[Cell]:
    worker = Worker()
    for job in jobs:
        yield from worker.cells(job)


# -- worker processes -----------------------------------------------------------------------------

_worker = Worker()
_results: Any = None


def _start(results: Any) -> None:
    """Store the queue of results, and exit when the main process ends."""
    global _results
    _results = results
    parent = parent_process()

    def exit_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()


def _run(job: Job) -> int:
    """Run a job; return the number of cells sent."""
    n_sent = 0
    for cell in _worker.cells(job):
        _results.put(cell)
        n_sent += 1
    return n_sent


def _in_processes(jobs: list[Job], n_processes: int) -> Iterator[Cell]:
    context = get_context("spawn")
    results = context.Queue()
    pool = ProcessPoolExecutor(n_processes, context, _start, (results,))
    try:
        waiting: set[Future[int]] = {pool.submit(_run, job) for job in jobs}
        n_sent = n_received = 0
        while waiting or n_received < n_sent:
            with suppress(queue.Empty):
                yield results.get(timeout=_INTERVAL)
                n_received += 1
            done = {future for future in waiting if future.done()}
            n_sent += sum(future.result() for future in done)
            waiting -= done
    finally:
        pool.shutdown(cancel_futures=True)
