"""Greedy: add the best arm, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Bounds, Choice, Strategy, Terms
from protobandit.search.control import SearchControl
from protobandit.search.drivers.pick_log import PickLog
from protobandit.search.drivers.round import play_round
from protobandit.search.objectives.objective import Objective


@dataclass(frozen=True)
class SwapPasses:
    """The passes of swaps of a run: how many swaps, how many passes, and what ended them early.

    ``ended_by`` is a limit, an interruption, or the parameter that was reached, as words; None if
    no other swap helped.
    """

    n_swaps: int
    n_passes: int
    ended_by: str | None = None


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
        What else the user should know, as sentences.
    passes
        The passes of swaps that led here, where a method makes passes.
    """

    arms: Ids
    gains: Doubles
    objective: Objective | None
    before: Objective | None
    is_proven: bool
    remark: str = ""
    passes: SwapPasses | None = None


def greedy(
    strategy: Strategy,
    objective: Objective,
    *,
    feasibility: Feasibility,
    k: int,
    r: int = 1,
    random: np.random.Generator,
    control: SearchControl | None = None,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms until there are ``k``; the first pick is the fixed rows.

    Only arms with a gain are taken. Once every gain is zero it stays zero, so the rest are equally
    good and are drawn at random all at once.
    """
    pick_log, members = PickLog(control or SearchControl()), feasibility.fixed
    if pick_log.is_resumed:
        members = members[:0]  # they are among the picks of the earlier run
    elif len(members):
        pick = given(objective, members)
        objective = pick.objective or objective
        pick_log.save(members, pick.gains, pick.is_proven, state=objective.state)
        yield pick
    yield from grow(
        strategy,
        objective,
        members,
        feasibility=feasibility,
        k=k,
        r=r,
        random=random,
        pick_log=pick_log,
    )


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
    feasibility: Feasibility,
    k: int,
    r: int = 1,
    random: np.random.Generator,
    bounds: Bounds | None = None,
    pick_log: PickLog | None = None,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms until ``members`` have grown to ``k``.

    Where rows have prices, it ends when none that gains anything can be paid for. Picks that
    ``diary`` knows of an earlier run are taken as they were.
    """
    pick_log = PickLog(SearchControl()) if pick_log is None else pick_log
    for logged in pick_log.earlier():
        members = np.append(members, logged.arms)
        before, objective = objective, objective.commit(logged.arms)
        pick_log.replay(logged)
        yield Pick(
            arms=logged.arms,
            gains=logged.gains,
            objective=objective,
            before=before,
            is_proven=logged.is_proven,
        )
    if pick_log.is_resumed:
        bounds = pick_log.bounds
        objective.restore(pick_log.arrays)
    is_free = np.ones(len(feasibility.groups), dtype=bool)
    is_free[members] = False
    while (n_left := k - len(members)) > 0:
        arms = feasibility.open_among(np.flatnonzero(is_free), members, n_left)
        if len(arms) == 0:
            break
        terms = Terms(population=objective.population, picks=min(r, n_left), random=random)
        choice = play_round(strategy, arms, objective, terms, bounds)
        bounds = choice.bounds if objective.is_bounding else None
        taken, gains = _worthwhile(choice, objective.is_bounding and choice.is_of_all)
        admitted = feasibility.admitted(members, taken, n_left)
        taken, gains = taken[admitted], gains[admitted]
        if len(taken) == 0:
            if feasibility.prices is not None:
                break
            taken, gains = feasibility.draw(members, n_left, random), np.zeros(n_left)
        is_free[taken] = False
        members = np.append(members, taken)
        before, objective = objective, objective.commit(taken)
        gains = objective.gains(gains)
        pick_log.save(taken, gains, choice.is_proven, bounds=bounds, state=objective.state)
        yield Pick(
            arms=taken,
            gains=gains,
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
