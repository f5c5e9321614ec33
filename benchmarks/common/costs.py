"""Costs computed in float64 over the whole target, independent of what a method reports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import protobandit as pb

_N_BLOCKS = 16  # of target rows, at least
_MOST_PAIRS = 1 << 24  # of one block: bounds the memory


def mean_distance(prototypes: np.ndarray, target: np.ndarray) -> float:
    """Return the mean Euclidean distance of the target rows to the nearest prototype."""
    chosen = prototypes.astype(np.float64)
    norms = (chosen**2).sum(axis=1)
    total = 0.0
    for rows in _blocks(target, len(chosen)):
        squares = (norms - 2 * rows @ chosen.T).min(axis=1) + (rows**2).sum(axis=1)
        total += float(np.sqrt(np.maximum(squares, 0)).sum())
    return total / len(target)


def mean_cosine_distance(prototypes: np.ndarray, target: np.ndarray) -> float:
    """Return the mean of 1 - the cosine of the angle between a target row and its prototype."""
    chosen = _normalised(prototypes.astype(np.float64))
    total = sum(
        float((1 - (_normalised(rows) @ chosen.T).max(axis=1)).sum())
        for rows in _blocks(target, len(chosen))
    )
    return total / len(target)


COSTS = {"euclidean": mean_distance, "cosine": mean_cosine_distance}


def _normalised(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _blocks(target: np.ndarray, k: int) -> Iterator[np.ndarray]:
    """Yield all target rows in float64, few enough at a time for a block of distances."""
    n_blocks = max(_N_BLOCKS, -(-len(target) * k // _MOST_PAIRS))
    for block in np.array_split(target, n_blocks):
        yield block.astype(np.float64)


def largest_distance(source: np.ndarray, target: np.ndarray) -> float:
    """Return C, the largest Euclidean distance between a source row and a target row.

    f = 1 - cost / C is in units of it.
    """
    norms = (source**2).sum(axis=1)[:, None]
    n_blocks = -(-len(target) // 4096)
    largest = max(
        float((norms + (rows**2).sum(axis=1) - 2 * source @ rows.T).max())
        for rows in np.array_split(target, n_blocks)
    )
    return float(np.sqrt(largest))


def search_evaluations(selection: pb.Selection) -> int:
    """Return the evaluations of the search, without those that estimate the cost of its result."""
    phases = selection.evaluations_by_phase
    return phases["build"] + phases["swap"]
