"""Small problems of integers that all peers solve, from a generator of a few lines.

Distances are sums of integers, so costs are the same to the last bit on every machine. The numbers
are large enough that no two swaps have the same gain.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

SPREAD = {"seed": 1, "n": 60, "columns": 3, "n_centres": 60, "noise": 4000}
BLOBS = {"seed": 2, "n": 90, "columns": 2, "n_centres": 6, "noise": 300}
LARGER = {"seed": 3, "n": 240, "columns": 4, "n_centres": 15, "noise": 2500}
ROWS = {"spread": SPREAD, "blobs": BLOBS, "larger": LARGER}
SIZES = {"spread": (3, 8), "blobs": (4, 6), "larger": (10, 15)}


def make_rows(recipe: dict[str, int]) -> np.ndarray:
    """Return rows of integers around centres, from a linear congruential generator.

    Row i is centre ``i % n_centres`` plus noise. The centres are drawn first, row by row, with
    ``state = (1103515245 * state + 12345) % 2**31``; the upper bits are used.
    """
    state = recipe["seed"]

    def numbers(count: int, top: int) -> list[int]:
        nonlocal state
        found = []
        for _ in range(count):
            state = (1103515245 * state + 12345) % 2**31
            found.append((state >> 8) * top >> 23)
        return found

    n, columns, n_centres = recipe["n"], recipe["columns"], recipe["n_centres"]
    centres = np.array(numbers(n_centres * columns, 10_000)).reshape(n_centres, columns)
    noise = np.array(numbers(n * columns, recipe["noise"])).reshape(n, columns)
    return (centres[np.arange(n) % n_centres] + noise).astype(np.float64)


def manhattan(targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return the exact sums of absolute differences, one row per target row."""
    return np.abs(targets[:, None, :] - sources[None, :, :]).sum(axis=2)


def print_report(peer: str, version: str, made_by: str, cases: list[dict[str, Any]]) -> None:
    """Print a fixture as JSON, one case per line."""
    head = json.dumps({"peer": peer, "version": version, "made_by": made_by})
    lines = ",\n  ".join(json.dumps(case) for case in cases)
    print(f'{head[:-1]},\n "cases": [\n  {lines}\n ]}}')
