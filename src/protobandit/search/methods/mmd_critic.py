"""MMD-critic: prototypes by the maximum mean discrepancy, and criticisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.methods.kernel_methods import KernelMethod, embedded
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Schedule
from protobandit.search.objectives.discrepancy import Discrepancy

REGULARIZERS = ("logdet", None)


@dataclass(frozen=True, kw_only=True)
class MMDCritic(KernelMethod):
    """Rows whose mean embedding is closest to that of the target, and criticisms (MMD-critic).

    Greedy selection on J(M) = 2 mean k(target, M) - mean k(M, M), which is the negative squared
    maximum mean discrepancy plus a constant. J may decrease when rows are added; k rows are
    returned anyway, each the best next one. ``Step.gain`` is the increase of J. The rows are chosen
    by the kernel alone; cost, mass and `assign` use the metric of the problem.

    Evaluations, including those of the kernel: |S||T| for the means, |S| for the diagonal, |S| per
    prototype, and at most 512 squared for the bandwidth. Memory: a few blocks, never a matrix.

    Parameters
    ----------
    kernel
        "rbf": ``exp(-gamma |x - y|^2)``; "linear": x.y; "polynomial": (gamma x.y + coef0)^degree;
        or a function f(A, B) that returns the similarities of two sets of rows, of shape
        (len(A), len(B)), called on one thread. It must be symmetric and positive semidefinite.
    gamma
        Parameter of "rbf" and "polynomial". None for "rbf": 1 / (2 m), where m is the median
        squared distance between target and source rows that differ; of more than 512 rows, 512
        evenly spaced ones are used. None for "polynomial": 1 / the number of columns.
    degree, coef0
        Parameters of "polynomial".
    n_criticisms
        Number of target rows to return as ``Selection.criticisms``: those that the prototypes
        represent worst, with the largest absolute witness mean k(row, target) - mean k(row, M).
        This needs |T||T| + k|T| evaluations unless the target is the source, and |T| per criticism.
    regularizer
        "logdet" adds to the value of a criticism the increase of the log determinant of the
        similarities of the criticisms, which makes them diverse; None does not.

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
    n_criticisms: int = 0
    regularizer: str | None = "logdet"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.n_criticisms, "n_criticisms", at_least=0)
        is_text = isinstance(self.regularizer, str)
        if not (self.regularizer is None or (is_text and self.regularizer in REGULARIZERS)):
            raise InvalidInput(
                f"regularizer={self.regularizer!r:.60} is not known. Use 'logdet' or None."
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
        kernel = self.similarity(oracle)
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
        """Return a remark if fewer rows can be criticisms than were requested."""
        is_own, weights = problem.target is problem.source, problem.weights
        n = len(problem.target) if weights is None else int(np.count_nonzero(weights))
        most = max(n - problem.k, 0) if is_own else n
        if self.n_criticisms <= most:
            return ""
        others = " and are not prototypes" if is_own else ""
        return (
            f"There are fewer than n_criticisms={self.n_criticisms} criticisms: only {most} target "
            f"rows have a weight{others}."
        )

    def least_evaluations(self, problem: Problem) -> int:
        return self._set_up(problem) + 2 * len(problem.source)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        self.require_readable(problem)
        n_source = len(problem.source)
        picks = n_source + problem.k * n_source
        return Schedule(
            evaluations=self._set_up(problem) + picks + self._for_criticisms(problem),
            memory=working_bytes(problem),
        )

    def _set_up(self, problem: Problem) -> int:
        """Return the evaluations before the diagonal and the first prototype."""
        is_apart = self.n_criticisms > 0 and problem.target is not problem.source
        return self.embedding_evaluations(problem) + is_apart * len(problem.target) ** 2

    def _for_criticisms(self, problem: Problem) -> int:
        """Return the evaluations of criticisms after those of the means."""
        n_target, is_apart = len(problem.target), problem.target is not problem.source
        if self.n_criticisms == 0:
            return 0
        n_columns = problem.k * is_apart
        if self.regularizer is not None:
            n_columns += is_apart + min(self.n_criticisms, n_target) - 1
        return n_columns * n_target
