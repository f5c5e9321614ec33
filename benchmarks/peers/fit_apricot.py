"""Fit apricot's facility location by lazy greedy.

Its metric "euclidean" squares the distances, so this passes similarities: largest - distance.
"""

import numpy as np
from _fit import part, time_fit
from apricot import FacilityLocationSelection
from sklearn.metrics import pairwise_distances


def fit(source, target, k, seed):
    with part("matrix"):
        matrix = pairwise_distances(source).astype(np.float64)
        np.subtract(matrix.max(), matrix, out=matrix)
    return FacilityLocationSelection(k, metric="precomputed", optimizer="lazy").fit(matrix).ranking


time_fit("apricot-select", fit)
