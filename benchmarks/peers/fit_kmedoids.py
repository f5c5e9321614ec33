"""Fit FasterPAM or FastPAM1 of the package kmedoids, on scikit-learn's matrix as it documents."""

import kmedoids
from _fit import THREADS, part, race
from sklearn.metrics import pairwise_distances


def fit(source, target, k, seed, method):
    with part("matrix"):
        matrix = pairwise_distances(source)
    options = {"n_cpu": THREADS} if method == "fasterpam" else {}
    return getattr(kmedoids, method)(matrix, k, random_state=seed, **options).medoids


race("kmedoids", fit)
