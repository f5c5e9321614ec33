"""Fit a method of this package.

The warm-up is large enough to compile all kernels that larger problems use.
"""

from _fit import THREADS, time_fit

import protobandit as pb


def fit(source, target, k, seed, name, effort=None):
    method = name
    if effort is not None:
        number = effort.replace(".", "", 1).isdigit()
        method = pb.methods.LazyBandit(effort=float(effort) if number else effort)
    found = pb.select(source, target, k=k, method=method, random_state=seed, n_jobs=THREADS)
    return found.indices


time_fit("protobandit", fit, version=pb.__version__, warm_rows=4200, warm_k=13)
