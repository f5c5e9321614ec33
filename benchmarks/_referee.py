"""The referee: costs over all of the target in float64, whatever the method says of itself."""

from __future__ import annotations

import numpy as np

_PIECES = 16


def mean_distance(prototypes: np.ndarray, target: np.ndarray) -> float:
    """Return the mean euclidean distance of the target rows to the nearest prototype."""
    chosen = prototypes.astype(np.float64)
    norms = (chosen**2).sum(axis=1)
    total = 0.0
    for piece in np.array_split(target, _PIECES):
        rows = piece.astype(np.float64)
        squares = (norms - 2 * rows @ chosen.T).min(axis=1) + (rows**2).sum(axis=1)
        total += float(np.sqrt(np.maximum(squares, 0)).sum())
    return total / len(target)
