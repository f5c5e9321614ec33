"""Strings under edit distance, where every evaluation is dear."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

import protobandit as pb
from benchmarks._strings import edit_distances, misspelt_words
from benchmarks.bars._bar import Bar, Options, by_seed, lazybandit, search_evaluations, timed

_N, _K, _EFFORT = 20_000, 50, "fast"
_FEWER, _LOSS, _RANDOM_LOSS = 60, 0.01, 0.05


def strings(options: Options) -> Iterator[Bar | str]:
    words = misspelt_words(_N)
    matrix = edit_distances(words, words)
    exact, largest = _cost(matrix, _greedy(matrix, _K)), float(matrix.max())
    yield f"{_N:,} strings, edit distance, k = {_K}, exact greedy costs {exact:.4f}, C = {largest}"
    metric = pb.block_metric(edit_distances)
    for effort in ("fast", "balanced", "thorough"):
        runs = [
            timed(lambda s=s, e=effort: lazybandit(words, k=_K, effort=e, seed=s, metric=metric))
            for s in range(options.seeds)
        ]
        costs = np.array([_cost(matrix, run.indices) for _, run in runs])
        losses = (costs - exact) / (largest - exact)
        fewer = _N**2 / np.mean([search_evaluations(run) for _, run in runs])
        seconds = np.mean([s for s, _ in runs])
        shown = by_seed(losses, ".2%")
        yield f"    {effort}: {seconds:.2f} s, 1/{fewer:.1f} of |S||T|, losses by seed {shown}"
        yield f"    cost {np.mean(costs) / exact - 1:+.2%} against exact greedy"
        if effort == _EFFORT:
            yield Bar(f"{effort}: |S||T| / evaluations", fewer, _FEWER, True)
            yield Bar(f"{effort}: loss of f", np.mean(losses), _LOSS, form=".2%")
    random = np.random.default_rng(0)
    draws = [random.choice(_N, _K, replace=False) for _ in range(options.seeds)]
    loss = np.mean([(_cost(matrix, draw) - exact) / (largest - exact) for draw in draws])
    yield Bar("random rows: loss of f", loss, _RANDOM_LOSS, True, ".2%")


def _cost(matrix: np.ndarray, indices: np.ndarray) -> float:
    return float(matrix[indices].min(axis=0).mean(dtype=np.float64))


def _greedy(matrix: np.ndarray, k: int) -> np.ndarray:
    """Return exact greedy's picks: a gain from before is an upper bound, so few are computed."""
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
