"""Wall clock on the paper's MNIST problem, and what threads bring; all in ratios of one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import _peers
from benchmarks._data import paper_problem
from benchmarks.bars._bar import Bar, Options, lazybandit, timed

_K = 100
_PRODUCT = 0.15
_SPOT, _SPOT_PICKS = 400, 5
_TWO_THREADS, _PINNED = 1.6, 1.3


def clock(options: Options) -> Iterator[Bar | str]:
    source, _, target, _ = paper_problem(options.data)
    yield f"MNIST, S {source.shape}, T {target.shape}, k = {_K}, effort fast"
    lazybandit(source, target, k=_K, effort="fast", seed=options.seeds)  # compile
    products, races = [], []
    for seed in range(options.seeds):
        with threadpool_limits(2, "blas"):
            products.append(timed(lambda: source @ target.T)[0])
        run = lambda seed=seed: lazybandit(source, target, k=_K, effort="fast", seed=seed)  # noqa: E731
        races.append(timed(run)[0])
    seconds = float(np.mean(races))
    yield f"    {seconds:.2f} s (best {min(races):.2f}), product {np.mean(products):.2f} s"
    yield Bar("time / float32 product S T' on two threads", seconds / np.mean(products), _PRODUCT)
    python = _peers.python_of(options.peers, "interpret")
    if python is None:
        yield "    interpret is left out: no environment in --peers"
        return
    spot = _spot(source, target, python)
    yield f"    SPOT of interpret {spot['version']}: matrix {spot['matrix']:.1f} s, then"
    yield f"    {spot['picks'] / _SPOT_PICKS:.2f} s a pick (the mean of {_SPOT_PICKS}, times {_K})"
    whole = spot["matrix"] + spot["picks"] / _SPOT_PICKS * _K
    yield Bar("SPOT's time with its matrix / time", whole / seconds, _SPOT, True)


def _spot(source: np.ndarray, target: np.ndarray, python: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, source=source, target=target)
        return _peers.run("interpret_spot.py", rows, _SPOT_PICKS, python=python)


# Threads are settled when a process starts, so each way to run has a process of its own.
_CHILD = """
import json, os, sys
path, seeds, n_jobs, is_pinned = sys.argv[1], *map(int, sys.argv[2:])
if is_pinned:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from benchmarks.bars._bar import lazybandit, timed
rows = np.load(path)
source, target = rows["source"], rows["target"]
def run(seed):
    return lazybandit(source, target, k=100, effort="balanced", seed=seed, n_jobs=n_jobs)
run(seeds)
runs = [timed(lambda: run(seed)) for seed in range(seeds)]
indices = [selection.indices.tolist() for _, selection in runs]
print(json.dumps({"seconds": float(np.mean([s for s, _ in runs])), "indices": indices}))
"""


def threads(options: Options) -> Iterator[Bar | str]:
    source, _, target, _ = paper_problem(options.data)
    yield f"MNIST, S {source.shape}, T {target.shape}, k = {_K}, effort balanced"
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, source=source, target=target)
        one = _child(rows, options.seeds, n_jobs=1, is_pinned=False)
        two = _child(rows, options.seeds, n_jobs=2, is_pinned=False)
        yield f"    one thread {one['seconds']:.2f} s, two {two['seconds']:.2f} s"
        yield Bar(
            "one thread's time / two threads'", one["seconds"] / two["seconds"], _TWO_THREADS, True
        )
        is_same = one["indices"] == two["indices"]
        if hasattr(os, "sched_setaffinity"):
            pinned = _child(rows, options.seeds, n_jobs=2, is_pinned=True)
            yield Bar(
                "two threads on one core / one thread", pinned["seconds"] / one["seconds"], _PINNED
            )
            is_same &= one["indices"] == pinned["indices"]
    yield Bar("share of runs with the same indices", float(is_same), 1.0, True)


def _child(rows: Path, seeds: int, *, n_jobs: int, is_pinned: bool) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD, rows, seeds, n_jobs, int(is_pinned)]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report
