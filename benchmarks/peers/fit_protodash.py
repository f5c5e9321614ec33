"""Fit aix360's ProtoDash by its quicker solver; its kernel is as wide as the median distance."""

from _fit import median_distance, race
from aix360.algorithms.protodash import ProtodashExplainer


def fit(source, target, k, seed):
    rows = source if target is None else target
    sigma = median_distance(rows)
    _, indices, _ = ProtodashExplainer().explain(
        rows, source, m=k, kernelType="Gaussian", sigma=sigma, optimizer="osqp"
    )
    return indices


race("aix360", fit)
