"""The table of named methods, and their parameters.

A method is a combination: a strategy (which arms to pull), an objective (what a pull is worth) and
how many arms an iteration takes. Its fields are its parameters; `select` takes its name or one of
these values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._guarantee import Guarantee
from protobandit._machine import available_memory
from protobandit._oracle import Oracle
from protobandit._problem import Problem
from protobandit._sampling import draw_rows
from protobandit.arms import (
    KLLUCB,
    AggressiveElimination,
    Exhaustive,
    Lazy,
    MedianElimination,
    Strategy,
    Subset,
    Uniform,
)
from protobandit.objectives import Coverage, Objective, SampledCoverage

Memoize: TypeAlias = "bool | Literal['auto']"

_GREEDY = 1 - 1 / math.e
_NU_STEP = 0.05  # the paper's
_SCALE_ROWS = 256  # rows of each side from which an unknown scale is estimated
_AUTO_EXACT = 1 << 30  # dissimilarities up to which `auto` computes them all
_AUTO_EXACT_CALLS = 1 << 21  # the same for a caller's own function


@dataclass(frozen=True, kw_only=True)
class Search:
    """What a driver needs to run a method."""

    strategy: Strategy
    objective: Objective
    r: int = 1


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method needs to say what is proven of its run; ``cost`` and ``k`` as reached."""

    objective: Objective
    is_proven: bool
    cost: float
    k: int


