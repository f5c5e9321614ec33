"""Prototypes by the maximum mean discrepancy, and criticisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer, require_number
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
from protobandit.search.objectives.discrepancy import Discrepancy

REGULARIZERS = ("logdet", None)


@dataclass(frozen=True, kw_only=True)
class MMDCritic(Method):
    """Rows whose mean under a kernel is nearest to the target's, and what they miss (MMD-critic).

    Greedy on J(M) = 2 mean k(target, M) - mean k(M, M), which is the squared maximum mean
    discrepancy but for its sign and a constant. J may fall when rows are added: k are returned all
    the same, each the best next one. ``Step.gain`` is the rise of J; cost, mass and `assign` are by
    the problem's metric, which takes no part in the choice.

    Evaluations, of the kernel too: |S||T| for the means, |S| for the diagonal, |S| a prototype, and
    for the bandwidth at most 512 squared. Memory: a few blocks, never a matrix.

    Parameters
    ----------
    kernel
        "rbf": exp(-gamma |x - y|^2); "linear": x.y; "polynomial": (gamma x.y + coef0)^degree; or a
        function f(A, B) that returns the similarities of two sets of rows, of shape
        (len(A), len(B)), called on one thread. It must be symmetric and positive semidefinite.
    gamma
        Of "rbf" and "polynomial". None: for "rbf" 1 / (2 m), m the median squared distance between
        target and source rows that differ, 512 evenly spaced rows standing for a longer side; for
        "polynomial" 1 / the number of columns.
    degree, coef0
        Of "polynomial".
    n_criticisms
        How many rows of the target to return as ``Selection.criticisms``, where the prototypes
        represent it worst: the largest absolute witness mean k(row, target) - mean k(row, M). Costs
        |T||T| + k|T| evaluations unless the target is the source, and |T| a criticism.
    regularizer
        "logdet" adds the logarithm of the determinant of the criticisms' similarities to what they
        are worth, given those already chosen, which keeps them apart; None does not.

    References
    ----------
    Kim, Khanna, Koyejo (2016), Examples are not enough, learn to criticize!

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0]])
    >>> method = pb.methods.MMDCritic(gamma=1.0, n_criticisms=1)
    >>> selection = pb.select(rows, k=2, method=method)
    >>> sorted(selection.indices.tolist()), selection.criticisms.tolist()
    ([1, 4], [6])
    """

    name: ClassVar[str] = "mmd-critic"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    kernel: Any = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    n_criticisms: int = 0
    regularizer: str | None = "logdet"

    def __post_init__(self) -> None:
        require_kernel(self.kernel, degree=self.degree, coef0=self.coef0)
        require_number(self.gamma, "gamma", above=0, allows_none=True)
        require_integer(self.n_criticisms, "n_criticisms", at_least=0)
        if not (self.regularizer is None or self.regularizer in REGULARIZERS):
            raise InvalidInput(
                f"regularizer={self.regularizer!r} is not known. Use 'logdet' or None."
            )

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
        kernel = similarity_for(
            oracle, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        embedding = own = embedded(oracle, kernel, control)
        if self.n_criticisms and problem.target is not problem.source:
            beside = oracle.beside(replace(problem, source=problem.target))
            own = embedded(beside, kernel, control, "own means")
        discrepancy = Discrepancy.of(
            embedding,
            own if self.n_criticisms else None,
            n_criticisms=self.n_criticisms,
            is_diverse=self.regularizer is not None,
        )
        picks = greedy(
            Exhaustive(),
            discrepancy,
            k=problem.k,
            random=random,
            feasibility=problem.feasibility,
            control=control,
        )
        return (replace(pick, remark=self._remark(problem)) for pick in picks)

    def _remark(self, problem: Problem) -> str:
        """Return what to say where fewer rows can be criticisms than were asked for."""
        is_own, weights = problem.target is problem.source, problem.weights
        n = len(problem.target) if weights is None else int(np.count_nonzero(weights))
        most = max(n - problem.k, 0) if is_own else n
        if self.n_criticisms <= most:
            return ""
        beside = " beside the prototypes" if is_own else ""
        return (
            f"There are fewer than n_criticisms={self.n_criticisms} criticisms: only {most} target "
            f"rows have a weight{beside}."
        )

    def least_evaluations(self, problem: Problem) -> int:
        return self._set_up(problem) + 2 * len(problem.source)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        require_readable(problem, self.kernel)
        n_source = len(problem.source)
        picks = n_source + problem.k * n_source
        return Schedule(
            evaluations=self._set_up(problem) + picks + self._criticising(problem), memory=0
        )

    def _set_up(self, problem: Problem) -> int:
        """Return what is computed before the diagonal and the first prototype."""
        is_apart = self.n_criticisms > 0 and problem.target is not problem.source
        means = embedding_evaluations(problem, self.kernel, self.gamma)
        return means + is_apart * len(problem.target) ** 2

    def _criticising(self, problem: Problem) -> int:
        """Return what criticisms cost, given the means."""
        n_target, is_apart = len(problem.target), problem.target is not problem.source
        if self.n_criticisms == 0:
            return 0
        n_columns = problem.k * is_apart
        if self.regularizer is not None:
            n_columns += is_apart + min(self.n_criticisms, n_target) - 1
        return n_columns * n_target
