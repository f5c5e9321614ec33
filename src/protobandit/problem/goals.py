"""Goals: what ends a search, other than a number of prototypes.

`Certified` is a goal of a whole call, which may make several searches (`run/certified.py`). The
others are goals of one search.

A goal receives numbers only: the gains of a pick, and afterwards the distance of each target row to
its nearest prototype. `Coverage` and `MinGain` end the search as soon as they are met. The knee of
``k="auto"`` is determined from the curve of all costs once it is complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.foundation.checks import require_number
from protobandit.foundation.errors import InvalidInput

MOST_TRIED = 100  # prototypes of the curve from which k="auto" determines the knee


def percentage(share: float) -> str:
    """Return a share as a percentage; only a share of 1 is 100 %."""
    text = f"{100 * share:.4g}"
    return "more than 99.99 %" if text == "100" and share < 1 else f"{text} %"


class Goal:
    """What ends a search; this one lets it run."""

    def kept(self, gains: Doubles) -> int:
        """Return how many arms of a pick to keep; fewer than all ends the search.

        :meta private:
        """
        return len(gains)

    def is_met(self, nearest: Floats, weights: Doubles) -> bool:
        """Return whether these distances to the nearest prototype meet the goal.

        :meta private:
        """
        return False


@dataclass(frozen=True)
class Coverage(Goal):
    """Search until ``share`` of the target's weight lies within ``radius`` of a prototype.

    Prototypes are still chosen to lower the cost, not to cover rows. If even all source rows
    together do not reach the share, an error is raised. If ``k`` is given too, it is the largest
    number of prototypes. On large problems fresh target rows confirm the share with a probability
    of 95 %, and 10,000 prototypes are the most without ``k``.

    Parameters
    ----------
    share
        The share of the weight, in (0, 1].
    radius
        The largest distance of a covered target row to its nearest prototype, >= 0.

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
        require_number(self.share, "Coverage(share)", above=0, at_most=1)
        require_number(self.radius, "Coverage(radius)", at_least=0)

    def is_met(self, nearest: Floats, weights: Doubles) -> bool:
        return self.covered(nearest, weights) >= self.share

    def covered(self, nearest: Floats, weights: Doubles) -> float:
        """Return the share of the weight within the radius.

        :meta private:
        """
        outside = weights[nearest > self.radius].sum() / weights.sum()
        return float(1 - outside)

    def needed_radius(self, nearest: Floats, weights: Doubles) -> float:
        """Return the radius within which the share of the weight lies.

        :meta private:
        """
        order = np.argsort(nearest)
        enough = np.searchsorted(np.cumsum(weights[order]), self.share * weights.sum())
        return float(nearest[order[min(enough, len(order) - 1)]])

    def require_reachable(self, nearest: Floats, weights: Doubles) -> None:
        """Raise if the share exceeds what ``nearest``, the distances to all source rows, allow.

        :meta private:
        """
        best = self.covered(nearest, weights)
        if best < self.share:
            radius = self.needed_radius(nearest, weights)
            raise InvalidInput(
                f"until={self} cannot be reached: all source rows together cover "
                f"{percentage(best)} of the target within {self.radius:g}. Pass "
                f"share <= {best:.4g}, or radius >= {radius:.4g}."
            )


@dataclass(frozen=True)
class MinGain(Goal):
    """Search while each prototype lowers the cost by at least ``gain``.

    Parameters
    ----------
    gain
        In the unit of the dissimilarity, > 0. The first prototype is always chosen.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pb.select(rows, until=pb.MinGain(1.0)).k
    2
    """

    gain: float

    def __post_init__(self) -> None:
        require_number(self.gain, "MinGain(gain)", above=0)

    def kept(self, gains: Doubles) -> int:
        small = np.flatnonzero(gains < self.gain)
        return int(small[0]) if len(small) else len(gains)


@dataclass(frozen=True)
class Certified:
    """Search with growing effort until the cost is proven to be near the best possible one.

    The effort grows from attempt to attempt. After each one a rigorous certificate bounds the
    lowest cost so far against the best ``k`` source rows. The search ends when the bound is at most
    ``ratio``, when three larger efforts in a row gain nothing, or at a limit.
    ``Selection.certificate`` holds the best bound, ``Selection.certification`` says how far each
    attempt came. With constraints, the bound still refers to any ``k`` source rows.

    ``k`` must be given. The method must have an effort: "auto", which starts with "fast",
    or "lazybandit" or "localsearch", which start with their own effort.
    ``Limits(evaluations=…)`` includes certificates.
    ``Limits(seconds=…)`` ends the attempts, but the first one is certified in any case. An
    interruption waits for a certificate that is being computed.

    Parameters
    ----------
    ratio
        The largest cost, as a multiple of the cost of the best ``k`` source rows, >= 1.
    confidence
        The probability that the final statement is true, between 0 and 1. It is 1 whatever is
        passed here if the certificate is exact.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> selection = pb.select(rows, k=2, until=pb.Certified(1.05))
    >>> print(selection.certificate)
    For certain, the cost is at most 1.0000 times that of the best 2 source rows
    """

    ratio: float
    confidence: float = 0.95

    def __post_init__(self) -> None:
        require_number(self.ratio, "Certified(ratio)", at_least=1)
        require_number(self.confidence, "Certified(confidence)", above=0, below=1)

    def require_count(self, k: Any) -> None:
        """Raise unless ``k`` is a number of prototypes.

        :meta private:
        """
        if k is None or isinstance(k, str):
            raise InvalidInput(
                f"k={k!r:.40} is given with until={self}, which compares k prototypes with the "
                f"best k source rows. Pass k as a number."
            )


@dataclass(frozen=True)
class Knee(Goal):
    """Choose ``MOST_TRIED`` prototypes, then keep those up to the knee of the cost curve."""


def as_goal(k: Any, until: Any) -> Goal | None:
    """Return what ends the search, or None if a number of prototypes does."""
    if until is not None and not isinstance(until, (Coverage, MinGain)):
        raise InvalidInput(
            f"until={until!r:.40} is not known. Pass Coverage(share, radius), MinGain(gain) or "
            f"Certified(ratio)."
        )
    if isinstance(k, str) and k == "auto":
        if until is not None:
            raise InvalidInput(
                f"until={until} is given with k='auto', but both end the search. Pass one of them."
            )
        return Knee()
    return until
