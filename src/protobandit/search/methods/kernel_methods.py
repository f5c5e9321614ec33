"""What methods on a kernel share: which rows it reads, its bandwidth, its embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.similarities import Similarity, similarity
from protobandit.oracle.oracle import Oracle
from protobandit.problem.problem import Problem
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.objectives.embedding import Embedding, median_evaluations, median_gamma


def similarity_for(
    oracle: Oracle, kernel: Any, *, gamma: float | None, degree: int, coef0: float
) -> Similarity:
    """Return the kernel for the oracle's problem; a gamma not given is found here."""
    require_readable(oracle.problem, kernel)
    if gamma is None:
        n_columns = oracle.problem.source.n_columns or 1
        gamma = median_gamma(oracle) if kernel == "rbf" else 1 / n_columns
    return similarity(kernel, gamma=gamma, degree=degree, coef0=coef0)


def embedded(
    oracle: Oracle, kernel: Similarity, control: SearchControl, name: str = "means"
) -> Embedding:
    """Return the embedding of source and target; a search that makes two names them apart."""
    saved = control.states.restore(name)
    if saved is not None:
        return Embedding.of(oracle, kernel, saved.arrays["means"])
    embedding = Embedding.of(oracle, kernel)
    control.states.save(name, SavedState(arrays={"means": embedding.means}))
    return embedding


def embedding_evaluations(problem: Problem, kernel: Any, gamma: float | None) -> int:
    """Return what the bandwidth and the means of an embedding cost."""
    n_source, n_target = len(problem.source), len(problem.target)
    n_weighty = n_target if problem.weights is None else int(np.count_nonzero(problem.weights))
    is_estimated = kernel == "rbf" and gamma is None
    return n_source * n_target + is_estimated * median_evaluations(n_source, n_weighty)


def require_readable(problem: Problem, kernel: Any) -> None:
    """Refuse problems whose rows the kernel cannot read."""
    if problem.metric.name == "precomputed":
        raise InvalidInput(
            "metric='precomputed' leaves a kernel no rows to compare. Pass the rows themselves and "
            "a metric of rows; or the rows' numbers, and a kernel and a metric that look them up."
        )
    if not callable(kernel) and problem.source.kind == "objects":
        raise InvalidInput(
            f"source holds rows that are not numbers, which kernel={kernel!r} does not take. Pass "
            f"kernel=f, with f(A, B) returning the similarities of two lists of rows."
        )
