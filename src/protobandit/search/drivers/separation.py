"""Source rows that lie too close to chosen ones (``Constraints(min_distance=…)``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Flags
from protobandit.problem.problem import Problem


class Separation:
    """Excludes the source rows that are closer to chosen rows than ``distance``.

    Cost: |S| evaluations per chosen row.
    """

    def __init__(self, oracle: Oracle, distance: float) -> None:
        problem = oracle.problem
        if problem.metric.name != "precomputed":
            problem = replace(problem, target=problem.source, weights=None, fresh=None, stream=None)
        elif problem.n_source != problem.n_target:
            raise InvalidInput(
                f"constraints: min_distance needs the distances between source rows, but the "
                f"matrix has {problem.n_target} target rows and {problem.n_source} source rows. "
                f"Pass a square matrix of the source rows, or omit min_distance."
            )
        self.distance = distance
        self._oracle = oracle.beside(problem)

    @staticmethod
    def evaluations(problem: Problem) -> int:
        """Return the largest number of evaluations of a search; 0 if nothing is excluded."""
        is_needed = problem.feasibility.min_distance is not None
        return problem.k * problem.n_source if is_needed else 0

    @classmethod
    def of(cls, oracle: Oracle) -> Separation | None:
        """Return the separation that the constraints demand, or None."""
        distance = oracle.problem.feasibility.min_distance
        return None if distance is None else cls(oracle, distance)

    def exclude_near(self, is_free: Flags, rows: Ids) -> None:
        """Set ``is_free`` to False for all source rows that are too close to ``rows``."""

        def visit(block: Floats, cut: slice) -> None:
            is_free[cut] &= np.asarray((block >= self.distance).all(axis=0))

        if len(rows):
            with self._oracle.at_work(), self._oracle.during("build"):
                self._oracle.each_chunk(rows, visit)
