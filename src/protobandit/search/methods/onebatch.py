"""OneBatchPAM: k-medoids of all source rows on one batch of target rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import require_choice, require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SearchControl
from protobandit.search.drivers.full_swaps import eager_passes
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.subsample import greedy_medoids, sample_target
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Schedule, require_memory
from protobandit.search.methods.swap_passes import improve
from protobandit.search.objectives.medoids import nearest_rows

_ROWS = 100  # of the batch, in units of ln(|S| k)
_WEIGHTINGS = ("auto", "uniform", "nearest")


@dataclass(frozen=True, kw_only=True)
class OneBatch(Method):
    """Greedy selection and eager swaps on one batch of target rows, drawn by weight (OneBatchPAM).

    If the source is the target, a batch row that becomes a prototype has distance 0 to itself,
    which is not typical of rows outside the batch. So its distance to itself is replaced by that to
    the nearest other source row (MNIST, 20,000 rows, k = 100: 1 % less cost).

    Evaluations: |S| times the batch. Memory: all of these.

    Parameters
    ----------
    batch_size
        Number of target rows; None for 100 ln(|S| k), but at least k.
    weighting
        "uniform": all batch rows have the same weight. "nearest": the weight of a batch row is that
        of the target rows whose nearest batch row it is; this is known only if the source is the
        target. "auto": "nearest" if the source is the target, otherwise "uniform".
    max_iter
        Largest number of passes of swaps over all source rows.

    References
    ----------
    de Mathelin, Cecchi, Deheeger, Mougeot, Vayatis (2025), OneBatchPAM: A fast and frugal k-medoids
    algorithm. Theirs starts from random rows, and sets a distance to itself to 0 or to infinity.
    """

    name: ClassVar[str] = "onebatch"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    may_overlook_far_rows: ClassVar[bool] = True
    batch_size: int | None = None
    weighting: str = "auto"
    max_iter: int = 100

    def __post_init__(self) -> None:
        require_integer(self.max_iter, "max_iter", at_least=0)
        require_integer(self.batch_size, "batch_size", allows_none=True)
        require_choice(self.weighting, "weighting", _WEIGHTINGS)

    def n_rows(self, problem: Problem) -> int:
        """Return the number of target rows that are drawn for the batch."""
        n = math.ceil(_ROWS * math.log(len(problem.source) * problem.k))
        n = max(n, problem.k) if self.batch_size is None else self.batch_size
        return min(n, len(problem.target))

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        n_rows = self.n_rows(oracle.problem)
        self._require_known(oracle.problem)
        require_memory(
            len(oracle.problem.source) * n_rows * oracle.dtype.itemsize,
            control.limits,
            user="method='onebatch'",
            contents=f"the distances of the source to {n_rows:,} target rows",
            instead="Pass a smaller batch_size, or use method='lazybandit'.",
        )
        rows, weights = sample_target(oracle, n_rows, random)
        table = FullTable.of(oracle, np.arange(len(oracle.problem.source)), oracle.targets(rows))
        weights = self._weights(table, weights)
        _replace_self_distances(table, rows)
        with oracle.during("swap"):
            medoids = greedy_medoids(table, weights, random)
        yield from improve(medoids, eager_passes, control, random, max_iter=self.max_iter)

    def _weights(self, table: FullTable, weights: Doubles) -> Doubles:
        """Return the weights of the batch rows; ``weights`` are those of the sample."""
        problem, n_rows = table.oracle.problem, table.matrix.shape[1]
        is_same = problem.target is problem.source
        if self.weighting == "uniform" or not is_same or n_rows == len(problem.target):
            return weights
        return np.bincount(nearest_rows(table), problem.weights, n_rows).astype(np.float64)

    def _require_known(self, problem: Problem) -> None:
        if self.weighting == "nearest" and problem.target is not problem.source:
            raise InvalidInput(
                "weighting='nearest' needs the distances between target rows, which are not "
                "defined if the source is not the target. Use weighting='auto' or 'uniform'."
            )

    def least_evaluations(self, problem: Problem) -> int:
        return len(problem.source) * self.n_rows(problem)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        n_pairs = len(problem.source) * self.n_rows(problem)
        n_bytes = n_pairs * problem.distance_dtype.itemsize
        memory = n_bytes + working_bytes(problem)
        return Schedule(evaluations=n_pairs, most_evaluations=n_pairs, memory=memory)


def _replace_self_distances(table: FullTable, rows: Ids) -> None:
    """Replace the distance of each batch row to itself by that to the nearest other source row."""
    problem, matrix = table.oracle.problem, table.matrix
    if problem.target is not problem.source or len(rows) == len(problem.target):
        return
    columns = np.arange(len(rows))
    matrix[rows, columns] = np.inf
    matrix[rows, columns] = matrix.min(axis=0)
