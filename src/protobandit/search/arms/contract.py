"""The contract between a strategy and its driver.

A strategy does no I/O. ``identify`` is a generator: it yields a `Pull`, receives the `Moments` of
the arms of that pull, in the same order, and returns a `Choice`.

Rules
-----
1. Rewards lie in [0, 1] for every strategy that guarantees something about its choice.
2. ``Pull(arms, n)`` extends each arm by ``n`` target rows of the current order, from the position
   of that arm. With ``new_order=True`` a new, independent order begins for all arms and earlier
   rows are discarded. So survivors are never judged on the rows that made them survive.
3. The moments are those of the arm since the current order began.
4. An arm is never extended beyond ``terms.population`` rows. There ``count == population`` and its
   mean is exact. A population of `ENDLESS` has no end that a strategy could reach.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids


@dataclass(frozen=True)
class Pull:
    """A request for ``n`` more target rows of each of these arms."""

    arms: Ids
    n: int
    new_order: bool = False


@dataclass(frozen=True)
class Moments:
    """For some arms, the number of rows read, the mean reward, and the variance of the rewards."""

    count: Ids
    mean: Doubles
    spread: Doubles


@dataclass(frozen=True)
class Bounds:
    """An upper bound on the gain of every source row, which one round passes to the next.

    ``upper`` is indexed by source row. By submodularity a gain never grows when prototypes are
    added, so an old exact gain bounds the new one from above.
    """

    upper: Doubles


@dataclass(frozen=True)
class Terms:
    """The size of the target, the number of arms to choose, and the random generator."""

    population: int
    picks: int = 1
    random: np.random.Generator = field(default_factory=np.random.default_rng)


@dataclass(frozen=True)
class Choice:
    """The result of a round.

    Attributes
    ----------
    arms
        The chosen arms, best first.
    means
        The mean reward of each; NaN if it was chosen without a pull, because there was nothing to
        decide.
    bounds
        Bounds that the next round may use.
    is_proven
        False if the strategy stopped by a rule without a guarantee.
    is_of_all
        False if arms that were not considered may be better.
    """

    arms: Ids
    means: Doubles
    bounds: Bounds | None = None
    is_proven: bool = True
    is_of_all: bool = True


Identification: TypeAlias = Generator[Pull, Moments, Choice]


@runtime_checkable
class Strategy(Protocol):
    """Decides which arms to pull and when to stop. It receives only numbers."""

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Choose ``terms.picks`` of ``arms``."""
        ...


def top(arms: Ids, means: Doubles, n: int) -> tuple[Ids, Doubles]:
    """Return the ``n`` arms with the largest means, best first; equal means in the given order."""
    best = np.argsort(-means, kind="stable")[:n]
    return arms[best], means[best]


def choose_all(arms: Ids, bounds: Bounds | None = None) -> Choice:
    """Choose all of ``arms`` without a pull, because there is nothing to decide."""
    return Choice(arms=arms, means=np.full(len(arms), np.nan), bounds=bounds)


def upper_bounds(arms: Ids, bounds: Bounds | None) -> Doubles:
    """Return a copy of the upper bounds for at least all of ``arms``; unknown ones are infinite."""
    known = np.empty(0) if bounds is None else bounds.upper
    upper = np.full(max(len(known), arms.max(initial=-1) + 1), np.inf)
    upper[: len(known)] = known
    return upper
