"""Time of methods on the paper's MNIST problem, of passes and first calls; effect of threads.

    python -m benchmarks.timing --data DIR [--seeds 3] [--only methods,passes,…] [--out FILE]

Writes docs/results/timing.json (or ``--out``), from which `python -m benchmarks.readme` makes the
tables. Takes about five minutes on two cores. ``--only`` measures some of the parts and writes a
file without the others.

``methods`` measures times as multiples of the float32 matrix product S T' on two threads, in the
same run. ``passes`` measures those of local search on clusters of 64 columns, as multiples of one
product with as many multiply-adds. ``threads`` compares one thread, two threads, and two threads on
one core, for lazybandit on MNIST and for the plain call on the clusters. ``calls`` are ``import
protobandit`` and a first ``select`` in a new process, before anything is compiled and after, on
rows that are computed in full and on rows for local search. Each part records how many cores other
processes kept busy; a ratio of times is reliable only if that was close to zero. ``--data`` is
described in benchmarks/common/data.py.
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
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import protobandit as pb
from benchmarks.common.data import paper_problem
from benchmarks.common.machine import OtherLoad
from benchmarks.common.records import RESULTS, write_measurement
from benchmarks.comparison.large.problems import clusters
from protobandit.search.drivers.localsearch.local_search import LocalSearch

FILE = RESULTS / "timing.json"

_K = 100
_N_CLUSTERED, _D_CLUSTERED, _K_CLUSTERED = 100_000, 64, 1000
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


def compare_passes(source: np.ndarray, target: np.ndarray, n_seeds: int) -> dict[str, float]:
    """Return the time of the passes of local search as a multiple of a product."""
    rows = clusters(_N_CLUSTERED, _D_CLUSTERED)
    seconds, n_evaluations, original = 0.0, 0, LocalSearch.make_pass

    def measured(search: LocalSearch) -> tuple[float, int]:
        nonlocal seconds, n_evaluations
        before = search.oracle.evaluations.total()
        own, result = timed(partial(original, search))
        seconds, n_evaluations = seconds + own, n_evaluations + search.oracle.evaluations.total()
        n_evaluations -= before
        return result

    run = partial(pb.select, rows, k=_K_CLUSTERED, method=pb.methods.LocalSearch())
    run(random_state=n_seeds)  # compile
    others, products = rows[:_K_CLUSTERED], []
    for seed in range(n_seeds):
        with patch.object(LocalSearch, "make_pass", measured):
            run(random_state=seed)
        with threadpool_limits(2, "blas"):
            products += [timed(lambda: rows @ others.T)[0] for _ in range(3)]
    product = float(np.median(products))
    ratio = seconds / (product * n_evaluations / (len(rows) * len(others)))
    print(f"Clusters {rows.shape}, k = {_K_CLUSTERED}: passes take {ratio:.2f} times a product")
    return {"passes": ratio}


_CALL = """
from time import perf_counter as now
started = now()
import protobandit as pb
imported = now()
import numpy as np
path, n = __import__("sys").argv[1:]
target = np.load(path)["target"][:int(n)]
before = now()
found = pb.select(target, k=10, random_state=0)
print(imported - started, now() - before + imported - started, found.method)
"""
_CALLED_ROWS = {"lazybandit": 2_000, "localsearch": 20_000}  # the method that auto uses for them


def time_calls(source: np.ndarray, target: np.ndarray, n_seeds: int) -> dict[str, float]:
    """Return seconds of the import, and of import and first call without and with compiled code."""
    found: dict[str, float] = {}
    for method, n_rows in _CALLED_ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.npz"
            np.savez(rows, target=target[:n_rows])
            environment = {**os.environ, "PROTOBANDIT_CODE_FOLDER": str(Path(folder) / "compiled")}
            runs = [_first_call(rows, n_rows, method, environment) for _ in range(1 + n_seeds)]
        (_, first), later = runs[0], np.array(runs[1:])
        found.setdefault("import", float(np.median(later[:, 0])))
        found[f"{method} compiling call"] = first
        found[f"{method} first call"] = float(np.median(later[:, 1]))
    for name, seconds in found.items():
        print(f"    {name:28} {seconds:7.3f} s")
    return found


def _first_call(
    rows: Path, n_rows: int, method: str, environment: dict[str, str]
) -> tuple[float, float]:
    command = [sys.executable, "-c", _CALL, str(rows), str(n_rows)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    imported, called, used = done.stdout.split()
    assert used == method, f"auto used {used} for {n_rows} rows"
    return float(imported), float(called)


# The number of threads is fixed when a process starts, so each configuration has its own process.
_CHILD = """
import json, os, sys
path, method, k, seed, n_jobs, is_pinned = *sys.argv[1:3], *map(int, sys.argv[3:])
if is_pinned:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import protobandit as pb
from benchmarks.timing import timed
rows = np.load(path)
def run():
    return pb.select(*rows.values(), k=k, method=method, random_state=seed, n_jobs=n_jobs)
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


def compare_threads(
    source: np.ndarray, target: np.ndarray, n_seeds: int
) -> dict[str, dict[str, float]]:
    """Return for lazybandit and for local search the ratios of times to that of one thread."""
    rows = clusters(_N_CLUSTERED, _D_CLUSTERED)
    return {
        "lazybandit": _compare_threads("lazybandit", _K, n_seeds, source=source, target=target),
        "localsearch": _compare_threads("localsearch", _K_CLUSTERED, n_seeds, source=rows),
    }


def _compare_threads(method: str, k: int, n_seeds: int, **sides: np.ndarray) -> dict[str, float]:
    shapes = ", ".join(f"{name} {rows.shape}" for name, rows in sides.items())
    print(f"{method}, {shapes}, k = {k}, best of 3 per seed")
    names = [
        name
        for name, (_, is_pinned) in _CONFIGURATIONS.items()
        if not is_pinned or hasattr(os, "sched_setaffinity")
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, **sides)
        # Interleaved, so that a change in the load of the machine affects all configurations.
        rounds = [
            {name: _child(rows, method, k, seed, *_CONFIGURATIONS[name]) for name in names}
            for seed in range(n_seeds)
        ]
    seconds = {name: float(np.mean([each[name]["seconds"] for each in rounds])) for name in names}
    ratios = {name: seconds[name] / seconds["one thread"] for name in names}
    for name, ratio in ratios.items():
        print(f"    {name:24} {seconds[name]:6.2f} s   {ratio:.3f} times one thread")
    are_same = [len({str(run["indices"]) for run in each.values()}) == 1 for each in rounds]
    print(f"    the same indices in all configurations: {sum(are_same)} of {n_seeds} seeds")
    return ratios


def _child(
    rows: Path, method: str, k: int, seed: int, n_jobs: int, is_pinned: bool
) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD, rows, method, k, seed, n_jobs, int(is_pinned)]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


PARTS = {
    "methods": compare_methods,
    "passes": compare_passes,
    "threads": compare_threads,
    "calls": time_calls,
}


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
