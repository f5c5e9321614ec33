"""Dynamic time warping within a band: a metric as a user would write it."""

import numpy as np

_BAND = 8  # points by which two series may be shifted
_PAIRS = 1 << 14  # whose paths are found at the same time


def dtw(targets, sources):
    """Return the distances of all pairs: the least sum of squares along a path, as a root."""
    n_rows = max(1, _PAIRS // max(1, len(sources)))
    blocks = [targets[start : start + n_rows] for start in range(0, len(targets), n_rows)]
    return np.concatenate([_dtw_of_block(block, sources) for block in blocks])


def _dtw_of_block(targets, sources):
    n = targets.shape[1]
    old = np.full((n + 1, len(targets), len(sources)), np.inf)
    old[0] = 0.0
    for a in range(1, n + 1):
        new = np.full_like(old, np.inf)
        for b in range(max(1, a - _BAND), min(n, a + _BAND) + 1):
            step = targets[:, a - 1, None].astype(float) - sources[:, b - 1]
            new[b] = step * step + np.minimum(np.minimum(old[b], new[b - 1]), old[b - 1])
        old = new
    return np.sqrt(old[n])
