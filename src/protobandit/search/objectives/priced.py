"""What an arm is worth for its money."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.objective import Objective


@dataclass(frozen=True, eq=False)
class Priced(Objective):
    """The gains of a coverage by some prototypes, divided by what each arm costs."""

    coverage: ExactCoverage
    prices: Doubles

    @property
    def population(self) -> int:
        return self.coverage.population

    @property
    def is_bounding(self) -> bool:
        return self.coverage.is_bounding

    @property
    def has_read_target(self) -> bool:
        return True

    @property
    def exact_coverage(self) -> ExactCoverage:
        return self.coverage

    def open(self, arms: Ids, random: np.random.Generator) -> Priced:
        return self

    def pull(self, pull: Pull) -> Moments:
        """Return the exact gain of each arm per unit of money."""
        assert self.is_bounding, "before the first prototype a gain is not known, only an order"
        seen = self.coverage.pull(pull)
        return Moments(seen.count, seen.mean / self.prices[pull.arms], seen.spread)

    def commit(self, arms: Ids) -> Priced:
        return Priced(self.coverage.commit(arms), self.prices)
