"""Elimination by a plan of stages that is known before the first pull.

A plan depends only on the number of arms, never on rewards. So its cost can be stated (and tested)
beforehand and compared with the cost of pulling every row at each stage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    choose_all,
    top,
)
from protobandit.search.arms.pac import Pac


@dataclass(frozen=True)
class EliminationStage:
    """Pull each of ``n_arms`` survivors on ``n_rows`` new rows, then keep the ``n_keep`` best."""

    n_arms: int
    n_rows: int
    n_keep: int


Plan: TypeAlias = Sequence[EliminationStage]


def planned_pulls(plan: Plan) -> int:
    """Return the number of pulls of ``plan``."""
    return sum(stage.n_arms * stage.n_rows for stage in plan)


def cap(plan: Plan, population: int) -> list[EliminationStage]:
    """Return ``plan``, ending in an exact stage as soon as that costs no more than the rest of it.

    Cost: at most that of ``plan``, and at most one pass of the arms of the first stage over the
    target. So no stage pulls more than ``population`` rows.
    """
    stages: list[EliminationStage] = []
    for i, stage in enumerate(plan):
        if planned_pulls(plan[i:]) >= stage.n_arms * population:
            return [*stages, EliminationStage(stage.n_arms, population, 1)]
        stages.append(stage)
    return stages


def eliminate(plan: Plan, arms: Ids, terms: Terms) -> Identification:
    """Follow ``plan``, capped at one pass over the target, until one arm is left."""
    if terms.picks != 1:
        raise InvalidInput(
            f"r={terms.picks} is not supported: elimination chooses one arm per round. "
            "Pass r=1, or search='uniform' or 'kl-lucb'."
        )
    if len(arms) <= 1:
        return choose_all(arms)
    for stage in cap(plan, terms.population):
        seen = yield Pull(arms, stage.n_rows, new_order=True)
        arms, means = top(arms, seen.mean, stage.n_keep)
    return Choice(arms=arms, means=means)


@dataclass(frozen=True, kw_only=True)
class PacElimination(Pac, ABC):
    """Elimination by the plan that the number of arms, ``nu`` and ``delta`` determine."""

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return an arm within ``nu`` of the best, with probability ``1 - delta``."""
        return (yield from eliminate(self.plan(len(arms)), arms, terms))

    @abstractmethod
    def plan(self, n_arms: int) -> Plan:
        """Return the stages that reduce ``n_arms`` to one."""
