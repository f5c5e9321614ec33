"""Take arms whose gain reaches a threshold, then lower it (Badanidiyuru, Vondrák 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import require_integer, require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    top,
    upper_bounds,
)
from protobandit.search.arms.exhaustive import Exhaustive


@dataclass(frozen=True)
class Level(Bounds):
    """The current threshold: ``largest * (1 - epsilon)**power``.

    It ends at ``least``, below which no arm is pulled again.
    """

    largest: float
    least: float
    power: int


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Take the first arm whose gain reaches a threshold that starts at the largest gain.

    Arms are pulled in their order. When no arm is left that could reach the threshold, it is
    multiplied by ``1 - epsilon``. A gain never grows when prototypes are added. So an arm whose
    gain was below a threshold is not pulled again before the threshold has fallen to that gain,
    and never twice in a round. Below epsilon / n times the largest gain, arms are chosen by their
    last gain.

    Guarantee: the gain of every choice is at least ``1 - epsilon`` times the best gain of the
    round, as long as the threshold is above its end. So k rounds reach (1 - 1/e - epsilon) of the
    best f.
    Cost: at most about ``n * population`` pulls for each of the ln(n / epsilon) / epsilon
    thresholds; much fewer if most arms are below the threshold early.
    Reference: Badanidiyuru, Vondrák (2014), Fast algorithms for maximizing submodular functions,
    Algorithm 1.

    Parameters
    ----------
    epsilon
        The share by which the threshold is lowered.
    batch
        How many arms to pull before the first check. The choice does not depend on it.
    """

    epsilon: float
    batch: int = 16

    def __post_init__(self) -> None:
        require_number(self.epsilon, "epsilon", above=0, below=1)
        require_integer(self.batch, "batch")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the first arm at or above the threshold, and the threshold as bounds."""
        if terms.picks != 1:
            raise InvalidInput(
                f"r={terms.picks} is not supported: one arm is chosen per round. Pass r=1."
            )
        if not isinstance(bounds, Level):
            return (yield from self._begin(arms, terms))
        upper, power, batch = upper_bounds(arms, bounds), bounds.power, self.batch
        is_pulled = np.zeros(len(arms), dtype=bool)
        while True:
            highest = float(upper[arms].max())
            power = self._lowered(bounds, power, highest)
            level = self._level(bounds, power)
            if highest <= 0 or min(level, highest) < bounds.least:
                return _by_bound(arms, replace(bounds, upper=upper))
            queue = np.flatnonzero(upper[arms] >= level)
            n_to_pull = int(np.append(is_pulled[queue], True).argmax())
            if n_to_pull == 0:
                left = replace(bounds, upper=upper, power=power)
                first = arms[queue[:1]]
                return Choice(arms=first, means=upper[first], bounds=left)
            to_pull = queue[: min(n_to_pull, batch)]
            seen = yield Pull(arms[to_pull], terms.population)
            upper[arms[to_pull]] = np.minimum(upper[arms[to_pull]], seen.mean)
            is_pulled[to_pull] = True
            batch *= 2

    def _begin(self, arms: Ids, terms: Terms) -> Identification:
        """Pull every arm and choose the best, which is the first to reach the first threshold."""
        choice = yield from Exhaustive().identify(arms, terms)
        largest = float(choice.means[0])
        least = self.epsilon / len(arms) * largest
        return replace(choice, bounds=Level(upper_bounds(arms, choice.bounds), largest, least, 0))

    def _level(self, bounds: Level, power: int) -> float:
        return bounds.largest * (1 - self.epsilon) ** power

    def _lowered(self, bounds: Level, power: int, highest: float) -> int:
        """Return the first power, from this one on, whose level is not above ``highest``."""
        if highest <= 0 or highest < bounds.least:
            return power
        guess = math.log(highest / bounds.largest) / math.log1p(-self.epsilon)
        power = max(power, math.floor(guess) - 1)
        while self._level(bounds, power) > highest:
            power += 1
        return power


def _by_bound(arms: Ids, bounds: Level) -> Choice:
    """Choose the arm with the largest last gain; a bound of 0 is exact."""
    chosen, means = top(arms, bounds.upper[arms], 1)
    return Choice(arms=chosen, means=np.where(means > 0, np.nan, means), bounds=bounds)
