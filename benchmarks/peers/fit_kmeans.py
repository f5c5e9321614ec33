"""Fit KMeans or MiniBatchKMeans of scikit-learn; return the source row nearest to each centre."""

import numpy as np
import sklearn.cluster
from _fit import time_fit
from sklearn.metrics import pairwise_distances_argmin


def fit(source, target, k, seed, name):
    rows = source if target is None else target
    centres = getattr(sklearn.cluster, name)(k, random_state=seed).fit(rows).cluster_centers_
    return np.unique(pairwise_distances_argmin(centres, source))


time_fit("scikit-learn", fit)
