"""One round: a strategy asks, the objective answers, until it has chosen."""

from __future__ import annotations

from protobandit._typing import Ids
from protobandit.arms import Bounds, Choice, Moments, Strategy, Terms
from protobandit.objectives import Objective


def play(
    strategy: Strategy, arms: Ids, objective: Objective, terms: Terms, bounds: Bounds | None = None
) -> Choice:
    """Let ``strategy`` choose ``terms.picks`` of ``arms`` by what they are worth."""
    ledger = objective.open(arms, terms.random)
    identification = strategy.identify(arms, terms, bounds)
    try:
        pull = next(identification)
        while True:
            seen: Moments = ledger.pull(pull)
            pull = identification.send(seen)
    except StopIteration as end:
        choice: Choice = end.value
        return choice
