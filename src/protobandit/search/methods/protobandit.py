"""ProtoBandit, the algorithm of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import (
    require_choice,
    require_integer,
    require_number,
    significant,
)
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import draw_rows
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.contract import Strategy
from protobandit.search.arms.kl_lucb import KLLUCB
from protobandit.search.arms.median_elimination import MedianElimination
from protobandit.search.arms.sequential_halving import SequentialHalving
from protobandit.search.arms.subset import Subset
from protobandit.search.arms.uniform import Uniform
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.separation import Separation
from protobandit.search.methods.greedy_bounds import (
    bandit_share,
    conditions_of,
    require_epsilon,
    subset_size,
)
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Outcome, Schedule
from protobandit.search.objectives.sampled_coverage import SampledCoverage

_NU_STEP = 0.05  # the paper's
_SMALLEST_NU = 1e-90  # the inverse square of nu_step, a number of rows, must not overflow
_SCALE_ROWS = 256  # source rows and target rows from which an unknown scale is estimated


@dataclass(frozen=True, kw_only=True)
class ProtoBandit(Method):
    """Stochastic greedy selection with a bandit search at every iteration (the paper's algorithm).

    The result carries the guarantee of the paper, E[f] >= (1 - 1/e - epsilon) f* - nu - delta, with
    f = 1 - cost / C. `bandit_share` has the proof and the share for ``r`` > 1. It is stated for
    min(d, C) in place of d, because distances above C count as C. With quotas nothing is proven:
    the proof of greedy compares each pick with one row of the best set, which a random subset need
    not contain. At the default ``nu_step`` the guarantee is vacuous for more than about ten
    prototypes; pass ``nu`` for one that is not.

    Evaluations do not depend on |T|: an iteration that samples N target rows needs at most
    N (|R| + |M|), where |R| = |S| / k ln(1 / epsilon), and never more than the exact gains of R.
    Memory: a few numbers per source row and per sampled target row. From a `Stream`, each iteration
    draws new rows as it needs them.

    Parameters
    ----------
    epsilon
        As in `StochasticGreedy`.
    nu_step
        Tolerance of one iteration, in units of ``scale`` (0.05 or 0.09 in the figures of the
        paper). The default is 0.05 unless ``nu`` is given.
    nu
        Tolerance of the whole run: nu_step = nu / (k (1 - 1/e - epsilon)); for ``r`` > 1,
        nu / (k (1 - exp(-(1 - epsilon) / r))).
    delta
        Probability that any of the searches fails.
    search
        "kl-lucb", "uniform", "aggressive-elimination", "median-elimination" or
        "sequential-halving".
    early_stop
        For "kl-lucb": also stop at an optimistic threshold, which has no guarantee.
    first_batch
        For "kl-lucb": the number of target rows that every arm of an iteration reads at first. By
        default it follows from the other parameters (see `KLLUCB`).
    scale
        C, an upper bound of the dissimilarity. The default is the bound of the metric. If there is
        none, it is the largest of a sample, and larger distances are clipped to it.
    r
        Number of rows per iteration; more than 1 with "uniform" and "kl-lucb" only.

    References
    ----------
    Roy Chaudhuri, Jawanpuria, Mishra (2022), ProtoBandit.
    """

    name: ClassVar[str] = "protobandit"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups", "min_distance"})
    draws_from_stream: ClassVar[bool] = True
    may_overlook_far_rows: ClassVar[bool] = True
    epsilon: float = 0.2
    nu_step: float | None = None
    nu: float | None = None
    delta: float = 0.05
    search: str = "kl-lucb"
    early_stop: bool = False
    first_batch: int | None = None
    scale: float | None = None
    r: int = 1

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_integer(self.r, "r")
        if self.nu is not None and self.nu_step is not None:
            raise InvalidInput(
                f"nu={self.nu!r:.60} and nu_step={self.nu_step!r:.60} are both given. Pass one of "
                f"them: nu for the whole run, or nu_step for one iteration."
            )
        if self.nu is None and self.nu_step is None:
            object.__setattr__(self, "nu_step", _NU_STEP)
        for name in ("nu", "nu_step", "scale"):
            require_number(getattr(self, name), name, above=0, allows_none=True)
        for name in ("nu", "nu_step"):
            value = getattr(self, name)
            if value is not None and value < _SMALLEST_NU:
                raise InvalidInput(f"{name}={value!r} is too small. Pass at least {_SMALLEST_NU}.")
        require_number(self.delta, "delta", above=0, below=1)
        if not isinstance(self.early_stop, bool):
            raise InvalidInput(
                f"early_stop={self.early_stop!r:.60} is not allowed. Use True or False."
            )
        require_choice(self.search, "search", SEARCHES)
        require_integer(self.first_batch, "first_batch", allows_none=True)
        if self.first_batch is not None and self.search != "kl-lucb":
            raise InvalidInput(
                f"first_batch={self.first_batch} is not allowed with search={self.search!r}, which "
                f"computes its number of rows. Pass first_batch=None, or search='kl-lucb'."
            )
        if self.r > 1 and self.search not in _SUBSET_SEARCHES:
            raise InvalidInput(
                f"r={self.r} is not allowed with search={self.search!r}, which finds one row at a "
                f"time. Pass r=1, or a search of {list(_SUBSET_SEARCHES)}."
            )

    def steps(self, k: int) -> tuple[float, float]:
        """Return the tolerance of one iteration and of the whole run."""
        whole = k * bandit_share(self.epsilon, self.r)
        if self.nu is not None:
            return self.nu / whole, self.nu
        assert self.nu_step is not None
        return self.nu_step, self.nu_step * whole

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        scale = self.scale or problem.metric.bound or _sampled_scale(oracle, random)
        nu_step, _ = self.steps(problem.k)
        find = SEARCHES[self.search](self, nu_step, self.delta / -(-problem.k // self.r))
        return greedy(
            Subset(inner=find, size=subset_size(oracle.problem, self.epsilon)),
            SampledCoverage.of(oracle, scale=scale),
            k=problem.k,
            r=self.r,
            random=random,
            feasibility=problem.feasibility,
            control=control,
            separation=Separation.of(oracle),
        )

    def least_evaluations(self, problem: Problem) -> int:
        return subset_size(problem, self.epsilon)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        # KL-LUCB reads little more than its first batch if rewards are rare.
        k, n_arms = problem.k, subset_size(problem, self.epsilon)
        nu_step, _ = self.steps(k)
        search = KLLUCB(nu=nu_step, delta=self.delta / k, batch=self.first_batch)
        rows = max(search.first_batch(n_arms), search.rows_to_prove(n_arms))
        rows = min(rows, problem.population)
        return Schedule(
            evaluations=round(k * rows * (n_arms + k / 2)) + Separation.evaluations(problem),
            is_rough=True,
            memory=working_bytes(problem),
        )

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        # With an early stop, whether a run is proven depends on its own draws, and the statement is
        # about their mean.
        if self.early_stop or not outcome.is_proven or not outcome.feasibility.is_uniform:
            return None
        assert outcome.objective is not None
        clipping = outcome.objective.clipping
        assert clipping is not None, "sampled pulls have a scale"
        nu_step, nu = self.steps(outcome.k)
        share = bandit_share(self.epsilon, self.r)
        exponent = (1 - self.epsilon) / self.r
        epsilon, delta = (significant(value, is_up=True) for value in (self.epsilon, self.delta))
        power = significant(exponent, is_up=False)
        shown = f"1 - 1/e - {epsilon}" if self.r == 1 else f"1 - exp(-{power})"
        loss = significant(nu, is_up=True, digits=4)
        # The cost is that of d. That of min(d, C) may be lower, but it is not computed.
        reached = 1 - outcome.cost / clipping.scale
        conditions = [*conditions_of(outcome.feasibility)]
        bound = outcome.problem.metric.bound
        if bound is None or clipping.scale < bound:
            conditions.append(
                f"d above C = {clipping.scale:.6g} counts as C ({clipping.n_clipped} pulls were "
                f"clipped)"
            )
        return Guarantee(
            method=self.name,
            statement=f"E[f] >= ({shown}) f* - {loss} - {delta}, f in units of C",
            epsilon=self.epsilon,
            nu=nu,
            delta=self.delta,
            nu_step=nu_step,
            scale=clipping.scale,
            vacuous=nu + self.delta >= share * reached,
            conditions=tuple(conditions),
        )


SEARCHES: dict[str, Callable[[ProtoBandit, float, float], Strategy]] = {
    "kl-lucb": lambda m, nu, delta: KLLUCB(
        nu=nu, delta=delta, early_stop=m.early_stop, batch=m.first_batch
    ),
    "uniform": lambda m, nu, delta: Uniform(nu=nu, delta=delta),
    "aggressive-elimination": lambda m, nu, delta: AggressiveElimination(nu=nu, delta=delta),
    "median-elimination": lambda m, nu, delta: MedianElimination(nu=nu, delta=delta),
    "sequential-halving": lambda m, nu, delta: SequentialHalving(nu=nu, delta=delta),
}
_SUBSET_SEARCHES = ("kl-lucb", "uniform")


def _sampled_scale(oracle: Oracle, random: np.random.Generator) -> float:
    """Return the largest dissimilarity of a sample of pairs, which are counted as evaluations."""
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
