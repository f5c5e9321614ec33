"""What ends a search other than a number of prototypes.

A goal sees numbers only: the gains of a pick, and how far each target row is from its nearest
prototype after it. `Coverage` and `MinGain` end the search as soon as they are met; the knee of
``k="auto"`` is looked for in the curve of all costs once it is complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.foundation.errors import InvalidInput

MOST_TRIED = 100  # prototypes of the curve in which k="auto" looks for a knee


class Goal(Protocol):
    """Ends a search."""

    def kept(self, gains: Doubles) -> int:
        """Return how many arms of a pick are worth keeping; fewer than all ends the search."""
        ...

    def is_met(self, nearest: Floats, weights: Doubles) -> bool:
        """Tell whether these distances to the nearest prototype are good enough."""
        ...


@dataclass(frozen=True)
class Coverage:
    """Go on until ``share`` of the target's weight lies within ``radius`` of a prototype.

    Prototypes are still chosen to lower the cost, not to cover. An error says so where not even all
    source rows reach the share; with a ``k`` besides, the search ends there at the latest.

    Parameters
    ----------
    share
        How much of the weight, in (0, 1].
    radius
        How far a target row may be from its nearest prototype, >= 0.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [50.0]]
    >>> pb.select(rows, until=pb.Coverage(0.8, radius=1)).k
    3
    """

    share: float
    radius: float

    def __post_init__(self) -> None:
        if not (_is_number(self.share) and 0 < self.share <= 1):
            raise InvalidInput(
                f"Coverage(share)={self.share!r} is not allowed. Pass a number in (0, 1]."
            )
        if not (_is_number(self.radius) and 0 <= self.radius < math.inf):
            raise InvalidInput(
                f"Coverage(radius)={self.radius!r} is not allowed. Pass a finite number >= 0."
            )

    def kept(self, gains: Doubles) -> int:
        return len(gains)

    def is_met(self, nearest: Floats, weights: Doubles) -> bool:
        return self.covered(nearest, weights) >= self.share

    def covered(self, nearest: Floats, weights: Doubles) -> float:
        """Return the share of the weight within the radius."""
        outside = weights[nearest > self.radius].sum() / weights.sum()
        return float(1 - outside)

    def require_reachable(self, nearest: Floats, weights: Doubles) -> None:
        """Refuse a share that rows this near cannot reach."""
        best = self.covered(nearest, weights)
        if best < self.share:
            order = np.argsort(nearest)
            enough = np.searchsorted(np.cumsum(weights[order]), self.share * weights.sum())
            radius = float(nearest[order[min(enough, len(order) - 1)]])
            raise InvalidInput(
                f"until={self} cannot be reached: all source rows together have {best:.4g} of the "
                f"target within {self.radius:g}. Pass share <= {best:.4g}, or radius >= "
                f"{radius:.4g}."
            )


@dataclass(frozen=True)
class MinGain:
    """Go on while a prototype lowers the cost by at least ``gain``.

    Parameters
    ----------
    gain
        In the unit of the dissimilarity, > 0. The first prototype is always taken.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pb.select(rows, until=pb.MinGain(1.0)).k
    2
    """

    gain: float

    def __post_init__(self) -> None:
        if not (_is_number(self.gain) and 0 < self.gain < math.inf):
            raise InvalidInput(
                f"MinGain(gain)={self.gain!r} is not allowed. Pass a finite number > 0."
            )

    def kept(self, gains: Doubles) -> int:
        small = np.flatnonzero(gains < self.gain)
        return int(small[0]) if len(small) else len(gains)

    def is_met(self, nearest: Floats, weights: Doubles) -> bool:
        return False


@dataclass(frozen=True)
class Knee:
    """Go on to ``MOST_TRIED`` prototypes, then keep as many as the knee of the curve says."""

    def kept(self, gains: Doubles) -> int:
        return len(gains)

    def is_met(self, nearest: Floats, weights: Doubles) -> bool:
        return False


def as_goal(k: Any, until: Any) -> Goal | None:
    """Return what ends the search, or None where that is a number."""
    if until is not None and not isinstance(until, (Coverage, MinGain)):
        raise InvalidInput(
            f"until={until!r:.40} is not known. Pass Coverage(share, radius) or MinGain(gain)."
        )
    if isinstance(k, str) and k == "auto":
        if until is not None:
            raise InvalidInput(
                f"until={until} is given with k='auto', which ends the search itself. Pass one."
            )
        return Knee()
    goal: Goal | None = until
    return goal


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
