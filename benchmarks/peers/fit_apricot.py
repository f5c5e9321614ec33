"""Fit apricot's facility location by lazy greedy.

Its own metric "euclidean" squares the distances, so it is given similarities: largest - distance.
"""

import numpy as np
from _fit import part, race
from apricot import FacilityLocationSelection
from sklearn.metrics import pairwise_distances


def fit(source, target, k, seed):
    with part("matrix"):
        matrix = pairwise_distances(source).astype(np.float64)
        np.subtract(matrix.max(), matrix, out=matrix)
    return FacilityLocationSelection(k, metric="precomputed", optimizer="lazy").fit(matrix).ranking


race("apricot-select", fit)
