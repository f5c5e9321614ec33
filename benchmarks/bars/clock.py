"""Wall clock on the paper's MNIST problem, and what threads bring; all in ratios of one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
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
_TWO, _PINNED = 1.6, 1.3


def clock(options: Options) -> Iterator[Bar | str]:
    source, _, target, _ = paper_problem(options.data)
    yield f"MNIST, S {source.shape}, T {target.shape}, k = {_K}, effort fast"
    lazybandit(source, target, k=_K, effort="fast", seed=options.seeds)  # compile
    products, races = [], []
    for seed in range(options.seeds):
        with threadpool_limits(2, "blas"):
            products.append(timed(lambda: source @ target.T)[0])
        race = partial(lazybandit, source, target, k=_K, effort="fast", seed=seed)
        races.append(timed(race)[0])
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
path, k, seed, n_jobs, is_pinned = sys.argv[1], *map(int, sys.argv[2:])
if is_pinned:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from benchmarks.bars._bar import lazybandit, timed
rows = np.load(path)
source, target = rows["source"], rows["target"]
def run():
    return lazybandit(source, target, k=k, effort="balanced", seed=seed, n_jobs=n_jobs)
run()
runs = [timed(run) for _ in range(3)]
indices = runs[0][1].indices.tolist()
print(json.dumps({"seconds": min(seconds for seconds, _ in runs), "indices": indices}))
"""
_WAYS = {"one": (1, False), "two": (2, False), "pinned": (2, True)}  # n_jobs, on one core only


def threads(options: Options) -> Iterator[Bar | str]:
    source, _, target, _ = paper_problem(options.data)
    yield f"MNIST, S {source.shape}, T {target.shape}, k = {_K}, effort balanced, best of 3 a seed"
    ways = [way for way in _WAYS if way != "pinned" or hasattr(os, "sched_setaffinity")]
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, source=source, target=target)
        # In turns, so that a neighbour who comes and goes meets all of them.
        rounds = [
            {way: _child(rows, seed, *_WAYS[way]) for way in ways} for seed in range(options.seeds)
        ]
    seconds = {way: np.mean([each[way]["seconds"] for each in rounds]) for way in ways}
    yield "    " + ", ".join(f"{way} {mean:.2f} s" for way, mean in seconds.items())
    yield Bar("one thread's time / two threads'", seconds["one"] / seconds["two"], _TWO, True)
    if "pinned" in ways:
        slower = seconds["pinned"] / seconds["one"]
        yield Bar("two threads on one core / one thread", slower, _PINNED)
    same = [all(r["indices"] == each["one"]["indices"] for r in each.values()) for each in rounds]
    yield Bar("share of seeds with the same indices in all", float(np.mean(same)), 1.0, True)


def _child(rows: Path, seed: int, n_jobs: int, is_pinned: bool) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD, rows, _K, seed, n_jobs, int(is_pinned)]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report
