"""Time of lazybandit, lazygreedy and protobandit on the paper's MNIST problem; effect of threads.

    python -m benchmarks.timing --data DIR [--seeds 3] [--only methods,threads,calls] [--out FILE]

Writes docs/results/timing.json (or ``--out``), from which `python -m benchmarks.readme` makes the
tables. Takes about three minutes on two cores. ``--only`` measures some of the parts and writes a
file without the others.

``methods`` measures times as multiples of the float32 matrix product S T' on two threads, in the
same run. ``threads`` compares one thread, two threads, and two threads on one core. ``calls`` are
``import protobandit`` and a first ``select`` in a new process, before anything is compiled and
after. Each part records how many cores other processes kept busy; a ratio of times is reliable only
if that was close to zero. ``--data`` is described in benchmarks/common/data.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import protobandit as pb
from benchmarks.common.data import paper_problem
from benchmarks.common.machine import OtherLoad
from benchmarks.common.records import RESULTS, write_measurement

FILE = RESULTS / "timing.json"

_K = 100
_METHODS: dict[str, Any] = {
    "lazybandit fast": pb.methods.LazyBandit(effort="fast"),
    "lazybandit balanced": pb.methods.LazyBandit(effort="balanced"),
    "lazygreedy": pb.methods.LazyGreedy(),
    "protobandit": pb.methods.ProtoBandit(),
}


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    started = perf_counter()
    result = function()
    return perf_counter() - started, result


def compare_methods(source: np.ndarray, target: np.ndarray, n_seeds: int) -> dict[str, float]:
    """Print the time of each method as a multiple of the product; return these ratios."""
    print(f"MNIST, S {source.shape}, T {target.shape}, k = {_K}, {n_seeds} seeds", flush=True)
    run = partial(pb.select, source, target, k=_K)
    for method in _METHODS.values():  # compile
        run(method=method, random_state=n_seeds)
    products: list[float] = []
    seconds: dict[str, list[float]] = {name: [] for name in _METHODS}
    for seed in range(n_seeds):
        with threadpool_limits(2, "blas"):
            products.append(timed(lambda: source @ target.T)[0])
        for name, method in _METHODS.items():
            seconds[name].append(timed(partial(run, method=method, random_state=seed))[0])
    product = float(np.mean(products))
    print(f"    {'product S T':22} {product:7.2f} s")
    ratios = {name: float(np.mean(each)) / product for name, each in seconds.items()}
    for name, ratio in ratios.items():
        print(f"    {name:22} {np.mean(seconds[name]):7.2f} s   {ratio:.3f} times the product")
    return ratios


_CALL = """
from time import perf_counter as now
started = now()
import protobandit as pb
imported = now()
import numpy as np
path = __import__("sys").argv[1]
rows = np.load(path)
before = now()
pb.select(rows["source"], rows["target"], k=10, random_state=0)
print(imported - started, now() - before + imported - started)
"""


def time_calls(source: np.ndarray, target: np.ndarray, n_seeds: int) -> dict[str, float]:
    """Return seconds of the import, and of import and first call without and with compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, source=source, target=target[:20_000])
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "compiled")}
        runs = [_first_call(rows, environment) for _ in range(1 + n_seeds)]
    (_, first), later = runs[0], np.array(runs[1:])
    found = {
        "import": float(np.median(later[:, 0])),
        "compiling call": first,
        "first call": float(np.median(later[:, 1])),
    }
    for name, seconds in found.items():
        print(f"    {name:22} {seconds:7.3f} s")
    return found


def _first_call(rows: Path, environment: dict[str, str]) -> tuple[float, float]:
    command = [sys.executable, "-c", _CALL, str(rows)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    imported, called = map(float, done.stdout.split())
    return imported, called


# The number of threads is fixed when a process starts, so each configuration has its own process.
_CHILD = """
import json, os, sys
path, k, seed, n_jobs, is_pinned = sys.argv[1], *map(int, sys.argv[2:])
if is_pinned:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import protobandit as pb
from benchmarks.timing import timed
rows = np.load(path)
source, target = rows["source"], rows["target"]
def run():
    return pb.select(source, target, k=k, random_state=seed, n_jobs=n_jobs)
run()
runs = [timed(run) for _ in range(3)]
indices = runs[0][1].indices.tolist()
print(json.dumps({"seconds": min(seconds for seconds, _ in runs), "indices": indices}))
"""
# n_jobs, and whether the process may use one core only.
_CONFIGURATIONS = {
    "one thread": (1, False),
    "two threads": (2, False),
    "two threads on one core": (2, True),
}


def compare_threads(source: np.ndarray, target: np.ndarray, n_seeds: int) -> dict[str, float]:
    """Print the times of lazybandit balanced; return ratios to the time of one thread."""
    print(f"MNIST, S {source.shape}, T {target.shape}, k = {_K}, balanced, best of 3 per seed")
    names = [
        name
        for name, (_, is_pinned) in _CONFIGURATIONS.items()
        if not is_pinned or hasattr(os, "sched_setaffinity")
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, source=source, target=target)
        # Interleaved, so that a change in the load of the machine affects all configurations.
        rounds = [
            {name: _child(rows, seed, *_CONFIGURATIONS[name]) for name in names}
            for seed in range(n_seeds)
        ]
    seconds = {name: float(np.mean([each[name]["seconds"] for each in rounds])) for name in names}
    ratios = {name: seconds[name] / seconds["one thread"] for name in names}
    for name, ratio in ratios.items():
        print(f"    {name:24} {seconds[name]:6.2f} s   {ratio:.3f} times one thread")
    are_same = [len({str(run["indices"]) for run in each.values()}) == 1 for each in rounds]
    print(f"    the same indices in all configurations: {sum(are_same)} of {n_seeds} seeds")
    return ratios


def _child(rows: Path, seed: int, n_jobs: int, is_pinned: bool) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD, rows, _K, seed, n_jobs, int(is_pinned)]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


PARTS = {"methods": compare_methods, "threads": compare_threads, "calls": time_calls}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        parser.error(f"--only={options.only}: {unknown} not allowed. Use some of {list(PARTS)}.")
    started = perf_counter()
    source, _, target, _ = paper_problem(options.data)
    figures: dict[str, Any] = {"seeds": options.seeds, "k": _K}
    for name in names:
        load = OtherLoad()
        figures[name] = PARTS[name](source, target, options.seeds)
        figures[f"{name}_others_cores"] = load.cores()
        load.print()
    seconds = perf_counter() - started
    write_measurement(options.out, "benchmarks.timing", figures, seconds=seconds)


if __name__ == "__main__":
    main()
