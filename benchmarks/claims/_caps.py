"""How many arms a search shows the whole target: there an arm costs no more, and is exact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.search.arms.contract import Strategy, Terms
from protobandit.search.drivers import greedy


@dataclass
class Caps:
    """Arms that were pulled and their pulls, in all rounds together; and of those at the cap."""

    n_arms: int = 0
    n_pulls: int = 0
    n_capped: int = 0
    n_capped_pulls: int = 0

    @property
    def share_of_arms(self) -> float:
        """Return which share of the arms met every target row."""
        return self.n_capped / max(1, self.n_arms)

    @property
    def share_of_pulls(self) -> float:
        """Return which share of the pulls these arms took."""
        return self.n_capped_pulls / max(1, self.n_pulls)

    def add(self, counts: np.ndarray, population: int) -> None:
        """Add a round in which arms met so many rows."""
        at_cap = counts[counts >= population]
        self.n_arms += int(np.count_nonzero(counts))
        self.n_pulls += int(counts.sum())
        self.n_capped += len(at_cap)
        self.n_capped_pulls += int(at_cap.sum())


@contextmanager
def watched_caps() -> Iterator[Caps]:
    """Watch the rounds of the greedy search that is made meanwhile."""
    caps, play = Caps(), greedy.play

    def watching(strategy: Strategy, arms: Any, objective: Any, terms: Terms, *rest: Any) -> Any:
        watched = _Watched(strategy)
        choice = play(watched, arms, objective, terms, *rest)
        caps.add(watched.counts, terms.population)
        return choice

    greedy.play = watching
    try:
        yield caps
    finally:
        greedy.play = play


class _Watched:
    """A strategy that asks what another does, and knows how many rows each arm has met."""

    def __init__(self, inner: Strategy) -> None:
        self.inner = inner
        self.counts = np.zeros(0, dtype=np.int64)

    def identify(self, arms: Any, *situation: Any) -> Any:
        self.counts = np.zeros(int(np.max(arms, initial=-1)) + 1, dtype=np.int64)
        identification = self.inner.identify(arms, *situation)
        try:
            pull = next(identification)
            while True:
                seen = yield pull
                self.counts[pull.arms] = seen.count
                pull = identification.send(seen)
        except StopIteration as end:
            return end.value
