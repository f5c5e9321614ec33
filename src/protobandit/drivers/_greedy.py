"""Greedy: add the best arm, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit._typing import Doubles, Ids
from protobandit.arms import Bounds, Choice, Strategy, Terms
from protobandit.drivers._round import play
from protobandit.objectives import Objective


@dataclass(frozen=True, kw_only=True)
class Pick:
    """What one iteration added, and where that leads.

    Attributes
    ----------
    arms, gains
        What was added, best first.
    objective, before
        What arms are worth with them and without; None where no further pick is to be judged.
    is_proven
        False when the strategy stopped on a rule that carries no guarantee.
    remark
        What the user should know besides, as sentences.
    """

    arms: Ids
    gains: Doubles
    objective: Objective | None
    before: Objective | None
    is_proven: bool
    remark: str = ""


def greedy(
    strategy: Strategy,
    objective: Objective,
    *,
    n_source: int,
    k: int,
    r: int = 1,
    random: np.random.Generator,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms until there are ``k``.

    Only arms of non-zero gain are taken; when every gain is zero, it stays so, the rest are as good
    as each other, and are drawn at random all at once.
    """
    is_free = np.ones(n_source, dtype=bool)
    bounds: Bounds | None = None
    n_picked = 0
    while n_picked < k:
        arms = np.flatnonzero(is_free)
        terms = Terms(population=objective.population, picks=min(r, k - n_picked), random=random)
        choice = play(strategy, arms, objective, terms, bounds)
        bounds = choice.bounds if objective.is_bounding else None
        taken, gains = _worthwhile(choice, objective.is_bounding and choice.is_of_all)
        if len(taken) == 0:
            taken = random.choice(arms, size=k - n_picked, replace=False)
            gains = np.zeros(len(taken))
        is_free[taken] = False
        n_picked += len(taken)
        before, objective = objective, objective.commit(taken)
        yield Pick(
            arms=taken,
            gains=objective.gains(gains),
            objective=objective,
            before=before,
            is_proven=choice.is_proven,
        )


def _worthwhile(choice: Choice, is_settled: bool) -> tuple[Ids, Doubles]:
    """Return the arms of the choice that gain anything.

    Only exact gains of all arms settle that: what a sample did not show, the target may hold, and
    what no arm of a subset gains, another may. A NaN is the gain of an arm that was chosen without
    a pull, because there was nothing to decide.
    """
    if not is_settled:
        return choice.arms, choice.means
    is_useful = ~(choice.means <= 0)
    return choice.arms[is_useful], choice.means[is_useful]
