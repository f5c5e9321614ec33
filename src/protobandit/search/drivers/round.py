"""One round: a strategy asks, the objective answers, until it has chosen."""

from __future__ import annotations

from protobandit.foundation.array_types import Ids
from protobandit.search.arms.contract import Bounds, Choice, Moments, Strategy, Terms
from protobandit.search.objectives.objective import Objective


def play_round(
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
