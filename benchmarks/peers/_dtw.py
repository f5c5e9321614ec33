"""Dynamic time warping within a band: a metric as a user would write it."""

import numba
import numpy as np

_BAND = 8  # points by which two series may be shifted


@numba.njit(cache=True, nogil=True)
def dtw(targets, sources):
    """Return the distances of all pairs: the least sum of squares along a path, as a root."""
    n = targets.shape[1]
    out = np.empty((len(targets), len(sources)))
    for i in range(len(targets)):
        for j in range(len(sources)):
            old = np.full(n + 1, np.inf)
            old[0] = 0.0
            for a in range(1, n + 1):
                new = np.full(n + 1, np.inf)
                for b in range(max(1, a - _BAND), min(n, a + _BAND) + 1):
                    step = targets[i, a - 1] - sources[j, b - 1]
                    new[b] = step * step + min(old[b], new[b - 1], old[b - 1])
                old = new
            out[i, j] = np.sqrt(old[n])
    return out
