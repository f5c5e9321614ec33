"""What a method is: a named combination of strategy, objective and driver, with its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.progress.watch import Watch
from protobandit.search.drivers.greedy import Pick
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.objective import Objective

Memoize: TypeAlias = "bool | Literal['auto']"

GREEDY = 1 - 1 / math.e  # what greedy keeps of the best f


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method needs to say what is proven of its run; ``cost`` and ``k`` as reached.

    ``rules`` matter only to methods that support some.
    """

    objective: Objective | None
    is_proven: bool
    cost: float
    k: int
    feasibility: Feasibility


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a run is expected to take: evaluations, and bytes of kept dissimilarities."""

    evaluations: int
    memory: int


class Method(Protocol):
    """A named combination; its fields are its parameters.

    A method that heeds constraints or goals says so in ``supports: ClassVar[frozenset[str]]``, a
    subset of {"fixed", "groups", "costs", "until"}; whatever is not in it is refused before the
    search begins. "until" takes picks whose objective is the exact coverage of the target.
    """

    name: ClassVar[str]

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        """Yield prototypes, best first."""
        ...

    def least_evaluations(self, oracle: Oracle) -> int:
        """Return what the first prototype costs."""
        ...

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        """Return what a run is expected to take, without computing anything."""
        ...

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven of the run, or None."""
        ...


def parameters_of(method: Method) -> dict[str, Any]:
    """Return a method's parameters by name."""
    return {field.name: _plain(getattr(method, field.name)) for field in fields(method)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """Return a method that is another's parameter as what JSON can hold."""
    if not is_dataclass(value):
        return value
    method: Any = value
    return {"method": method.name, **parameters_of(method)}


def exact_coverage(oracle: Oracle, memoize: Memoize, watch: Watch) -> ExactCoverage:
    """Return the coverage of the whole target, every dissimilarity kept if asked and possible."""
    room = watch.limits.room()
    if memoize is True and oracle.matrix_bytes > room:
        raise InvalidInput(
            f"memoize=True needs {oracle.matrix_bytes / 1e9:.1f} GB for the matrix but "
            f"{room / 1e9:.1f} GB may be used. Pass memoize=False, or method='lazybandit'."
        )
    if memoize is True or (
        memoize == "auto" and watch.decide("memoize", oracle.matrix_bytes <= room)
    ):
        oracle.keep()
    return ExactCoverage.of(oracle)


def exact_forecast(problem: Problem, n_gains: int, memoize: Memoize, limits: Limits) -> Forecast:
    """Return what exact gains take: each anew, or each dissimilarity once if they are kept."""
    n_pairs = len(problem.source) * len(problem.target)
    n_bytes = n_pairs * problem.dtype.itemsize
    if memoize is True or (memoize == "auto" and n_bytes <= limits.room()):
        return Forecast(evaluations=min(n_pairs, n_gains), memory=n_bytes)
    return Forecast(evaluations=n_gains + problem.k * len(problem.target), memory=0)


def is_number(value: Any) -> bool:
    """Tell whether ``value`` is a real number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def require_positive(value: Any, name: str) -> None:
    """Refuse anything but None and finite positive numbers."""
    if value is not None and not (is_number(value) and 0 < value < math.inf):
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a finite number > 0.")


def require_epsilon(epsilon: Any) -> None:
    """Refuse what cannot be subtracted from greedy's share."""
    if not (is_number(epsilon) and 0 < epsilon < GREEDY):
        raise InvalidInput(
            f"epsilon={epsilon!r} is not allowed. Pass 0 < epsilon < 1 - 1/e = {GREEDY:.3f}."
        )


def require_count(value: Any, name: str) -> None:
    """Refuse anything but whole numbers from 1 on."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a whole number >= 1.")


def require_memoize(memoize: Any) -> None:
    """Refuse anything but True, False and "auto"."""
    if not (isinstance(memoize, bool) or (isinstance(memoize, str) and memoize == "auto")):
        raise InvalidInput(f"memoize={memoize!r} is not allowed. Use True, False or 'auto'.")
