"""The part that methods on a kernel have in common: its parameters and its embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.checks import require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.similarities import SQUARES, Similarity, require_kernel, similarity
from protobandit.oracle.oracle import Oracle
from protobandit.problem.problem import Problem
from protobandit.problem.ranges import in_range
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.methods.method import Method
from protobandit.search.objectives.embedding import Embedding, median_evaluations, median_gamma


@dataclass(frozen=True, kw_only=True)
class KernelMethod(Method):
    """A method on a kernel; see `MMDCritic` for the parameters."""

    kernel: Any = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        require_kernel(self.kernel, degree=self.degree, coef0=self.coef0)
        require_number(self.gamma, "gamma", above=0, allows_none=True)

    def similarity(self, oracle: Oracle) -> Similarity:
        """Return the kernel for the oracle's problem; a missing gamma is estimated."""
        self.require_readable(oracle.problem)
        gamma = self.gamma
        if gamma is None:
            n_columns = oracle.problem.source.n_columns or 1
            gamma = median_gamma(oracle) if self.kernel == "rbf" else 1 / n_columns
        return similarity(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)

    def embedding_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations of the bandwidth and the means of an embedding."""
        n_source, n_target = len(problem.source), len(problem.target)
        n_weighted = n_target if problem.weights is None else int(np.count_nonzero(problem.weights))
        is_estimated = self.kernel == "rbf" and self.gamma is None
        return n_source * n_target + is_estimated * median_evaluations(n_source, n_weighted)

    def require_readable(self, problem: Problem) -> None:
        """Raise unless the kernel can compare the rows of the problem."""
        if problem.metric.name == "precomputed":
            raise InvalidInput(
                f"method={self.name!r} compares rows by a kernel, but metric='precomputed' has no "
                f"rows. Pass the rows and a metric of rows; or row numbers, with a kernel and a "
                f"metric that look them up."
            )
        if not callable(self.kernel) and problem.source.kind == "objects":
            raise InvalidInput(
                f"source has rows that are not numbers, which kernel={self.kernel!r} does not "
                f"support. Pass kernel=f, where f(A, B) returns the similarities of two lists of "
                f"rows."
            )
        if not callable(self.kernel):
            _require_squares(problem, self.kernel)


def _require_squares(problem: Problem, kernel: str) -> None:
    """Raise if squares of the numbers overflow or underflow: the metric may need no squares."""
    squares = replace(SQUARES, name=kernel)
    sides = in_range(problem.source, problem.target, squares, label="kernel")
    if sides[0].dtype != problem.source.dtype:
        raise InvalidInput(
            f"kernel={kernel!r} overflows or underflows {problem.source.dtype} on these rows of "
            f"source and target. Rescale them, or pass float64."
        )


def embedded(
    oracle: Oracle, kernel: Similarity, control: SearchControl, name: str = "means"
) -> Embedding:
    """Return the embedding of source and target; ``name`` is that of its saved state."""
    saved = control.states.restore(name)
    if saved is not None:
        return Embedding.of(oracle, kernel, saved.arrays["means"])
    embedding = Embedding.of(oracle, kernel)
    control.states.save(name, SavedState(arrays={"means": embedding.means}))
    return embedding
