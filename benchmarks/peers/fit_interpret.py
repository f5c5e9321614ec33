"""Fit SPOTgreedy of interpret-core (Gurumoorthy et al. 2021) on a matrix of scikit-learn."""

import numpy as np
from _fit import part, time_fit
from interpret.utils._SPOTgreedy import SPOT_GreedySubsetSelection
from sklearn.metrics import pairwise_distances


def fit(source, target, k, seed):
    with part("matrix"):
        matrix = pairwise_distances(source, source if target is None else target)
    n = matrix.shape[1]
    indices, _ = SPOT_GreedySubsetSelection(matrix, np.full((1, n), 1 / n), k)
    return indices


time_fit("interpret-core", fit)
