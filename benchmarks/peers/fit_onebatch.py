"""Fit the authors' OneBatchPAM (de Mathelin et al. 2025)."""

from _fit import METRIC, time_fit
from onebatch import OneBatchPAM


def fit(source, target, k, seed):
    model = OneBatchPAM(n_medoids=k, distance=METRIC, random_state=seed)
    return model.fit(source).medoid_indices_


time_fit("onebatch", fit)
