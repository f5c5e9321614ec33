"""What the methods on a kernel take: seconds next to the plain product, and memory.

    python -m benchmarks.kernels_methods [--source N] [--target N] [-k N] [--columns 50,784]

The product is S T' in float32, in blocks of the same size and on as many threads, with nothing done
to its numbers: no method that looks at every pair can take less. Growth is the peak of the memory
of the process that is its own (RssAnon, Linux only) over what it was before; the matrix would take
4 |S| |T| bytes.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks._others import Others
from protobandit.foundation.threads import one_blas_thread, run, worker_count

METHODS = (
    pb.methods.MMDCritic(),
    pb.methods.ProtoDash(),
    pb.methods.MMDCritic(kernel="linear"),
    pb.methods.ProtoDash(kernel="polynomial"),
)
CHUNK, TILE = 2048, 256
STATUS = Path("/proc/self/status")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=int, default=10_000)
    parser.add_argument("--target", type=int, default=50_000)
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--columns", default="50,784")
    options = parser.parse_args()
    matrix = 4e-6 * options.source * options.target
    print(f"|S|={options.source:,} |T|={options.target:,} k={options.k}; matrix {matrix:,.0f} MB")
    for columns in map(int, options.columns.split(",")):
        compare(options, columns)


def compare(options: Any, columns: int) -> None:
    random = np.random.default_rng(0)
    source = random.normal(size=(options.source, columns)).astype(np.float32)
    target = random.normal(size=(options.target, columns)).astype(np.float32)
    for method in METHODS:  # compile
        pb.select(source[:300], target[:3000], k=2, method=method)
    others = Others()
    product(source, target)
    seconds = clocked(lambda: product(source, target))
    print(f"\n{columns} columns: product {seconds:.2f} s")
    for method in METHODS:
        with grown() as growth:
            took = clocked(lambda: pb.select(source, target, k=options.k, method=method))  # noqa: B023
        memory = f"{growth[0]:,.0f} MB" if growth else "unknown"
        name = f"{method.name} ({method.kernel})"
        print(f"  {name:24} {took:6.2f} s  {took / seconds:5.2f} products  grew by {memory}")
    cores = others.cores()
    if cores is not None:
        print(f"  other processes kept {cores:.2f} cores busy meanwhile")


def product(source: Any, target: Any) -> None:
    """Compute every block of the product, and forget it."""
    blocks = [(i, j) for j in range(0, len(target), CHUNK) for i in range(0, len(source), TILE)]

    def multiply(block: tuple[int, int]) -> None:
        i, j = block
        np.matmul(source[i : i + TILE], target[j : j + CHUNK].T)

    with one_blas_thread():
        run(multiply, blocks, worker_count(None))


def clocked(call: Callable[[], Any]) -> float:
    started = perf_counter()
    call()
    return perf_counter() - started


@contextmanager
def grown() -> Iterator[list[float]]:
    """Yield a list that holds, at the end, the peak growth in MB where that can be read."""
    growth: list[float] = []
    if not STATUS.exists():
        yield growth
        return
    before, peak, done = own_memory(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], own_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield growth
    finally:
        done.set()
        watcher.join()
        growth.append(max(peak[0] - before, 0.0))


def own_memory() -> float:
    lines = STATUS.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


if __name__ == "__main__":
    main()
