"""The kernel mean embedding of the target, evaluated at the source rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.similarities import SQUARES, Similarity
from protobandit.oracle.oracle import Oracle
from protobandit.rows.rows import strided
from protobandit.search.objectives.coverage import weighted_means

SAMPLE = 512  # rows of each side from which the bandwidth is estimated


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding:
    """Mean similarities of source rows to the target, without the matrix of similarities.

    Attributes
    ----------
    across
        Computes and counts k(target row, source row).
    similarity
        The kernel.
    means
        The weighted mean similarity of each source row to the target.
    """

    across: Oracle
    similarity: Similarity
    means: Doubles

    @classmethod
    def of(cls, oracle: Oracle, similarity: Similarity, means: Doubles | None = None) -> Embedding:
        """Compute the means, unless given; similarities are added to the counts of ``oracle``.

        Cost: |S||T| evaluations; memory: a few blocks.
        """
        across = oracle.beside(replace(oracle.problem, metric=similarity.pairs))
        if means is None:
            with across.at_work():
                sources = np.arange(oracle.problem.n_source)
                means = weighted_means(across, sources, oracle.problem.target_weights)
            _require_finite(means, across)
        return cls(across=across, similarity=similarity, means=means)

    @cached_property
    def norms(self) -> Doubles:
        """Return the similarity of each source row to itself. Cost: |S| evaluations."""
        problem = self.across.problem
        alone = self.across.beside(
            replace(problem, target=problem.source, metric=self.similarity.alone)
        )
        return _row_of(alone, 0).astype(np.float64)

    def column(self, source: int) -> Floats:
        """Return the similarity of every source row to one of them. Cost: |S| evaluations."""
        return _row_of(self._within, source)

    def sums(self, sources: Ids) -> Doubles:
        """Return the summed similarity of each target row to these source rows."""
        total = np.empty(len(self.across.problem.target))

        def visit(block: Floats, cut: slice) -> None:
            total[cut] = block.sum(axis=0, dtype=np.float64)

        _each_chunk(self.across, sources, visit)
        _require_finite(total, self.across)
        return total

    @cached_property
    def _within(self) -> Oracle:
        problem = self.across.problem
        return self.across.beside(replace(problem, target=problem.source))


def median_gamma(oracle: Oracle) -> float:
    """Return 1 / (2 m), m the weighted median of squared distances between target and source.

    Only distances above 0 count, so identical rows do not. If there are none, any number is valid,
    and 1 is returned. From sides with more than ``SAMPLE`` rows (of the target, rows with a weight)
    evenly spaced rows are used.

    Cost: at most ``SAMPLE`` squared evaluations.
    """
    problem = oracle.problem
    squares = oracle.beside(replace(problem, metric=SQUARES))
    weights = problem.target_weights
    sources, targets = np.arange(len(problem.source)), np.flatnonzero(weights)
    sources, targets = (some[strided(len(some), SAMPLE)] for some in (sources, targets))
    with squares.at_work():
        distances = squares.distances(sources, squares.targets(targets))
    is_apart = distances > 0
    found = distances[is_apart]
    if len(found) == 0:
        return 1.0
    order = np.argsort(found, kind="stable")
    below = np.cumsum(np.broadcast_to(weights[targets], distances.shape)[is_apart][order])
    median = float(found[order[np.searchsorted(below, below[-1] / 2)]])
    if not np.finfo(squares.dtype).tiny <= median < np.inf:
        verb = "overflows" if median > 1 else "underflows"
        raise InvalidInput(_range_message("rbf", verb, squares))
    return 1 / (2 * median)


def median_evaluations(n_source: int, n_target: int) -> int:
    """Return the evaluations of `median_gamma`, by source rows and target rows with a weight."""
    return min(n_source, SAMPLE) * min(n_target, SAMPLE)


def _row_of(oracle: Oracle, source: int) -> Floats:
    out = np.empty(len(oracle.problem.target), dtype=oracle.dtype)

    def visit(block: Floats, cut: slice) -> None:
        out[cut] = block[0]

    _each_chunk(oracle, np.array([source]), visit)
    _require_finite(out, oracle)
    return out


def _each_chunk(oracle: Oracle, sources: Ids, visit: Callable[[Floats, slice], None]) -> None:
    with oracle.at_work():
        oracle.each_chunk(sources, visit)


def _require_finite(values: Floats, oracle: Oracle) -> None:
    if not np.isfinite(values).all():
        raise InvalidInput(_range_message(oracle.problem.metric.name, "overflows", oracle))


def _range_message(name: str, verb: str, oracle: Oracle) -> str:
    return (
        f"kernel={name!r} {verb} {oracle.dtype} on these rows of source and target. Rescale them, "
        f"or pass float64."
    )
