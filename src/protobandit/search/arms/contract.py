"""The language in which a strategy asks and is answered.

A strategy is sans-I/O. ``identify`` is a generator: it yields a `Pull`, is sent back the `Moments`
of the arms it named, in the same order, and returns a `Choice`.

Rules
-----
1. Rewards lie in [0, 1] for every strategy that promises something about its choice.
2. ``Pull(arms, n)`` extends each arm by ``n`` target rows of the current order, from where that arm
   stands. With ``anew=True`` a new, independent order begins for everybody: earlier rows are
   forgotten, so survivors are never judged on the rows that made them survive.
3. The moments sent back are those of the arm since the current order began.
4. An arm is never extended beyond ``terms.population`` rows; there ``count == population`` and its
   mean is exact.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids


@dataclass(frozen=True)
class Pull:
    """Ask for these arms on ``n`` more target rows each."""

    arms: Ids
    n: int
    anew: bool = False


@dataclass(frozen=True)
class Moments:
    """What is known of some arms: rows seen, mean reward, mean squared deviation from it."""

    count: Ids
    mean: Doubles
    spread: Doubles

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together (Chan, Golub, LeVeque 1979)."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(self.mean), where=count > 0)
        shift = other.mean - self.mean
        spread = self.spread + (other.spread - self.spread) * share + shift**2 * share * (1 - share)
        return Moments(count, self.mean + shift * share, spread)


@dataclass(frozen=True)
class Bounds:
    """What one round hands to the next: an upper bound on the gain of every source row.

    ``upper`` is indexed by source row. By submodularity a gain only shrinks while prototypes are
    added, so an old exact gain bounds the new one from above.
    """

    upper: Doubles


@dataclass(frozen=True)
class Terms:
    """What holds in this round: the size of the target, how many arms to choose, the dice."""

    population: int
    picks: int = 1
    random: np.random.Generator = field(default_factory=np.random.default_rng)


@dataclass(frozen=True)
class Choice:
    """The chosen arms, best first, what was seen of each, and what the next round may use.

    ``means`` is NaN where an arm was chosen without a pull, because there was nothing to decide.
    ``is_proven`` is False when the strategy stopped on a rule that carries no guarantee, and
    ``is_of_all`` when arms that were not looked at may be better.
    """

    arms: Ids
    means: Doubles
    bounds: Bounds | None = None
    is_proven: bool = True
    is_of_all: bool = True


Identification: TypeAlias = Generator[Pull, Moments, Choice]


@runtime_checkable
class Strategy(Protocol):
    """Decides which arms to pull and when to stop; sees numbers only."""

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Choose ``terms.picks`` of ``arms``."""
        ...


def top(arms: Ids, means: Doubles, n: int) -> tuple[Ids, Doubles]:
    """Return the ``n`` arms of largest mean, best first; equal means in the order given."""
    best = np.argsort(-means, kind="stable")[:n]
    return arms[best], means[best]


def unseen(arms: Ids, bounds: Bounds | None = None) -> Choice:
    """Choose all of ``arms`` without a pull: there is nothing to decide among them."""
    return Choice(arms=arms, means=np.full(len(arms), np.nan), bounds=bounds)
