"""Fit a method of this package; an effort is one of "auto" or of "lazybandit".

The warm-up is large enough to compile all kernels that larger problems use.
"""

from _fit import METRIC, THREADS, time_fit

import protobandit as pb


def fit(source, target, k, seed, name, effort=None):
    method = name
    if effort is not None:
        number = effort.replace(".", "", 1).isdigit()
        kind = pb.methods.Auto if name == "auto" else pb.methods.LazyBandit
        method = kind(effort=float(effort) if number else effort)
    options = {"method": method, "random_state": seed, "n_jobs": THREADS}
    return pb.select(source, target, k=k, metric=METRIC, **options).indices


time_fit("protobandit", fit, version=pb.__version__, warm_rows=4200, warm_k=13)
