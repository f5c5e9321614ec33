"""Fit its authors' OneBatchPAM (de Mathelin et al. 2025)."""

from _fit import race
from onebatch import OneBatchPAM


def fit(source, target, k, seed):
    return OneBatchPAM(n_medoids=k, random_state=seed).fit(source).medoid_indices_


race("onebatch", fit)
