"""Select rows under the metric of a field: by protobandit, at random, or farthest first.

The metric "dtw" is a function of the user (`_dtw.py`).
"""

import numpy as np
from _dtw import dtw
from _fit import METRIC, THREADS, time_fit

import protobandit as pb

_METRIC = pb.block_metric(dtw) if METRIC == "dtw" else METRIC


def fit(source, target, k, seed, name, effort="balanced"):
    if name == "random":
        return np.random.default_rng(seed).choice(len(source), k, replace=False)
    method = pb.methods.KCenter() if name == "farthest" else pb.methods.Auto(effort=effort)
    options = {"method": method, "random_state": seed, "n_jobs": THREADS}
    return pb.select(source, k=k, metric=_METRIC, **options).indices


time_fit("protobandit", fit, version=pb.__version__, warm_rows=600, warm_k=13)
