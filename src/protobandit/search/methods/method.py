"""What a method is: a named combination of strategy, objective and driver, with its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.objective import Objective

Memoize: TypeAlias = "bool | Literal['auto']"

GREEDY = 1 - 1 / math.e  # the share of the best f that greedy reaches


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method must know of its run to state what is proven; ``cost`` and ``k`` as reached.

    ``feasibility`` matters only to methods that support constraints.
    """

    objective: Objective | None
    is_proven: bool
    cost: float
    k: int
    feasibility: Feasibility


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What a search plans to do.

    It is made once, from the problem and the limits. `plan` shows it, the search follows it, the
    progress display measures against it, and a checkpoint keeps it, so that a resumed run follows
    the same schedule even if another amount of memory is free by then.

    Attributes
    ----------
    evaluations, memory
        The expected number of evaluations, and bytes of kept dissimilarities.
    keeps_matrix
        Whether every dissimilarity that is computed is kept.
    rungs
        The rungs of a race.
    n_validation
        The number of target rows on which samples are compared.
    n_columns
        The number of source rows whose distances to the whole target are kept.
    n_prefix_bytes
        The bytes for distances to the first target rows of an order.
    """

    evaluations: int
    memory: int
    keeps_matrix: bool = False
    rungs: tuple[Rung, ...] = ()
    n_validation: int = 0
    n_columns: int = 0
    n_prefix_bytes: int = 0


class Method:
    """A named combination of strategy, objective and driver; its fields are its parameters.

    Attributes
    ----------
    name
        The name in `METHODS`.
    supports
        The constraints and goals that the method supports: a subset of {"fixed", "groups",
        "costs", "until"}. A call that needs another one is refused before the search begins.
        "until" requires picks whose objective is the exact coverage of the target.
    """

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]] = frozenset()

    @property
    def is_exact_greedy(self) -> bool:
        """Return whether the method picks one row of the largest exact gain at every iteration."""
        return False

    @property
    def has_own_kernel(self) -> bool:
        """Return whether the method calls a kernel that is the user's own function."""
        return False

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        """Return what a run plans to do, without computing a dissimilarity."""
        raise NotImplementedError

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        """Yield prototypes, best first."""
        raise NotImplementedError

    def least_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations before the first prototype is known."""
        raise NotImplementedError

    def stream_rows(
        self, *, n_source: int, k: int, is_expensive: bool, limits: Limits
    ) -> int | None:
        """Return how many rows of an endless target the method reads; None if it does not know."""
        return None

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven of the run, or None."""
        return None


def parameters_of(method: Method) -> Mapping[str, Any]:
    """Return the parameters of a method by name, as values that JSON can hold."""
    return {field.name: _plain(getattr(method, field.name)) for field in fields(method)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """Return a method that is a parameter of another as a mapping."""
    if not is_dataclass(value):
        return value
    method: Any = value
    return {"method": method.name, **parameters_of(method)}


def exact_coverage(
    oracle: Oracle, memoize: Memoize, limits: Limits, schedule: Schedule
) -> ExactCoverage:
    """Return the coverage of the whole target; every dissimilarity is kept if scheduled."""
    if memoize is True and oracle.matrix_bytes > limits.room():
        raise InvalidInput(
            f"memoize=True needs {oracle.matrix_bytes / 1e9:.1f} GB for the matrix but "
            f"{limits.room() / 1e9:.1f} GB are available. Pass memoize=False, or "
            f"method='lazybandit'."
        )
    if schedule.keeps_matrix:
        oracle.keep()
    return ExactCoverage.of(oracle)


def exact_schedule(problem: Problem, n_gains: int, memoize: Memoize, limits: Limits) -> Schedule:
    """Return the schedule for exact gains, whose terms are ``n_gains`` in all.

    Without a kept matrix every term is computed; with it every dissimilarity is computed once.
    """
    n_pairs = len(problem.source) * len(problem.target)
    n_bytes = n_pairs * problem.distance_dtype.itemsize
    if memoize is True or (memoize == "auto" and n_bytes <= limits.room()):
        return Schedule(evaluations=min(n_pairs, n_gains), memory=n_bytes, keeps_matrix=True)
    return Schedule(evaluations=n_gains + problem.k * len(problem.target), memory=0)


def require_epsilon(epsilon: Any) -> None:
    """Raise unless ``epsilon`` can be subtracted from greedy's share."""
    if not (is_number(epsilon) and 0 < epsilon < GREEDY):
        raise InvalidInput(
            f"epsilon={epsilon!r} is not allowed. Pass 0 < epsilon < 1 - 1/e = {GREEDY:.3f}."
        )


def require_probability(value: Any, name: str) -> None:
    """Raise unless ``value`` is a probability other than 0 and 1."""
    if not (is_number(value) and 0 < value < 1):
        raise InvalidInput(f"{name}={value!r} is not a probability. Pass 0 < {name} < 1.")


def require_memoize(memoize: Any) -> None:
    """Raise unless ``memoize`` is True, False or "auto"."""
    if not (isinstance(memoize, bool) or (isinstance(memoize, str) and memoize == "auto")):
        raise InvalidInput(f"memoize={memoize!r} is not allowed. Use True, False or 'auto'.")
