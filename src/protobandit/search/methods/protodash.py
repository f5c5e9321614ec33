"""Prototypes with non-negative coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.checks import require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.similarities import require_kernel
from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import Pick, greedy
from protobandit.search.methods.kernel_methods import (
    embedded,
    embedding_evaluations,
    require_readable,
    similarity_for,
)
from protobandit.search.methods.method import Method, Schedule
from protobandit.search.objectives.mixture import Mixture


@dataclass(frozen=True, kw_only=True)
class ProtoDash(Method):
    """Rows and non-negative coefficients whose mixture under a kernel is nearest to the target.

    f(M) = max over w >= 0 of w'mu - w'k(M, M)w / 2, mu the mean similarity of each row of M to the
    target. Each iteration takes the row in whose coefficient f rises fastest, and then fits all
    coefficients anew. ``Selection.coefficients`` are those of the last fit, in the order of
    ``indices``; they are not scaled to any sum: divide by it for shares. A row that can add nothing
    has the coefficient 0. ``Step.gain`` is the slope by which the row was chosen; cost, mass and
    `assign` are by the problem's metric, which takes no part in the choice.

    Evaluations, of the kernel too: |S||T| for the means, |S| a prototype, and for the bandwidth at
    most 512 squared. Memory: the k |S| similarities to the prototypes, and a few blocks.

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
    kernel: Any = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        require_kernel(self.kernel, degree=self.degree, coef0=self.coef0)
        require_number(self.gamma, "gamma", above=0, allows_none=True)

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
        require_readable(problem, self.kernel)
        room, needed = control.limits.room(), _kept_bytes(problem, callable(self.kernel))
        if needed > room:
            raise InvalidInput(
                f"method='protodash' keeps {needed / 1e9:.1f} GB of similarities to {problem.k} "
                f"prototypes but {room / 1e9:.1f} GB may be used. Pass a smaller k, or allow more "
                f"by limits=Limits(memory=…)."
            )
        kernel = similarity_for(
            oracle, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        mixture = Mixture.of(embedded(oracle, kernel, control))
        return greedy(
            Exhaustive(),
            mixture,
            k=problem.k,
            random=random,
            feasibility=problem.feasibility,
            control=control,
        )

    def least_evaluations(self, problem: Problem) -> int:
        return embedding_evaluations(problem, self.kernel, self.gamma) + len(problem.source)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        require_readable(problem, self.kernel)
        means = embedding_evaluations(problem, self.kernel, self.gamma)
        return Schedule(
            evaluations=means + problem.k * len(problem.source),
            memory=_kept_bytes(problem, callable(self.kernel)),
        )


def _kept_bytes(problem: Problem, is_own: bool) -> int:
    return problem.k * len(problem.source) * (8 if is_own else problem.distance_dtype.itemsize)
