"""What a driver asks of an objective, and a strategy of the rows it pulls."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Moments, Pull


class Ledger(Protocol):
    """Answers the pulls of one round."""

    def pull(self, pull: Pull) -> Moments:
        """Return the moments of the pulled arms since the current order began."""
        ...


class Objective(Protocol):
    """What a source row is worth, given the prototypes so far; a value, advanced by `commit`."""

    @property
    def population(self) -> int:
        """Return at how many rows the worth of an arm is exact."""
        ...

    @property
    def is_bounding(self) -> bool:
        """Tell whether gains seen now bound the gains of later rounds from above."""
        ...

    def open(self, arms: Ids, random: np.random.Generator) -> Ledger:
        """Open a round on these arms."""
        ...

    def commit(self, arms: Ids) -> Objective:
        """Return the objective with these arms among the prototypes."""
        ...

    def gains(self, means: Doubles) -> Doubles:
        """Return mean rewards in the unit of the dissimilarity."""
        ...


class Tally:
    """How far each arm of a round has come, and the sums of its rewards."""

    def __init__(self, arms: Ids) -> None:
        self.arms = np.sort(arms)
        self.restart()

    def restart(self) -> None:
        """Forget every row seen."""
        self.position = np.zeros(len(self.arms), dtype=np.int64)
        self.total = np.zeros(len(self.arms))
        self.squares = np.zeros(len(self.arms))

    def slots(self, arms: Ids) -> Ids:
        """Return where these arms stand in the tally."""
        return np.searchsorted(self.arms, arms)

    def moments(self, slots: Ids) -> Moments:
        """Return the moments of the arms at these slots."""
        count = self.position[slots]
        n = np.maximum(count, 1)
        mean = self.total[slots] / n
        return Moments(count, mean, np.maximum(self.squares[slots] / n - mean**2, 0))

    def by_position(self, slots: Ids) -> list[tuple[int, Ids]]:
        """Return the slots grouped by how far their arms have come."""
        where = self.position[slots]
        return [(int(start), slots[where == start]) for start in np.unique(where)]
