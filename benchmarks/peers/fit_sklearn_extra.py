"""Fit KMedoids (alternate or pam) or CLARA of scikit-learn-extra; they compute the matrix."""

from _fit import time_fit
from sklearn_extra.cluster import CLARA, KMedoids

MODELS = {
    "alternate": lambda k, seed: KMedoids(
        k, method="alternate", init="k-medoids++", random_state=seed
    ),
    "pam": lambda k, seed: KMedoids(k, method="pam", init="build", random_state=seed),
    "clara": lambda k, seed: CLARA(k, random_state=seed),
}


def fit(source, target, k, seed, name):
    return MODELS[name](k, seed).fit(source).medoid_indices_


time_fit("scikit-learn-extra", fit)
