"""Spend: buy rows by gain per cost while the money lasts.

Theory of operation
-------------------
Buying by gain per cost alone can be arbitrarily bad: a cheap row of little worth may leave too
little for the one that matters. The better of that and the best single affordable row keeps
(1 - 1/e) / 2 of the best affordable f. Here the single row, where it wins, is bought first and the
rest of the money is spent by gain per cost too, which can only help.

Before the first prototype a gain is C - cost, and unlike the best row, the best row for its money
depends on C. Twice the cost of the worst affordable row is the C taken: f(M) = C - cost(M) with
f of no rows = 0 is submodular if C is at least the mean over the target of the larger of any two
rows' distances, which is at most the sum of their costs. What holds for this C holds for any
larger one.

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
from protobandit.search.drivers.greedy import Pick, given, grow
from protobandit.search.drivers.round import play_round
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
    """Yield the fixed rows, then what is bought, once that is known."""
    if len(feasibility.fixed):
        pick = given(coverage, feasibility.fixed)
        assert isinstance(pick.objective, ExactCoverage)
        coverage = pick.objective
        yield pick
    arms = feasibility.open_rows(feasibility.fixed, k - len(feasibility.fixed))
    if len(arms) == 0 or k == len(feasibility.fixed):
        return
    worth, base = _worth(coverage, arms, random)
    if len(feasibility.fixed) and not (worth > 0).any():
        return
    ratios = worth / _prices(feasibility)[arms]
    bounds = Bounds(_placed(ratios, arms, len(feasibility.groups)))
    shop = _Shop(strategy, coverage, feasibility, k, r, random, control or SearchControl())
    bought = shop.buy(int(arms[ratios.argmax()]), bounds)
    if base - worth.max() < (1 - _ROUNDING) * bought.coverage.costs[-1]:
        bought = shop.buy(int(arms[worth.argmax()]), bounds)
    yield from bought.picks()


@dataclass(frozen=True, eq=False)
class _Bought:
    arms: Ids
    coverage: ExactCoverage
    stopped: StopReason | None

    def picks(self) -> Iterator[Pick]:
        """Yield the first row and then all others: nothing is to be judged between them."""
        remark = ""
        if self.stopped is not None:
            remark = f"Buying was stopped by {self.stopped}."
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


@dataclass(frozen=True, eq=False)
class _Shop:
    strategy: Strategy
    coverage: ExactCoverage
    feasibility: Feasibility
    k: int
    r: int
    random: np.random.Generator
    control: SearchControl

    def buy(self, first: int, bounds: Bounds) -> _Bought:
        """Buy ``first``, then by gain per cost while the money lasts."""
        n_fixed = len(self.feasibility.fixed)
        objective = Priced(self.coverage.commit(np.array([first])), _prices(self.feasibility))
        picks = grow(
            self.strategy,
            objective,
            np.append(self.feasibility.fixed, first),
            feasibility=self.feasibility,
            k=self.k,
            r=self.r,
            random=self.random,
            bounds=bounds if n_fixed else None,
        )
        try:
            while self.control.allows() and (pick := next(picks, None)) is not None:
                assert isinstance(pick.objective, Priced)
                objective = pick.objective
        except Halt:
            self.control.stop()
        stopped = self.control.stopped
        return _Bought(objective.coverage.prototypes[n_fixed:], objective.coverage, stopped)


def _worth(
    coverage: ExactCoverage, arms: Ids, random: np.random.Generator
) -> tuple[Doubles, float]:
    """Return what each arm alone would add to f, and the cost without any."""
    terms = Terms(population=coverage.population, picks=1, random=random)
    choice = play_round(Exhaustive(), arms, coverage, terms)
    assert choice.bounds is not None
    worth = choice.bounds.upper[arms]
    if coverage.is_bounding:
        return worth, coverage.costs[-1]
    base = -2 * float(worth.min())
    return worth + base, base


def _placed(values: Doubles, arms: Ids, n: int) -> Doubles:
    out = np.full(n, np.inf)
    out[arms] = values
    return out


def _prices(feasibility: Feasibility) -> Doubles:
    assert feasibility.prices is not None
    return feasibility.prices
