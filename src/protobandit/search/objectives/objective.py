"""The interface between drivers and objectives.

An objective defines how much a source row improves the current prototypes. A driver opens a round
on some arms, a strategy pulls them, and the driver commits the arms that were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.search.arms.contract import Moments, Pull

_Own = TypeVar("_Own", bound="Objective")
_Exact = TypeVar("_Exact", bound="ExactObjective")


class Round(Protocol):
    """Answers the pulls of one round."""

    def pull(self, pull: Pull) -> Moments:
        """Return the moments of the pulled arms since the current order began."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class ExtraResults:
    """Results that only some objectives have; None where an objective does not have them.

    Attributes
    ----------
    criticisms
        Target rows that the prototypes represent worst, worst first.
    coefficients
        The coefficient of each prototype in the mixture that is closest to the target.
    """

    criticisms: Ids | None = None
    coefficients: Doubles | None = None


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """The scale that rewards are divided by, and the number of pulls that it clipped."""

    scale: float
    n_clipped: int


class Objective(Protocol):
    """How much a source row improves the prototypes so far.

    An objective is a value: `commit` returns a new one. Classes inherit from this protocol, so
    members that have a body are defaults.
    """

    @property
    def population(self) -> int:
        """Return the number of rows after which the value of an arm is exact."""
        ...

    @property
    def is_bounding(self) -> bool:
        """Return whether gains seen now bound the gains of later rounds from above."""
        return False

    @property
    def has_read_target(self) -> bool:
        """Return whether every target row has been read, so that an exact cost adds little work."""
        return False

    @property
    def exact_coverage(self) -> CoverageObjective | None:
        """Return the exact coverage of the target by the prototypes, or None if it is unknown."""
        return None

    @property
    def clipping(self) -> Clipping | None:
        """Return how rewards were clipped, or None if they have no scale."""
        return None

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        """Start a round on these arms."""
        ...

    def commit(self: _Own, arms: Ids) -> _Own:
        """Return the objective with these arms added to the prototypes."""
        ...

    def gains(self, means: Doubles) -> Doubles:
        """Return mean rewards in the unit of the dissimilarity."""
        return means

    def finish(self) -> ExtraResults:
        """Return the results that only this objective has; this may compute dissimilarities."""
        return ExtraResults()

    def state(self) -> dict[str, Any]:
        """Return the arrays that a resumed run needs in addition to the prototypes."""
        return {}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Set what `state` returned in an earlier run; other arrays are ignored."""
        return


class ExactObjective(Objective, Round, Protocol):
    """An objective that has read the whole target and answers the pulls of its rounds itself."""

    @property
    def has_read_target(self) -> bool:
        return True

    def open(self: _Exact, arms: Ids, random: np.random.Generator) -> _Exact:
        return self

    def pull(self, pull: Pull) -> Moments:
        n = len(pull.arms)
        return Moments(np.full(n, self.population), self.values(pull.arms), np.zeros(n))

    def values(self, arms: Ids) -> Doubles:
        """Return by how much each arm improves the prototypes."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class CoverageObjective(ExactObjective):
    """An objective that knows the distance of every target row to its nearest prototype.

    Attributes
    ----------
    prototypes
        Source rows chosen so far.
    nearest, labels
        For each target row the distance to its nearest prototype, and the number of that prototype.
    weights
        The weights of the target rows.
    costs
        The weighted mean of ``nearest`` after each prototype.
    """

    prototypes: Ids
    nearest: Floats
    labels: Ids
    weights: Doubles
    costs: tuple[float, ...] = ()

    @property
    def population(self) -> int:
        return len(self.nearest)

    @property
    def mass(self) -> Doubles:
        """Return for each prototype the share of the target that is nearest to it."""
        share = np.bincount(self.labels, self.weights, minlength=len(self.prototypes))
        return np.asarray(share / share.sum(), dtype=np.float64)


class RewardSums:
    """For each arm of a round, the number of rows read and the sums of rewards and squares.

    Parameters
    ----------
    arms
        The arms of the round.
    """

    def __init__(self, arms: Ids) -> None:
        self.arms = np.sort(arms)
        self.clear()

    def clear(self) -> None:
        """Set all counts and sums to zero."""
        self.count = np.zeros(len(self.arms), dtype=np.int64)
        self.total = np.zeros(len(self.arms))
        self.squares = np.zeros(len(self.arms))

    def slots(self, arms: Ids) -> Ids:
        """Return the positions of these arms in the arrays."""
        return np.searchsorted(self.arms, arms)

    def moments(self, slots: Ids) -> Moments:
        """Return the moments of the arms at these slots."""
        count = self.count[slots]
        n = np.maximum(count, 1)
        mean = self.total[slots] / n
        return Moments(count, mean, np.maximum(self.squares[slots] / n - mean**2, 0))


def advance(
    count: Ids, slots: Ids, n: int, population: int, add: Callable[[Ids, int, int], None]
) -> None:
    """Move these slots ``n`` rows on, to ``population`` at most.

    ``add(group, start, stop)`` is called once for each group of slots that have read the same
    number of rows, which is ``start``.
    """
    where = count[slots]
    for start in np.unique(where).tolist():
        group = slots[where == start]
        stop = min(start + n, population)
        add(group, start, stop)
        count[group] = stop
