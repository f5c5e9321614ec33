"""How time and memory grow with the target and with the source.

The target is a memory map of 10 million rows in a temporary folder (2.5 GB, deleted at the end); a
process of its own runs on all of it and on its first 100,000 rows.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.bars._bar import Bar, Options, lazybandit, timed

_COLUMNS, _CENTRES = 64, 50
_SMALL, _LARGE = 10**5, 10**7
_SOURCE, _K = 2000, 20
_SLOWER, _MEGABYTES = 1.3, 100
_SOURCES, _SLOPE = (5_000, 10_000, 20_000, 40_000), 1.15

_CHILD = """
import json, sys, threading, time
from pathlib import Path
import numpy as np
from benchmarks.bars._bar import lazybandit, timed
path, columns, n_small, n_source, k, seeds = sys.argv[1], *map(int, sys.argv[2:])
rows = np.memmap(path, dtype=np.float32, mode="r").reshape(-1, columns)
source = np.array(rows[:: len(rows) // n_source][:n_source])
def run(target, seed):
    return timed(lambda: lazybandit(source, target, k=k, effort="balanced", seed=seed))[0]
def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024
run(rows[:n_small], seeds)
before, peak, is_over = anonymous(), [0.0], threading.Event()
def watch():
    while not is_over.wait(0.002):
        peak.append(anonymous())
watcher = threading.Thread(target=watch)
watcher.start()
first = run(rows, seeds)
is_over.set()
watcher.join()
small = [run(rows[:n_small], seed) for seed in range(seeds)]
large = [run(rows, seed) for seed in range(seeds)]
report = {"small": small, "large": large, "first": first, "growth": max(peak) - before}
print(json.dumps(report))
"""


def growth(options: Options) -> Iterator[Bar | str]:
    yield f"T of 1e5 and 1e7 rows of {_COLUMNS} columns on disk, S = {_SOURCE}, k = {_K}, balanced"
    yield from _in_target(options)
    yield f"S of {_SOURCES} rows, T = {_SMALL}, k = {_K}, fast"
    yield from _in_source(options)


def _in_target(options: Options) -> Iterator[Bar | str]:
    needed = 4 * _COLUMNS * _LARGE
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 1.2 * needed:
            yield f"    left out: {needed / 1e9:.1f} GB are not free where temporary files go"
            return
        if not Path("/proc/self/status").exists():
            yield "    left out: memory is read from /proc, which is not here"
            return
        path = Path(folder) / "rows.bin"
        with path.open("wb") as file:
            for piece in _pieces(_LARGE):
                piece.tofile(file)
        arguments = (path, _COLUMNS, _SMALL, _SOURCE, _K, options.seeds)
        command = [sys.executable, "-c", _CHILD, *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report = json.loads(done.stdout)
    small, large = np.mean(report["small"]), np.mean(report["large"])
    yield f"    {small:.2f} s and {large:.2f} s; first time {report['first']:.2f} s"
    yield Bar("time for 1e7 target rows / 1e5", large / small, _SLOWER)
    yield Bar("growth of anonymous memory, MB", report["growth"], _MEGABYTES)


def _pieces(n_rows: int, seed: int = 0, size: int = 10**5) -> Iterator[np.ndarray]:
    random = np.random.default_rng(seed)
    centres = 2 * random.standard_normal((_CENTRES, _COLUMNS), dtype=np.float32)
    for start in range(0, n_rows, size):
        n = min(size, n_rows - start)
        rows = random.standard_normal((n, _COLUMNS), dtype=np.float32)
        rows += centres[random.integers(_CENTRES, size=n)]
        yield rows


def _in_source(options: Options) -> Iterator[Bar | str]:
    target = next(_pieces(_SMALL))
    sources = next(_pieces(max(_SOURCES), seed=1))
    means = []
    for n in _SOURCES:
        source = sources[:n]
        lazybandit(source, target, k=_K, effort="fast", seed=options.seeds)
        runs = [
            timed(lambda s=s, x=source: lazybandit(x, target, k=_K, effort="fast", seed=s))
            for s in range(options.seeds)
        ]
        means.append(np.mean([seconds for seconds, _ in runs]))
        n_evaluations = np.mean([selection.evaluations for _, selection in runs])
        yield f"    {n:6,} rows: {means[-1]:.3f} s, {n_evaluations:.3g} evaluations"
    slope = np.polyfit(np.log(_SOURCES), np.log(means), 1)[0]
    yield Bar("time grows with |S| to the power", float(slope), _SLOPE)
