"""Prototypes of 20,000 strings under edit distance, where each evaluation is expensive.

    python -m benchmarks.edit_distance [--seeds 3] [--rows 20000] [-k 50] [--out FILE]

Writes docs/results/edit_distance.json (or ``--out``): for each effort of lazybandit, the share of
all pairs that it computes (with those that measure the cost of the result) and its loss of
f = 1 - cost / C against exact greedy on the whole matrix, where C is the largest distance. Takes
about two minutes on two cores. Needs rapidfuzz; the matrix takes one byte per pair.
"""

from __future__ import annotations

import argparse
import heapq
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.records import RESULTS, write_measurement
from benchmarks.common.strings import edit_distances, misspelled_words
from benchmarks.timing import timed

FILE = RESULTS / "edit_distance.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("-k", type=int, default=50)
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    options, started = parser.parse_args(), perf_counter()
    figures = compare(options.rows, options.k, options.seeds)
    seconds = perf_counter() - started
    write_measurement(options.out, "benchmarks.edit_distance", figures, seconds=seconds)


def compare(n: int, k: int, n_seeds: int) -> dict[str, Any]:
    """Return loss of f and share of all pairs by effort, and the loss of random rows."""
    words = misspelled_words(n)
    matrix = edit_distances(words, words)
    exact, largest = cost(matrix, greedy(matrix, k)), float(matrix.max())
    print(
        f"{n:,} strings, edit distance, k = {k}; cost of exact greedy {exact:.4f}, C = {largest:g}"
    )

    def losses(selections: list[np.ndarray]) -> np.ndarray:
        costs = np.array([cost(matrix, indices) for indices in selections])
        return (costs - exact) / (largest - exact)

    found: dict[str, Any] = {"n": n, "k": k, "seeds": n_seeds}
    metric = pb.block_metric(edit_distances)
    for effort in ("fast", "balanced", "thorough"):
        method = pb.methods.LazyBandit(effort=effort)
        runs = [
            timed(
                lambda seed=seed, method=method: pb.select(
                    words, k=k, metric=metric, method=method, random_state=seed
                )
            )
            for seed in range(n_seeds)
        ]
        lost = losses([selection.indices for _, selection in runs])
        share = float(np.mean([selection.evaluations for _, selection in runs])) / n**2
        found[effort] = {"loss": float(lost.mean()), "share": share}
        print(
            f"    {effort:9} {np.mean([s for s, _ in runs]):6.2f} s   "
            f"1/{1 / share:.1f} of all pairs   "
            f"loss of f {lost.mean():.2%}, per seed {' '.join(f'{each:.2%}' for each in lost)}"
        )
    random = np.random.default_rng(0)
    lost = losses([random.choice(n, k, replace=False) for _ in range(n_seeds)])
    found["random"] = {"loss": float(lost.mean()), "share": 0.0}
    print(f"    random rows: loss of f {lost.mean():.2%}")
    return found


def cost(matrix: np.ndarray, indices: np.ndarray) -> float:
    """Return the mean distance to the nearest of these rows."""
    return float(matrix[indices].min(axis=0).mean(dtype=np.float64))


def greedy(matrix: np.ndarray, k: int) -> np.ndarray:
    """Return the picks of exact greedy; an earlier gain is an upper bound, so few are computed."""
    nearest = np.full(matrix.shape[1], matrix.max())
    gains = nearest.sum(dtype=np.int64) - matrix.sum(axis=1, dtype=np.int64)
    heap = [(-int(gain), i, 0) for i, gain in enumerate(gains)]
    heapq.heapify(heap)
    picks: list[int] = []
    while len(picks) < k:
        _, i, n_known = heap[0]
        if n_known < len(picks):
            gain = (nearest - np.minimum(nearest, matrix[i])).sum(dtype=np.int64)
            heapq.heapreplace(heap, (-int(gain), i, len(picks)))
            continue
        heapq.heappop(heap)
        picks.append(i)
        nearest = np.minimum(nearest, matrix[i])
    return np.array(picks)


if __name__ == "__main__":
    main()
