"""Counting by the paper's rule, beside the library's own.

A *pull* is one arm at one target row. The paper keeps no distance: a pull of arm i at row j costs
d(j, i) and, for D_j, the distance of j to each of the |M| prototypes, |M| + 1 comparisons. The
library computes D_j once for all arms that meet row j, and counts what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from protobandit.search.arms.contract import Strategy
from protobandit.search.drivers import greedy


@dataclass(frozen=True)
class Round:
    """One iteration of greedy: prototypes there were, and pulls it took to add one."""

    n_prototypes: int
    n_pulls: int


def paper_comparisons(rounds: Sequence[Round]) -> int:
    """Return what these rounds cost where nothing is kept."""
    return sum(each.n_pulls * (each.n_prototypes + 1) for each in rounds)


def spotgreedy_comparisons(n_source: int, n_target: int, k: int) -> int:
    """Return what SPOTgreedy computes on the fly: every arm left at every row, at every iteration.

    It holds D_j, as the paper's Algorithm 1 does, so that a pull costs one comparison.
    """
    return sum(n_source - size for size in range(k)) * n_target


@dataclass
class Record:
    """What a search did: the rounds of its greedy, and the oracle that it asked."""

    rounds: list[Round] = field(default_factory=list)
    oracle: Any = None


@contextmanager
def recorded() -> Iterator[Record]:
    """Record the search that is made meanwhile."""
    record = Record()
    play = greedy.play

    def counting(strategy: Strategy, arms: Any, objective: Any, *rest: Any) -> Any:
        counted = _Counted(strategy)
        choice = play(counted, arms, objective, *rest)
        place = getattr(objective, "sample", objective)
        record.rounds.append(Round(len(place.prototypes), counted.n_pulls))
        board = getattr(place, "board", place)
        record.oracle = getattr(board, "oracle", board)
        return choice

    greedy.play = counting
    try:
        yield record
    finally:
        greedy.play = play


class _Counted:
    """A strategy that asks what another does, and counts the pulls."""

    def __init__(self, inner: Strategy) -> None:
        self.inner = inner
        self.n_pulls = 0

    def identify(self, *situation: Any) -> Any:
        identification = self.inner.identify(*situation)
        seen = None
        while True:
            try:
                pull = identification.send(seen) if seen is not None else next(identification)
            except StopIteration as end:
                return end.value
            self.n_pulls += len(pull.arms) * pull.n
            seen = yield pull
