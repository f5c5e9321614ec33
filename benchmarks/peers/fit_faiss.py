"""Fit faiss.Kmeans with its defaults ("sample") or on all rows ("all"); return distinct rows.

Its default is a sample of 256 rows per centre. 25 iterations are its default; the largest problems
(rows times centres from 10^10 on) get 10.
"""

import faiss
from _fit import METRIC, THREADS, time_fit
from _nearest import nearest_distinct_rows

_ITERATIONS, _FEWER, _LARGE = 25, 10, 10**10


def fit(source, target, k, seed, rows):
    faiss.omp_set_num_threads(THREADS)
    wanted = source if target is None else target
    options = {"max_points_per_centroid": len(wanted)} if rows == "all" else {}
    model = faiss.Kmeans(
        source.shape[1],
        k,
        niter=_FEWER if len(wanted) * k >= _LARGE else _ITERATIONS,
        seed=seed,
        spherical=METRIC == "cosine",
        **options,
    )
    model.train(wanted)
    return nearest_distinct_rows(model.centroids, source)


time_fit("faiss-cpu", fit)
