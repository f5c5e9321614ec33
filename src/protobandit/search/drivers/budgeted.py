"""Greedy selection under a budget: add rows by gain per cost while the budget lasts.

Theory of operation
-------------------
Greedy selection by gain per cost alone can be arbitrarily bad: a cheap row of little gain may leave
too little of the budget for an expensive row of large gain. The better of this selection and the
best single affordable row has at least (1 - 1/e) / 2 of the best affordable f. If the single row is
better, it is taken first here and the rest of the budget is spent by gain per cost too. This can
only improve the result.

Before the first prototype a gain is C - cost. The row of the largest gain does not depend on C, but
the row of the largest gain per cost does. C is set to twice the cost of the worst affordable row:
f(M) = C - cost(M), with f = 0 for no rows, is submodular if C is at least the mean over the target
of the larger of the distances to any two rows, and that mean is at most the sum of the two costs.
What is proven for this C holds for any larger one.

References
----------
Khuller, Moss, Naor (1999), The budgeted maximum coverage problem. Leskovec, Krause, Guestrin,
Faloutsos, VanBriesen, Glance (2007), Cost-effective outbreak detection in networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import Halt
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Bounds, Strategy, Terms
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.control import SearchControl, StopReason
from protobandit.search.drivers.greedy import extend_greedily, given_pick, run_round
from protobandit.search.drivers.pick import Pick
from protobandit.search.objectives.coverage import ExactCoverage, Priced

_ROUNDING = 1e-12  # of a cost


def budgeted_greedy(
    strategy: Strategy,
    coverage: ExactCoverage,
    *,
    feasibility: Feasibility,
    k: int,
    r: int = 1,
    random: np.random.Generator,
    control: SearchControl | None = None,
) -> Iterator[Pick]:
    """Yield the fixed rows, then the chosen rows when all of them are known."""
    fixed, costs = feasibility.fixed, feasibility.prices
    assert costs is not None
    if len(fixed):
        pick = given_pick(coverage, fixed)
        assert isinstance(pick.objective, ExactCoverage)
        coverage = pick.objective
        yield pick
    arms = feasibility.open_rows(fixed, k - len(fixed))
    if len(arms) == 0 or k == len(fixed):
        return
    gains, cost_before = _single_gains(coverage, arms, random)
    if len(fixed) and not (gains > 0).any():
        return
    ratios = gains / costs[arms]
    upper = np.full(len(feasibility.groups), np.inf)
    upper[arms] = ratios
    search = _CostBenefitGreedy(
        strategy=strategy,
        coverage=coverage,
        feasibility=feasibility,
        costs=costs,
        k=k,
        r=r,
        random=random,
        bounds=Bounds(upper) if len(fixed) else None,
        control=control or SearchControl(),
    )
    found = search.run(int(arms[ratios.argmax()]))
    if cost_before - gains.max() < (1 - _ROUNDING) * found.coverage.costs[-1]:
        found = search.run(int(arms[gains.argmax()]))
    yield from found.picks()


@dataclass(frozen=True, eq=False)
class _Found:
    """The chosen rows, their coverage, and what ended the search early, if anything."""

    arms: Ids
    coverage: ExactCoverage
    stopped: StopReason | None

    def picks(self) -> Iterator[Pick]:
        """Yield the first row, then all others at once: no goal is checked between them."""
        remark = ""
        if self.stopped is not None:
            remark = f"The search within the budget was stopped by {self.stopped}."
        gains = np.diff(-np.array(self.coverage.costs), prepend=np.nan)[-len(self.arms) :]
        cuts = [slice(0, 1), slice(1, None)][: len(self.arms)]
        for cut in cuts:
            yield Pick(
                arms=self.arms[cut],
                gains=gains[cut],
                objective=self.coverage if cut is cuts[-1] else None,
                before=None,
                is_proven=self.stopped is None,
                remark=remark,
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class _CostBenefitGreedy:
    """Greedy selection by gain per cost, after a first row that is given."""

    strategy: Strategy
    coverage: ExactCoverage
    feasibility: Feasibility
    costs: Doubles
    k: int
    r: int
    random: np.random.Generator
    bounds: Bounds | None
    control: SearchControl

    def run(self, first: int) -> _Found:
        """Return ``first`` and the rows that are added while the budget lasts."""
        fixed = self.feasibility.fixed
        objective = Priced(self.coverage.commit(np.array([first])), self.costs)
        picks = extend_greedily(
            self.strategy,
            objective,
            np.append(fixed, first),
            feasibility=self.feasibility,
            k=self.k,
            r=self.r,
            random=self.random,
            bounds=self.bounds,
        )
        try:
            while self.control.allows() and (pick := next(picks, None)) is not None:
                assert isinstance(pick.objective, Priced)
                objective = pick.objective
        except Halt:
            self.control.stop()
        coverage = objective.coverage
        return _Found(coverage.prototypes[len(fixed) :], coverage, self.control.stopped)


def _single_gains(
    coverage: ExactCoverage, arms: Ids, random: np.random.Generator
) -> tuple[Doubles, float]:
    """Return the gain of each arm alone, and the cost before any of them is added."""
    terms = Terms(population=coverage.population, picks=1, random=random)
    choice = run_round(Exhaustive(), arms, coverage, terms)
    assert choice.bounds is not None
    gains = choice.bounds.upper[arms]
    if coverage.is_bounding:
        return gains, coverage.costs[-1]
    largest = -2 * float(gains.min())  # C
    return gains + largest, largest
