"""Fit submodlib's facility location by lazy greedy, on similarities: largest - distance.

Its metric "euclidean" is exp(-distance / columns), which is a different objective.
"""

import numpy as np
from _fit import part, time_fit
from sklearn.metrics import pairwise_distances
from submodlib import FacilityLocationFunction


def fit(source, target, k, seed):
    with part("matrix"):
        matrix = pairwise_distances(source if target is None else target, source)
        np.subtract(matrix.max(), matrix, out=matrix)
    is_rectangular = target is not None
    function = FacilityLocationFunction(
        n=len(source),
        mode="dense",
        separate_rep=is_rectangular,
        n_rep=len(target) if is_rectangular else None,
        sijs=matrix,
    )
    picks = function.maximize(budget=k, optimizer="LazyGreedy", show_progress=False)
    return [row for row, _ in picks]


time_fit("submodlib-py", fit)
