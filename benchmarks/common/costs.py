"""Costs computed in float64 over the whole target, independent of what a method reports."""

from __future__ import annotations

import numpy as np

import protobandit as pb

_N_BLOCKS = 16  # of target rows; bounds the memory


def mean_distance(prototypes: np.ndarray, target: np.ndarray) -> float:
    """Return the mean Euclidean distance of the target rows to the nearest prototype."""
    chosen = prototypes.astype(np.float64)
    norms = (chosen**2).sum(axis=1)
    total = 0.0
    for block in np.array_split(target, _N_BLOCKS):
        rows = block.astype(np.float64)
        squares = (norms - 2 * rows @ chosen.T).min(axis=1) + (rows**2).sum(axis=1)
        total += float(np.sqrt(np.maximum(squares, 0)).sum())
    return total / len(target)


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
