"""Fit the authors' OneBatchPAM (de Mathelin et al. 2025)."""

from _fit import time_fit
from onebatch import OneBatchPAM


def fit(source, target, k, seed):
    return OneBatchPAM(n_medoids=k, random_state=seed).fit(source).medoid_indices_


time_fit("onebatch", fit)
