"""Fit SuperKMeans (Kuffo et al.) with its defaults; return the distinct rows nearest to centres.

By default it is hierarchical for more than 100,000 rows.
"""

from _fit import METRIC, THREADS, time_fit
from _nearest import nearest_distinct_rows
from superkmeans import SuperKMeans


def fit(source, target, k, seed):
    model = SuperKMeans(
        k, source.shape[1], seed=seed, n_threads=THREADS, angular=METRIC == "cosine"
    )
    return nearest_distinct_rows(model.train(source if target is None else target), source)


time_fit("superkmeans", fit)
