"""Fit interpret-core's SPOTgreedy (Gurumoorthy et al. 2021) on scikit-learn's matrix."""

import numpy as np
from _fit import part, race
from interpret.utils._SPOTgreedy import SPOT_GreedySubsetSelection
from sklearn.metrics import pairwise_distances


def fit(source, target, k, seed):
    with part("matrix"):
        matrix = pairwise_distances(source, source if target is None else target)
    n = matrix.shape[1]
    indices, _ = SPOT_GreedySubsetSelection(matrix, np.full((1, n), 1 / n), k)
    return indices


race("interpret-core", fit)
