"""What a run would take, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protobandit._limits import Limits, as_limits
from protobandit._problem import Problem, pose
from protobandit._threads import worker_count
from protobandit.methods import as_method, parameters_of

# Rough speeds of one core, for predictions only.
_PRODUCTS_PER_SECOND = 3e10  # multiply-adds of metrics that are matrix products
_DIFFERENCES_PER_SECOND = 2e9  # columns of metrics that are not
_BY_PRODUCTS = frozenset({"euclidean", "sqeuclidean", "cosine", "correlation", "jaccard"})
_SECONDS_A_PROTOTYPE = 5e-4
_NUMBERS_KEPT_PER_SECOND = 5e8


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What `select` would do with the same arguments.

    Attributes
    ----------
    method, parameters
        The method it would use.
    evaluations
        Dissimilarities it would compute while building and swapping, about.
    memory
        Bytes of dissimilarities it would keep, about.
    seconds
        How long that would take, roughly (a factor of three either way); None for a metric of the
        user's own, whose speed is not known.
    """

    method: str
    parameters: Mapping[str, Any]
    evaluations: int
    memory: int
    seconds: float | None

    def __str__(self) -> str:
        time = "unknown time" if self.seconds is None else f"about {self.seconds:.2g} s"
        return (
            f"{self.method}: about {self.evaluations:,} evaluations, "
            f"{self.memory / 1e6:,.0f} MB, {time}"
        )


def plan(
    source: Any,
    target: Any = None,
    *,
    k: int | float,
    weights: Any = None,
    metric: Any = "euclidean",
    method: Any = "auto",
    n_jobs: int | None = None,
    limits: Limits | None = None,
) -> Plan:
    """Return what `select` would do with these arguments, without computing a dissimilarity.

    Parameters
    ----------
    source, target, k, weights, metric, method, n_jobs, limits
        As in `select`.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.zeros((2000, 50), dtype=np.float32)
    >>> pb.plan(rows, k=10).evaluations
    4000000
    """
    problem = pose(source, target, k=k, weights=weights, metric=metric)
    chosen = as_method(method)
    forecast = chosen.forecast(problem, as_limits(limits))
    return Plan(
        method=chosen.name,
        parameters=parameters_of(chosen),
        evaluations=forecast.evaluations,
        memory=forecast.memory,
        seconds=_seconds(problem, forecast.evaluations, worker_count(n_jobs)),
    )


def _seconds(problem: Problem, evaluations: int, workers: int) -> float | None:
    if problem.metric.is_expensive:
        return None
    is_product = problem.metric.name in _BY_PRODUCTS
    speed = _PRODUCTS_PER_SECOND if is_product else _DIFFERENCES_PER_SECOND
    columns = (problem.source.n_cells / len(problem.source)) or 1
    computing = evaluations * columns / speed / workers
    keeping = 4 * evaluations / _NUMBERS_KEPT_PER_SECOND
    return computing + keeping + problem.k * _SECONDS_A_PROTOTYPE