class Method(Protocol):
    """A named combination of strategy, objective and parameters."""

    name: ClassVar[str]

    def compose(self, oracle: Oracle, random: np.random.Generator) -> Search:
        """Return what to run on the oracle's problem."""
        ...

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven of the run, or None."""
        ...


@dataclass(frozen=True, kw_only=True)
class SpotGreedy:
    """Exact greedy: every gain, at every iteration (SPOTgreedy; PAM's BUILD).

    Evaluations: |S||T| when memoized, else the sum of (|S| - |M|)|T| over the iterations, and |T| a
    prototype under "assign". Memory: the |S| x |T| matrix when memoized, else a few blocks.

    Parameters
    ----------
    r
        How many rows an iteration takes.
    memoize
        Whether to keep every dissimilarity; "auto" does if half the free memory holds them.

    References
    ----------
    Gurumoorthy, Jawanpuria, Mishra (2021), SPOT; Kaufman, Rousseeuw (1990), PAM.
    """

    name: ClassVar[str] = "spotgreedy"
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        _require_count(self.r, "r")
        _require_memoize(self.memoize)

    def compose(self, oracle: Oracle, random: np.random.Generator) -> Search:
        return Search(strategy=Exhaustive(), objective=_exact(oracle, self.memoize), r=self.r)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return _greedy_guarantee(self.name) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class LazyGreedy:
    """The answer of `SpotGreedy`, with gains recomputed only where they may matter.

    Gains only shrink as prototypes are added, so an old gain is an upper bound and most rows are
    never looked at again.

    Parameters
    ----------
    r, memoize
        As in `SpotGreedy`.

    References
    ----------
    Minoux (1978), Accelerated greedy algorithms.
    """

    name: ClassVar[str] = "lazygreedy"
    r: int = 1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        _require_count(self.r, "r")
        _require_memoize(self.memoize)

    def compose(self, oracle: Oracle, random: np.random.Generator) -> Search:
        return Search(strategy=Lazy(), objective=_exact(oracle, self.memoize), r=self.r)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return _greedy_guarantee(self.name) if self.r == 1 else None


@dataclass(frozen=True, kw_only=True)
class StochasticGreedy:
    """Exact gains on a random subset of the source at every iteration.

    Parameters
    ----------
    epsilon
        What may be lost on average, in 0 < epsilon < 1 - 1/e; a subset has |S| / k ln(1 / epsilon)
        rows.
    memoize
        As in `SpotGreedy`.

    References
    ----------
    Mirzasoleiman, Badanidiyuru, Karbasi, Vondrák, Krause (2015), Lazier than lazy greedy.
    """

    name: ClassVar[str] = "stochasticgreedy"
    epsilon: float = 0.1
    memoize: Memoize = "auto"

    def __post_init__(self) -> None:
        _require_epsilon(self.epsilon)
        _require_memoize(self.memoize)

    def compose(self, oracle: Oracle, random: np.random.Generator) -> Search:
        strategy = Subset(inner=Exhaustive(), size=_subset_size(oracle.problem, self.epsilon))
        return Search(strategy=strategy, objective=_exact(oracle, self.memoize))

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return Guarantee(
            method=self.name,
            statement=f"E[f] >= (1 - 1/e - {self.epsilon:g}) f*",
            epsilon=self.epsilon,
        )


@dataclass(frozen=True, kw_only=True)
class ProtoBandit:
    """The paper's algorithm: stochastic greedy, each iteration decided by a bandit.

    Evaluations do not depend on |T|: an iteration that samples N target rows costs at most
    N (|R| + |M|), |R| = |S| / k ln(1 / epsilon), and never more than the exact scan of R.

    Parameters
    ----------
    epsilon
        As in `StochasticGreedy`.
    nu_step
        The tolerance of one iteration, in units of ``scale`` (the paper's figures: 0.05 or 0.09).
        0.05 unless ``nu`` is given.
    nu
        The tolerance of the whole run instead: nu_step = nu / (k (1 - 1/e - epsilon)).
    delta
        The probability that any of the searches fails.
    search
        "kl-lucb", "uniform", "aggressive-elimination" or "median-elimination".
    early_stop
        For "kl-lucb": also stop by an optimistic threshold, which carries no guarantee.
    scale
        C, an upper bound of the dissimilarity. Default: the metric's own bound, else the largest of
        a sample, to which distances are then clipped.
    r
        How many rows an iteration takes; more than 1 with "uniform" and "kl-lucb" only.

    References
    ----------
    Roy Chaudhuri, Jawanpuria, Mishra (2022), ProtoBandit.
    """

    name: ClassVar[str] = "protobandit"
    epsilon: float = 0.2
    nu_step: float | None = None
    nu: float | None = None
    delta: float = 0.05
    search: str = "kl-lucb"
    early_stop: bool = True
    scale: float | None = None
    r: int = 1

    def __post_init__(self) -> None:
        _require_epsilon(self.epsilon)
        _require_count(self.r, "r")
        if self.nu is not None and self.nu_step is not None:
            raise InvalidInput(
                f"nu={self.nu} and nu_step={self.nu_step} are both given. Pass one: nu for the "
                f"whole run, nu_step for one iteration."
            )
        for name in ("nu", "nu_step", "scale"):
            _require_positive(getattr(self, name), name)
        if not (_is_number(self.delta) and 0 < self.delta < 1):
            raise InvalidInput(f"delta={self.delta!r} is not a probability. Pass 0 < delta < 1.")
        if not isinstance(self.early_stop, bool):
            raise InvalidInput(f"early_stop={self.early_stop!r} is not allowed. Use True or False.")
        if not isinstance(self.search, str) or self.search not in SEARCHES:
            raise InvalidInput(f"search={self.search!r} is not known. Use one of {list(SEARCHES)}.")
        if self.r > 1 and self.search not in _SUBSET_SEARCHES:
            raise InvalidInput(
                f"r={self.r} with search={self.search!r}: it finds one arm at a time. Pass r=1, or "
                f"one of {list(_SUBSET_SEARCHES)}."
            )

    def steps(self, k: int) -> tuple[float, float]:
        """Return the tolerance of one iteration and of the whole run."""
        whole = k * (_GREEDY - self.epsilon)
        if self.nu is not None:
            return self.nu / whole, self.nu
        step = _NU_STEP if self.nu_step is None else self.nu_step
        return step, step * whole

    def compose(self, oracle: Oracle, random: np.random.Generator) -> Search:
        problem = oracle.problem
        scale = self.scale or problem.metric.bound or _sampled_scale(oracle, random)
        nu_step, _ = self.steps(problem.k)
        find = SEARCHES[self.search](self, nu_step, self.delta / -(-problem.k // self.r))
        return Search(
            strategy=Subset(inner=find, size=_subset_size(problem, self.epsilon)),
            objective=SampledCoverage.of(oracle, scale=scale),
            r=self.r,
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        if not outcome.is_proven or self.r > 1:
            return None
        assert isinstance(outcome.objective, SampledCoverage)
        sample = outcome.objective.sample
        nu_step, nu = self.steps(outcome.k)
        reached = 1 - outcome.cost / sample.scale
        conditions = []
        bound = sample.oracle.problem.metric.bound
        if bound is None or sample.scale < bound:
            clipped = f"{sum(sample.clipped)} pulls were clipped to it"
            conditions.append(f"every dissimilarity is at most C = {sample.scale:.6g} ({clipped})")
        return Guarantee(
            method=self.name,
            statement=(
                f"E[f] >= (1 - 1/e - {self.epsilon:g}) f* - {nu:.4g} - {self.delta:g}, "
                f"f in units of C"
            ),
            epsilon=self.epsilon,
            nu=nu,
            delta=self.delta,
            nu_step=nu_step,
            scale=sample.scale,
            vacuous=nu + self.delta >= (_GREEDY - self.epsilon) * reached,
            conditions=tuple(conditions),
        )


@dataclass(frozen=True, kw_only=True)
class Random:
    """Rows drawn at random: what any method must beat."""

    name: ClassVar[str] = "random"

    def compose(self, oracle: Oracle, random: np.random.Generator) -> Search:
        # A subset no larger than what is asked for leaves nothing to decide: no arm is pulled.
        k = oracle.problem.k
        objective = SampledCoverage.of(oracle, scale=1.0)
        return Search(strategy=Subset(inner=Exhaustive(), size=k), objective=objective, r=k)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return None


METHODS: dict[str, type[Any]] = {
    method.name: method
    for method in (SpotGreedy, LazyGreedy, StochasticGreedy, ProtoBandit, Random)
}

SEARCHES: dict[str, Callable[[ProtoBandit, float, float], Strategy]] = {
    "kl-lucb": lambda m, nu, delta: KLLUCB(nu=nu, delta=delta, early_stop=m.early_stop),
    "uniform": lambda m, nu, delta: Uniform(nu=nu, delta=delta),
    "aggressive-elimination": lambda m, nu, delta: AggressiveElimination(nu=nu, delta=delta),
    "median-elimination": lambda m, nu, delta: MedianElimination(nu=nu, delta=delta),
}
_SUBSET_SEARCHES = ("kl-lucb", "uniform")


def as_method(method: Any, problem: Problem) -> Method:
    """Return the method of this name, or the one passed; "auto" chooses by the problem."""
    if isinstance(method, str):
        if method == "auto":
            return _automatic(problem)
        if method in METHODS:
            chosen: Method = METHODS[method]()
            return chosen
    elif type(method) in METHODS.values():
        passed: Method = method
        return passed
    shown = f"{method!r:.60}"
    raise InvalidInput(
        f"method={shown} is not known. Use one of {['auto', *METHODS]}, or a value such as "
        f"methods.ProtoBandit(epsilon=0.2)."
    )


def parameters_of(method: Method) -> dict[str, Any]:
    """Return a method's parameters by name."""
    return {field.name: getattr(method, field.name) for field in fields(method)}  # type: ignore[arg-type]


def _automatic(problem: Problem) -> Method:
    n = len(problem.source) * len(problem.target)
    limit = _AUTO_EXACT_CALLS if problem.metric.is_expensive else _AUTO_EXACT
    is_small = n <= limit and n * problem.dtype.itemsize <= available_memory() // 2
    return LazyGreedy() if is_small else ProtoBandit()


def _exact(oracle: Oracle, memoize: Memoize) -> Coverage:
    room = available_memory()
    if memoize is True and oracle.matrix_bytes > room:
        raise InvalidInput(
            f"memoize=True needs {oracle.matrix_bytes / 1e9:.1f} GB for the matrix but "
            f"{room / 1e9:.1f} GB are free. Pass memoize=False, or method='protobandit'."
        )
    if memoize is True or (memoize == "auto" and oracle.matrix_bytes <= room // 2):
        oracle.keep()
    return Coverage.of(oracle)


def _greedy_guarantee(name: str) -> Guarantee:
    return Guarantee(method=name, statement="f >= (1 - 1/e) f*")


def _subset_size(problem: Problem, epsilon: float) -> int:
    return math.ceil(len(problem.source) / problem.k * math.log(1 / epsilon))


def _sampled_scale(oracle: Oracle, random: np.random.Generator) -> float:
    """Return the largest dissimilarity of a sample of pairs; counted like any other."""
    problem = oracle.problem
    sources = draw_rows(len(problem.source), None, _SCALE_ROWS, random)
    targets = draw_rows(len(problem.target), None, _SCALE_ROWS, random)
    largest = float(oracle.distances(sources, oracle.targets(targets)).max())
    if not largest < math.inf:
        raise InvalidInput(
            f"metric={problem.metric.name!r} overflows {oracle.dtype} on these rows. Rescale them, "
            f"or pass float64."
        )
    return largest if largest > 0 else 1.0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _require_positive(value: Any, name: str) -> None:
    if value is not None and not (_is_number(value) and 0 < value < math.inf):
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a finite number > 0.")


def _require_epsilon(epsilon: Any) -> None:
    if not (_is_number(epsilon) and 0 < epsilon < _GREEDY):
        raise InvalidInput(
            f"epsilon={epsilon!r} is not allowed. Pass 0 < epsilon < 1 - 1/e = {_GREEDY:.3f}."
        )


def _require_count(value: Any, name: str) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a whole number >= 1.")


def _require_memoize(memoize: Any) -> None:
    if not (isinstance(memoize, bool) or (isinstance(memoize, str) and memoize == "auto")):
        raise InvalidInput(f"memoize={memoize!r} is not allowed. Use True, False or 'auto'.")
