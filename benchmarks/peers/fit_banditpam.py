"""Fit the authors' BanditPAM (Tiwari et al. 2020, 2023) with its default settings."""

from _fit import time_fit
from banditpam import KMedoids


def fit(source, target, k, seed):
    model = KMedoids(n_medoids=k, algorithm="BanditPAM")
    model.seed = seed
    model.fit(source, "L2")
    return model.medoids


time_fit("banditpam", fit)
