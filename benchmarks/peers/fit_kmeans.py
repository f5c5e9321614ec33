"""Fit KMeans or MiniBatchKMeans of scikit-learn; return the source row nearest to each centre.

The option "distinct" gives centres that share their nearest row different rows.
"""

import numpy as np
import sklearn.cluster
from _fit import time_fit
from _nearest import nearest_distinct_rows
from sklearn.metrics import pairwise_distances_argmin


def fit(source, target, k, seed, name, distinct=None):
    rows = source if target is None else target
    centres = getattr(sklearn.cluster, name)(k, random_state=seed).fit(rows).cluster_centers_
    if distinct is not None:
        return nearest_distinct_rows(centres, source)
    return np.unique(pairwise_distances_argmin(centres, source))


time_fit("scikit-learn", fit)
