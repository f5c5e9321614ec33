"""Gain per price of an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.objective import Objective


@dataclass(frozen=True, eq=False)
class Priced(Objective):
    """The exact gains of a coverage, divided by the price of each arm."""

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
        """Return the exact gain of each arm, divided by its price."""
        assert self.is_bounding, "before the first prototype only the order of gains is known"
        seen = self.coverage.pull(pull)
        return Moments(seen.count, seen.mean / self.prices[pull.arms], seen.spread)

    def commit(self, arms: Ids) -> Priced:
        return Priced(self.coverage.commit(arms), self.prices)
