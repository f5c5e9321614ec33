"""k-medoids on 20,000 rows of MNIST, against those who do the same.

Every rival runs in a process of its own, on all cores, as its authors publish it; its time does not
include imports. Costs are mean distances over all rows, computed anew in float64.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import _peers
from benchmarks._data import mnist
from benchmarks._referee import mean_distance
from benchmarks.bars._bar import Bar, Options, lazybandit, timed

_ROWS, _KS = 20_000, (10, 100)
_EFFORTS: tuple[str | float, ...] = (0.3, "fast", 1.3, "balanced", "thorough")
_NEAR, _NEAR_FASTER, _THOROUGH_FASTER = 1.005, 20, 4


@dataclass(frozen=True)
class Rival:
    """A runner in benchmarks/peers, its arguments after the seeds, and its environment."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    environment: str | None = None


_QUICK = (
    Rival("OneBatchPAM", "onebatchpam.py", environment="onebatch"),
    Rival("MiniBatchKMeans, nearest rows", "kmeans.py", ("MiniBatchKMeans",)),
    Rival("KMeans, nearest rows", "kmeans.py", ("KMeans",)),
)
_FASTERPAM = Rival("FasterPAM, with its matrix", "fasterpam.py", (), "kmedoids")


@dataclass(frozen=True)
class Result:
    """Cost and seconds, means over the seeds, and the spread of the costs."""

    name: str
    cost: float
    seconds: float
    spread: float

    def __str__(self) -> str:
        return f"    {self.name:32} {self.cost:.4f} ± {self.spread:.4f} {self.seconds:7.2f} s"


def medoids(options: Options) -> Iterator[Bar | str]:
    rows = mnist(options.data)[0][:_ROWS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, rows=rows)
        for k in _KS:
            yield f"k-medoids, MNIST {rows.shape}, k = {k}: cost, seconds"
            yield from _contest(rows, path, k, options)


def _contest(rows: np.ndarray, path: Path, k: int, options: Options) -> Iterator[Bar | str]:
    ours = [_own(rows, k, effort, options.seeds) for effort in _EFFORTS]
    yield from map(str, ours)
    for rival in (*_QUICK, _FASTERPAM):
        result = _theirs(rival, rows, path, k, options)
        if result is None:
            yield f"    {rival.name} is left out: no environment in --peers"
            continue
        yield str(result)
        yield from (
            _against_fasterpam(ours, result) if rival is _FASTERPAM else _beaten(ours, result)
        )


def _own(rows: np.ndarray, k: int, effort: str | float, seeds: int) -> Result:
    lazybandit(rows, k=k, effort=effort, seed=seeds)  # compile
    runs = [timed(lambda s=s: lazybandit(rows, k=k, effort=effort, seed=s)) for s in range(seeds)]
    costs = [mean_distance(rows[selection.indices], rows) for _, selection in runs]
    seconds = np.mean([s for s, _ in runs])
    return Result(f"lazybandit {effort}", np.mean(costs), seconds, np.std(costs))


def _theirs(rival: Rival, rows: np.ndarray, path: Path, k: int, options: Options) -> Result | None:
    python: str | None = sys.executable
    if rival.environment is not None:
        python = _peers.python_of(options.peers, rival.environment)
    if python is None:
        return None
    report = _peers.run(rival.script, path, k, options.seeds, *rival.arguments, python=python)
    costs = [mean_distance(rows[indices], rows) for indices in report["indices"]]
    return Result(rival.name, np.mean(costs), np.mean(report["seconds"]), np.std(costs))


def _beaten(ours: list[Result], rival: Result) -> Iterator[Bar | str]:
    """Compare with the best effort that takes no more than the rival's time."""
    in_time = [result for result in ours if result.seconds <= rival.seconds]
    best = min(in_time, key=lambda result: result.cost, default=None)
    if best is None:
        quickest = min(ours, key=lambda result: result.seconds)
        yield Bar(f"{quickest.name}: time / {rival.name}", quickest.seconds / rival.seconds, 1.0)
        best = quickest
    yield Bar(f"{best.name}: cost / {rival.name}", best.cost / rival.cost, 1.0, form=".4f")


def _against_fasterpam(ours: list[Result], rival: Result) -> Iterator[Bar | str]:
    near = [result for result in ours if result.cost <= _NEAR * rival.cost]
    quickest = min(near or ours, key=lambda result: result.seconds)
    yield Bar(f"{quickest.name}: cost / FasterPAM", quickest.cost / rival.cost, _NEAR, form=".4f")
    yield Bar(
        "    FasterPAM's time / its time", rival.seconds / quickest.seconds, _NEAR_FASTER, True
    )
    thorough = ours[-1]
    yield Bar(f"{thorough.name}: cost / FasterPAM", thorough.cost / rival.cost, 1.0, form=".4f")
    ratio = rival.seconds / thorough.seconds
    yield Bar("    FasterPAM's time / its time", ratio, _THOROUGH_FASTER, True)
