"""Prototypes of 20,000 strings under edit distance, where each evaluation is expensive.

    python -m benchmarks.edit_distance [--seeds 5] [--rows 20000] [-k 50]

Prints, for each effort of lazybandit, the share of all pairs that it computes and its loss of
f = 1 - cost / C against exact greedy on the whole matrix, where C is the largest distance. Needs
rapidfuzz; the matrix takes one byte per pair.
"""

from __future__ import annotations

import argparse
import heapq

import numpy as np

import protobandit as pb
from benchmarks.common.costs import search_evaluations
from benchmarks.common.strings import edit_distances, misspelled_words
from benchmarks.timing import timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("-k", type=int, default=50)
    options = parser.parse_args()
    compare(options.rows, options.k, options.seeds)


def compare(n: int, k: int, n_seeds: int) -> dict[str, float]:
    """Print the results; return the mean loss of f by effort, and of random rows."""
    words = misspelled_words(n)
    matrix = edit_distances(words, words)
    exact, largest = cost(matrix, greedy(matrix, k)), float(matrix.max())
    print(
        f"{n:,} strings, edit distance, k = {k}; cost of exact greedy {exact:.4f}, C = {largest:g}"
    )

    def losses(selections: list[np.ndarray]) -> np.ndarray:
        costs = np.array([cost(matrix, indices) for indices in selections])
        return (costs - exact) / (largest - exact)

    found = {}
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
        fewer = n**2 / np.mean([search_evaluations(selection) for _, selection in runs])
        found[effort] = float(lost.mean())
        print(
            f"    {effort:9} {np.mean([s for s, _ in runs]):6.2f} s   1/{fewer:.1f} of all pairs   "
            f"loss of f {lost.mean():.2%}, per seed {' '.join(f'{each:.2%}' for each in lost)}"
        )
    random = np.random.default_rng(0)
    lost = losses([random.choice(n, k, replace=False) for _ in range(n_seeds)])
    found["random"] = float(lost.mean())
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
