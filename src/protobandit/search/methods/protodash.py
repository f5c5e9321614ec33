"""ProtoDash: prototypes with non-negative coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.methods.kernel_methods import KernelMethod, embedded
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Schedule, require_memory
from protobandit.search.objectives.mixture import Mixture


@dataclass(frozen=True, kw_only=True)
class ProtoDash(KernelMethod):
    """Rows with non-negative coefficients whose mixture is closest to the target (ProtoDash).

    f(M) = max over w >= 0 of w'mu - w'k(M, M)w / 2, where mu is the mean similarity of each row of
    M to the target. Each iteration picks the row with the largest derivative of f by its
    coefficient, and fits all coefficients again. ``Selection.coefficients`` are those of the last
    fit, in the order of ``indices``. Their sum is not 1; divide by it for shares. A row that does
    not increase f has the coefficient 0. ``Step.gain`` is the derivative by which the row was
    picked. The rows are chosen by the kernel alone; cost, mass and `assign` use the metric of the
    problem.

    Evaluations, including those of the kernel: |S||T| for the means, |S| per prototype, and at most
    512 squared for the bandwidth. Memory: the k |S| similarities to the prototypes, and a few
    blocks.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        As in `MMDCritic`.

    References
    ----------
    Gurumoorthy, Dhurandhar, Cecchi, Aggarwal (2019), Efficient data representation by selecting
    prototypes with importance weights.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[0.0], [0.0], [0.0], [9.0]])
    >>> selection = pb.select(rows, k=2, method=pb.methods.ProtoDash(gamma=1.0))
    >>> selection.indices.tolist(), selection.coefficients.round(3).tolist()
    ([0, 3], [0.75, 0.25])
    """

    name: ClassVar[str] = "protodash"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})

    @property
    def has_own_kernel(self) -> bool:
        return callable(self.kernel)

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        self.require_readable(problem)
        require_memory(
            self._kept_bytes(problem),
            control.limits,
            user="method='protodash'",
            contents=f"the similarities to {problem.k} prototypes",
            instead="Pass a smaller k, or allow more by limits=Limits(memory=…).",
        )
        mixture = Mixture.of(embedded(oracle, self.similarity(oracle), control))
        return greedy(
            Exhaustive(),
            mixture,
            k=problem.k,
            random=random,
            feasibility=problem.feasibility,
            control=control,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return self.embedding_evaluations(problem) + len(problem.source)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        self.require_readable(problem)
        n_picks = problem.k * len(problem.source)
        return Schedule(
            evaluations=self.embedding_evaluations(problem) + n_picks,
            memory=self._kept_bytes(problem) + working_bytes(problem),
        )

    def _kept_bytes(self, problem: Problem) -> int:
        itemsize = 8 if callable(self.kernel) else problem.distance_dtype.itemsize
        return problem.k * len(problem.source) * itemsize
