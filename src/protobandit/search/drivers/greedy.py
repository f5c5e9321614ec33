"""Greedy: add the best arm, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import NOBODY, Onlooker
from protobandit.problem.feasibility import Rules
from protobandit.search.arms.contract import Bounds, Choice, Strategy, Terms
from protobandit.search.drivers.pick_log import Diary
from protobandit.search.drivers.round import play
from protobandit.search.objectives.objective import Objective
from protobandit.search.objectives.sampled_coverage import SampledCoverage


@dataclass(frozen=True, kw_only=True)
class Pick:
    """What one iteration added, and where that leads.

    Attributes
    ----------
    arms, gains
        What was added, best first; the gain of an arm that was given, not chosen, is NaN.
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
    rules: Rules | None = None,
    watch: Onlooker = NOBODY,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms until there are ``k``; the first holds what ``rules`` fix.

    Only arms of non-zero gain are taken; when every gain is zero, it stays so, the rest are as good
    as each other, and are drawn at random all at once.
    """
    rules = Rules.none(n_source) if rules is None else rules
    diary, members = Diary(watch), rules.fixed
    if diary.is_resumed:
        members = members[:0]  # they are among the picks of the earlier run
    elif len(members):
        pick = given(objective, members)
        objective = pick.objective or objective
        diary.note(members, pick.gains, pick.is_proven, besides=_besides(objective))
        yield pick
    yield from grow(strategy, objective, members, rules=rules, k=k, r=r, random=random, diary=diary)


def given(objective: Objective, arms: Ids) -> Pick:
    """Return the pick of arms that are not to be chosen."""
    return Pick(
        arms=arms,
        gains=np.full(len(arms), np.nan),
        objective=objective.commit(arms),
        before=objective,
        is_proven=True,
    )


def grow(
    strategy: Strategy,
    objective: Objective,
    members: Ids,
    *,
    rules: Rules,
    k: int,
    r: int = 1,
    random: np.random.Generator,
    bounds: Bounds | None = None,
    diary: Diary | None = None,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms until ``members`` have grown to ``k``.

    Where rows have prices, it ends when none that gains anything can be paid for. Picks that
    ``diary`` knows of an earlier run are taken as they were.
    """
    diary = Diary(NOBODY) if diary is None else diary
    for noted in diary.earlier():
        members = np.append(members, noted.arms)
        before, objective = objective, objective.commit(noted.arms)
        diary.go_back(noted)
        yield Pick(
            arms=noted.arms,
            gains=noted.gains,
            objective=objective,
            before=before,
            is_proven=noted.is_proven,
        )
    if diary.is_resumed:
        bounds = diary.bounds
        if isinstance(objective, SampledCoverage):
            objective.recall(diary.arrays)
    is_free = np.ones(len(rules.groups), dtype=bool)
    is_free[members] = False
    while (n_left := k - len(members)) > 0:
        arms = rules.open_among(np.flatnonzero(is_free), members, n_left)
        if len(arms) == 0:
            break
        terms = Terms(population=objective.population, picks=min(r, n_left), random=random)
        choice = play(strategy, arms, objective, terms, bounds)
        bounds = choice.bounds if objective.is_bounding else None
        taken, gains = _worthwhile(choice, objective.is_bounding and choice.is_of_all)
        admitted = rules.admitted(members, taken, n_left)
        taken, gains = taken[admitted], gains[admitted]
        if len(taken) == 0:
            if rules.prices is not None:
                break
            taken, gains = rules.draw(members, n_left, random), np.zeros(n_left)
        is_free[taken] = False
        members = np.append(members, taken)
        before, objective = objective, objective.commit(taken)
        gains = objective.gains(gains)
        diary.note(taken, gains, choice.is_proven, bounds=bounds, besides=_besides(objective))
        yield Pick(
            arms=taken,
            gains=gains,
            objective=objective,
            before=before,
            is_proven=choice.is_proven,
        )


def _besides(objective: Objective) -> Callable[[], dict[str, Any]]:
    """Return who tells what another run must know besides the picks."""
    return objective.notes if isinstance(objective, SampledCoverage) else dict


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
