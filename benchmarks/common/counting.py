"""Comparisons by the paper's rule, beside the evaluations that the library counts.

A *pull* is one arm at one target row. The paper stores no distance: a pull of arm i at row j costs
d(j, i) and, for D_j, the distance of j to each of the |M| prototypes, that is |M| + 1 comparisons.
The library computes D_j once for all arms that read row j, and counts what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.common.replacing import replaced
from protobandit.search.arms.contract import Strategy, Terms
from protobandit.search.drivers import greedy


@dataclass(frozen=True)
class Round:
    """One iteration of greedy: the prototypes before it, and the pulls it took to add one."""

    n_prototypes: int
    n_pulls: int


def paper_comparisons(rounds: Sequence[Round]) -> int:
    """Return the comparisons of these rounds if no distance is stored."""
    return sum(each.n_pulls * (each.n_prototypes + 1) for each in rounds)


def spotgreedy_comparisons(n_source: int, n_target: int, k: int) -> int:
    """Return the comparisons of SPOTgreedy without a matrix: each free arm at each row, k times.

    It stores D_j, as the paper's Algorithm 1 does, so a pull costs one comparison.
    """
    return sum(n_source - size for size in range(k)) * n_target


@dataclass
class FullReads:
    """Arms and their pulls over all rounds, and how many of them read the whole target.

    An arm that has read the whole target costs no more pulls, and its mean is exact.
    """

    n_arms: int = 0
    n_pulls: int = 0
    n_full: int = 0
    n_full_pulls: int = 0

    @property
    def share_of_arms(self) -> float:
        """Return the share of the arms that read every target row."""
        return self.n_full / max(1, self.n_arms)

    @property
    def share_of_pulls(self) -> float:
        """Return the share of the pulls that these arms took."""
        return self.n_full_pulls / max(1, self.n_pulls)

    def add(self, counts: np.ndarray, population: int) -> None:
        """Add a round, given the number of target rows that each arm has read."""
        full = counts[counts >= population]
        self.n_arms += int(np.count_nonzero(counts))
        self.n_pulls += int(counts.sum())
        self.n_full += len(full)
        self.n_full_pulls += int(full.sum())


@dataclass
class Record:
    """The rounds of a greedy search, and the arms that read the whole target."""

    rounds: list[Round] = field(default_factory=list)
    full_reads: FullReads = field(default_factory=FullReads)


@contextmanager
def recorded() -> Iterator[Record]:
    """Record the greedy search that runs within the block."""
    record, n_prototypes, run_round = Record(), 0, greedy.run_round

    def recording(strategy: Strategy, arms: Any, objective: Any, terms: Terms, *rest: Any) -> Any:
        nonlocal n_prototypes
        observed = _Observed(strategy)
        choice = run_round(observed, arms, objective, terms, *rest)
        record.rounds.append(Round(n_prototypes, observed.n_pulls))
        record.full_reads.add(observed.counts, terms.population)
        n_prototypes += terms.picks
        return choice

    with replaced(greedy, run_round=recording):
        yield record


class _Observed:
    """A strategy that forwards to another one and counts its pulls."""

    def __init__(self, inner: Strategy) -> None:
        self.inner = inner
        self.n_pulls = 0
        self.counts = np.zeros(0, dtype=np.int64)  # target rows that each arm has read

    def identify(self, arms: Any, *situation: Any) -> Any:
        self.counts = np.zeros(int(np.max(arms, initial=-1)) + 1, dtype=np.int64)
        identification = self.inner.identify(arms, *situation)
        try:
            pull = next(identification)
            while True:
                self.n_pulls += len(pull.arms) * pull.n
                seen = yield pull
                self.counts[pull.arms] = seen.count
                pull = identification.send(seen)
        except StopIteration as end:
            return end.value
