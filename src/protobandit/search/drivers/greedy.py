"""Greedy selection: add the arm of the largest gain until there are k prototypes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Bounds, Choice, Moments, Strategy, Terms
from protobandit.search.control import SearchControl
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.pick_log import PickLog
from protobandit.search.drivers.separation import Separation
from protobandit.search.objectives.objective import Objective


def run_round(
    strategy: Strategy, arms: Ids, objective: Objective, terms: Terms, bounds: Bounds | None = None
) -> Choice:
    """Let ``strategy`` choose ``terms.picks`` of ``arms``; the objective answers its pulls."""
    ledger = objective.open(arms, terms.random)
    identification = strategy.identify(arms, terms, bounds)
    try:
        pull = next(identification)
        while True:
            moments: Moments = ledger.pull(pull)
            pull = identification.send(moments)
    except StopIteration as end:
        choice: Choice = end.value
        return choice


def greedy(
    strategy: Strategy,
    objective: Objective,
    *,
    feasibility: Feasibility,
    k: int,
    r: int = 1,
    random: np.random.Generator,
    control: SearchControl | None = None,
    separation: Separation | None = None,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms until there are ``k``; fixed rows are the first pick.

    With a ``separation``, a pick is one arm, and the search ends early if no arm is far enough from
    the prototypes.

    Only arms with a positive gain are picked. Gains that are zero remain zero, so if all are, the
    rest are equally good and are drawn at random, as one pick.
    """
    pick_log = PickLog(control or SearchControl(), len(feasibility.groups))
    members = feasibility.fixed
    if pick_log.is_resumed:
        members = members[:0]  # they are among the logged picks
    elif len(members):
        pick = given_pick(objective, members)
        objective = pick.objective or objective
        pick_log.save(members, pick.gains, pick.is_proven, state=objective.state)
        yield pick
    yield from extend_greedily(
        strategy,
        objective,
        members,
        feasibility=feasibility,
        k=k,
        r=r,
        random=random,
        pick_log=pick_log,
        separation=separation,
    )


def given_pick(objective: Objective, arms: Ids) -> Pick:
    """Return the pick of arms that are given, not chosen by their gains."""
    return Pick(
        arms=arms,
        gains=np.full(len(arms), np.nan),
        objective=objective.commit(arms),
        before=objective,
        is_proven=True,
    )


def extend_greedily(
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
    separation: Separation | None = None,
) -> Iterator[Pick]:
    """Yield picks of up to ``r`` arms that extend ``members`` to ``k`` prototypes.

    If rows have costs, it ends when no affordable row has a gain. Picks of an earlier run in
    ``pick_log`` are repeated first.
    """
    n_source = len(feasibility.groups)
    pick_log = PickLog(SearchControl(), n_source) if pick_log is None else pick_log
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
    if separation is not None:
        separation.exclude_near(is_free, members)
        r = 1
    while (n_left := k - len(members)) > 0:
        arms = feasibility.open_among(np.flatnonzero(is_free), members, n_left)
        if len(arms) == 0:
            break
        terms = Terms(population=objective.population, picks=min(r, n_left), random=random)
        choice = run_round(strategy, arms, objective, terms, bounds)
        bounds = choice.bounds if objective.is_bounding else None
        taken, gains = _with_gain(choice, objective.is_bounding and choice.is_of_all)
        admitted = feasibility.admitted(members, taken, n_left)
        taken, gains = taken[admitted], gains[admitted]
        if len(taken) == 0:
            if feasibility.prices is not None:
                break
            if separation is None:
                taken = feasibility.draw(members, n_left, random)
            else:  # one of them may exclude the others
                taken = random.choice(arms, size=1)
            gains = np.zeros(len(taken))
        is_free[taken] = False
        if separation is not None:
            separation.exclude_near(is_free, taken)
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


def _with_gain(choice: Choice, is_conclusive: bool) -> tuple[Ids, Doubles]:
    """Return the arms of the choice that have a positive gain.

    Only the exact gains of all arms are conclusive. A gain of zero on a sample may be positive on
    the target, and if no arm of a subset has a gain, another arm may have one. NaN is the gain of
    an arm that was chosen without a pull, because it was the only choice.
    """
    if not is_conclusive:
        return choice.arms, choice.means
    is_useful = ~(choice.means <= 0)
    return choice.arms[is_useful], choice.means[is_useful]
