"""Fit ProtoDash of aix360 with its faster solver; the median distance is the kernel width."""

from _fit import median_distance, time_fit
from aix360.algorithms.protodash import ProtodashExplainer


def fit(source, target, k, seed):
    rows = source if target is None else target
    sigma = median_distance(rows)
    _, indices, _ = ProtodashExplainer().explain(
        rows, source, m=k, kernelType="Gaussian", sigma=sigma, optimizer="osqp"
    )
    return indices


time_fit("aix360", fit)
