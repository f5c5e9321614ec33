"""Sketch rows with geosketch, which covers the space evenly; used for single cells.

As its documentation says, it gets few principal components of rows with many columns.
"""

import numpy as np
from _fit import time_fit
from fbpca import pca
from geosketch import gs

_COMPONENTS = 50


def fit(source, target, k, seed):
    np.random.seed(seed)  # noqa: NPY002  (the generator that both use)
    rows = source.astype(np.float64)
    if rows.shape[1] > _COMPONENTS:
        left, sizes, _ = pca(rows, k=_COMPONENTS)
        rows = left * sizes
    return gs(rows, k, replace=False, seed=seed)


time_fit("geosketch", fit)
