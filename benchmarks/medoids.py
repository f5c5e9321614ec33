"""k-medoids with its whole matrix, against the package kmedoids on MNIST.

    python -m benchmarks.medoids --data DIR --peers DIR [--rows 20000] [--k 100] [--seeds 3]

FasterPAM with its matrix: time, cost and memory. PAM and FastPAM1: time of a pass, from the same
greedy build on, on fewer rows. Rivals run in processes of their own, as their authors publish them.
Times are printed as ratios of what ran side by side, with a line on how much of the machine others
took meanwhile. ``--data`` is described in benchmarks/_data.py, ``--peers`` is a folder made by
benchmarks/peers/setup.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import _peers
from benchmarks._data import mnist
from benchmarks._others import Others
from benchmarks._referee import mean_distance
from benchmarks.bars._bar import Bar

_FASTER, _WORSE, _MEMORY, _PASS = 4.0, 1.002, 1.2, 1.0
_PASSES = (("pam", 2000, 20), ("fastpam1", 5000, 100))

# Peaks of memory are those of a process, so each run has one of its own.
_CHILD = """
import json, sys
from pathlib import Path
from time import perf_counter
import numpy as np
import protobandit as pb

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

rows, k, seed = np.load(sys.argv[1])["rows"], int(sys.argv[2]), int(sys.argv[3])
pb.select(rows[:2100], k=2, method="fasterpam", random_state=0)  # compile, start the threads
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = memory("VmRSS")
started = perf_counter()
found = pb.select(rows, k=k, method="fasterpam", random_state=seed)
seconds = perf_counter() - started
report = {
    "seconds": seconds,
    "memory": (memory("VmHWM") - before) / (len(rows) ** 2 * 4),
    "indices": found.indices.tolist(),
    "status": found.status,
}
print(json.dumps(report))
"""


def main() -> None:
    given = _parse()
    rows = mnist(given.data)[0][: given.rows]
    python = _peers.python_of(given.peers, "kmedoids")
    if python is None:
        sys.exit(
            "The environment of kmedoids is not in --peers; benchmarks/peers/setup.py makes it."
        )
    others = Others()
    with tempfile.TemporaryDirectory() as folder:
        for line in _contest(rows, given.k, given.seeds, Path(folder), python):
            print(line, flush=True)
    cores = others.cores()
    if cores is not None:
        print(f"    other processes kept {cores:.2f} cores busy meanwhile")


def _contest(
    rows: np.ndarray, k: int, n_seeds: int, folder: Path, python: str
) -> Iterator[Bar | str]:
    yield f"FasterPAM, MNIST {rows.shape}, k = {k}"
    path = _saved(rows, folder)
    ours = [_own(path, k, seed) for seed in range(n_seeds)]
    theirs = _peers.run("fasterpam.py", path, k, n_seeds, python=python)
    yield from (f"    {run['seconds']:.2f} s: {run['status']}" for run in ours)
    seconds = float(np.mean([run["seconds"] for run in ours]))
    cost, their_cost = (
        float(np.mean([mean_distance(rows[some], rows) for some in found]))
        for found in ([run["indices"] for run in ours], theirs["indices"])
    )
    their_seconds = float(np.mean(theirs["seconds"]))
    yield f"    ours {cost:.4f} in {seconds:.2f} s"
    yield f"    kmedoids {theirs['version']} {their_cost:.4f} in {their_seconds:.2f} s"
    yield Bar("kmedoids' time / ours, each with its matrix", their_seconds / seconds, _FASTER, True)
    yield Bar("cost / kmedoids' cost", cost / their_cost, _WORSE, form=".4f")
    yield Bar("memory / float32 matrix", max(run["memory"] for run in ours), _MEMORY)
    for method, n, few in _PASSES:
        yield from _passes(rows[:n], few, method, folder, python)


def _own(path: Path, k: int, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD, str(path), str(k), str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _passes(
    rows: np.ndarray, k: int, method: str, folder: Path, python: str
) -> Iterator[Bar | str]:
    """Compare the passes from kmedoids' own build on."""
    theirs = _peers.run("pam.py", _saved(rows, folder), k, method, python=python)
    _swaps(rows[:200], [0, 1], method, None)  # compile
    (all_cores, n_passes, found), (one_core, _, _) = (
        _swaps(rows, theirs["start"], method, n_jobs) for n_jobs in (None, 1)
    )
    each = theirs["swaps"] / theirs["n_iter"]
    yield f"{method}, MNIST {rows.shape}, k = {k}: {n_passes} passes, kmedoids {theirs['n_iter']}"
    yield f"    a pass: {all_cores:.3f} s, on one core {one_core:.3f} s, kmedoids {each:.3f} s"
    yield Bar("    time of a pass / kmedoids'", all_cores / each, _PASS)
    yield Bar("    the same on one core", one_core / each, _PASS)
    ratio = mean_distance(rows[found], rows) / mean_distance(rows[theirs["indices"]], rows)
    yield Bar("    cost / kmedoids' cost", ratio, 1.0 + 1e-6, form=".6f")


def _swaps(
    rows: np.ndarray, start: list[int], method: str, n_jobs: int | None
) -> tuple[float, int, np.ndarray]:
    """Return seconds a pass, passes and prototypes of our swaps from this start on."""
    from protobandit.oracle.oracle import Oracle
    from protobandit.problem.posing import pose
    from protobandit.search.drivers.full_swaps import best_passes
    from protobandit.search.methods.swap_passes import whole_table
    from protobandit.search.objectives.medoids import Medoids

    oracle = Oracle(pose(rows, k=len(start)), n_jobs=n_jobs)
    with oracle.at_work():
        table = whole_table(oracle)
        medoids = Medoids(table, np.array(start), np.ones(len(rows)), oracle.problem.rules)
        started = perf_counter()
        n_passes = len(list(best_passes(medoids, is_pairwise=method == "pam")))
        seconds = perf_counter() - started
    return seconds / n_passes, n_passes, medoids.members


def _saved(rows: np.ndarray, folder: Path) -> Path:
    path = folder / f"rows{len(rows)}.npz"
    np.savez(path, rows=rows)
    return path


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's files")
    parser.add_argument("--peers", type=Path, help="folder with the rivals' environments")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
