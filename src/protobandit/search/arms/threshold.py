"""Take whatever is worth a threshold, then lower it (Badanidiyuru, Vondrák 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds, Choice, Identification, Pull, Terms, top
from protobandit.search.arms.exhaustive import uppers


@dataclass(frozen=True)
class Level(Bounds):
    """How far the threshold has come down: ``largest * (1 - epsilon)**power``.

    It ends at ``least``, below which no arm is looked at again.
    """

    largest: float
    least: float
    power: int


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Take the first arm whose gain reaches a threshold that starts at the largest gain.

    Arms are looked at in their order; when none is left that could reach the threshold, it is
    multiplied by ``1 - epsilon``. A gain only shrinks while prototypes are added, so an arm that
    once fell short of a threshold is not looked at before the threshold has fallen to its gain, nor
    twice in a round. Below epsilon / n of the largest gain, arms go by what they were last worth.

    Guarantee: every choice is worth at least ``1 - epsilon`` of the best at hand, as long as the
    threshold is above its end; so k rounds reach (1 - 1/e - epsilon) of the best f.
    Cost: about ``n * population`` pulls for each of the ln(n / epsilon) / epsilon thresholds at
    most; far fewer where most arms fall short early.
    Reference: Badanidiyuru, Vondrák (2014), Fast algorithms for maximizing submodular functions,
    Algorithm 1.

    Parameters
    ----------
    epsilon
        By what share the threshold is lowered.
    batch
        How many arms to look at before the first check; what is chosen does not depend on it.
    """

    epsilon: float
    batch: int = 16

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < 1:
            raise InvalidInput(f"epsilon={self.epsilon} is not a share. Pass 0 < epsilon < 1.")
        if self.batch < 1:
            raise InvalidInput(f"batch={self.batch} arms cannot be pulled. Pass batch >= 1.")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the first arm at or above the threshold, and where the threshold stands."""
        if terms.picks != 1:
            raise InvalidInput(
                f"r={terms.picks}: a threshold is met by one arm at a time. Use r=1."
            )
        if not isinstance(bounds, Level):
            return (yield from self._begin(arms, terms))
        upper, power, batch = uppers(arms, bounds), bounds.power, self.batch
        is_seen = np.zeros(len(arms), dtype=bool)
        while True:
            highest = float(upper[arms].max())
            power = self._lowered(bounds, power, highest)
            level = self._level(bounds, power)
            if highest <= 0 or min(level, highest) < bounds.least:
                return _by_bound(arms, replace(bounds, upper=upper))
            queue = np.flatnonzero(upper[arms] >= level)
            n_stale = int(np.append(is_seen[queue], True).argmax())
            if n_stale == 0:
                left = replace(bounds, upper=upper, power=power)
                first = arms[queue[:1]]
                return Choice(arms=first, means=upper[first], bounds=left)
            stale = queue[: min(n_stale, batch)]
            seen = yield Pull(arms[stale], terms.population)
            upper[arms[stale]] = np.minimum(upper[arms[stale]], seen.mean)
            is_seen[stale] = True
            batch *= 2

    def _begin(self, arms: Ids, terms: Terms) -> Identification:
        """Look at every arm, and take the best: the first to reach the first threshold."""
        seen = yield Pull(arms, terms.population)
        chosen, means = top(arms, seen.mean, 1)
        upper = uppers(arms, None)
        upper[arms] = seen.mean
        largest = float(means[0])
        level = Level(upper, largest, self.epsilon / len(arms) * largest, 0)
        return Choice(arms=chosen, means=means, bounds=level)

    def _level(self, bounds: Level, power: int) -> float:
        return bounds.largest * (1 - self.epsilon) ** power

    def _lowered(self, bounds: Level, power: int, highest: float) -> int:
        """Return the first power from this one on whose level is not above ``highest``."""
        if highest <= 0 or highest < bounds.least:
            return power
        guess = math.log(highest / bounds.largest) / math.log1p(-self.epsilon)
        power = max(power, math.floor(guess) - 1)
        while self._level(bounds, power) > highest:
            power += 1
        return power


def _by_bound(arms: Ids, bounds: Level) -> Choice:
    """Choose the arm that was last worth most; a bound of 0 is exact."""
    chosen, means = top(arms, bounds.upper[arms], 1)
    return Choice(arms=chosen, means=np.where(means > 0, np.nan, means), bounds=bounds)
