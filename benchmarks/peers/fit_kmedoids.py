"""Fit FasterPAM or FastPAM1 of the package kmedoids on a matrix of scikit-learn, as documented."""

import kmedoids
from _fit import THREADS, part, time_fit
from sklearn.metrics import pairwise_distances


def fit(source, target, k, seed, method):
    with part("matrix"):
        matrix = pairwise_distances(source)
    options = {"n_cpu": THREADS} if method == "fasterpam" else {}
    return getattr(kmedoids, method)(matrix, k, random_state=seed, **options).medoids


time_fit("kmedoids", fit)
