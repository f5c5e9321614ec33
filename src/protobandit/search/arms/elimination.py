"""What the elimination strategies share: a plan of stages, known before the first pull.

A plan depends on the number of arms only, never on what is seen, so its cost can be stated (and
tested) beforehand and compared with that of the exact scan at every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Choice, Identification, Pull, Terms, top, unseen


@dataclass(frozen=True)
class EliminationStage:
    """Pull each of ``n_arms`` survivors on ``n_rows`` rows drawn anew, then keep the best."""

    n_arms: int
    n_rows: int
    n_keep: int


Plan: TypeAlias = Sequence[EliminationStage]


def planned_pulls(plan: Plan) -> int:
    """Return the number of pulls that ``plan`` asks for."""
    return sum(stage.n_arms * stage.n_rows for stage in plan)


def cap(plan: Plan, population: int) -> list[EliminationStage]:
    """Return ``plan``, ended by an exact stage as soon as that is no dearer than the rest of it.

    Cost: never above that of ``plan``, nor above one pass of the first stage's arms over the
    target; so no stage asks for more than ``population`` rows either.
    """
    stages: list[EliminationStage] = []
    for i, stage in enumerate(plan):
        if planned_pulls(plan[i:]) >= stage.n_arms * population:
            return [*stages, EliminationStage(stage.n_arms, population, 1)]
        stages.append(stage)
    return stages


def eliminate(plan: Plan, arms: Ids, terms: Terms) -> Identification:
    """Follow ``plan``, capped at the exact scan, down to one arm."""
    if terms.picks != 1:
        raise InvalidInput(
            f"r={terms.picks}: elimination finds one arm per iteration. "
            "Pass r=1, or search with 'uniform' or 'kl-lucb'."
        )
    if len(arms) <= 1:
        return unseen(arms)
    for stage in cap(plan, terms.population):
        seen = yield Pull(arms, stage.n_rows, anew=True)
        arms, means = top(arms, seen.mean, stage.n_keep)
    return Choice(arms=arms, means=means)
