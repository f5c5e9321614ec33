"""Coverage judged on sampled target rows; no step touches the whole target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.search.objectives.objective import Ledger
from protobandit.search.objectives.sampled_pulls import DrawsLedger, OrderLedger
from protobandit.search.objectives.sampled_target import SampledTarget


@dataclass(frozen=True, eq=False)
class SampledCoverage:
    """The drop of d(target, nearest prototype), as rewards in [0, 1]: in units of the scale."""

    sample: SampledTarget

    @classmethod
    def of(cls, oracle: Oracle, *, scale: float) -> SampledCoverage:
        """Return the coverage of the oracle's problem by no prototype."""
        return cls(SampledTarget.of(oracle, scale=scale))

    @property
    def population(self) -> int:
        return self.sample.population

    @property
    def is_bounding(self) -> bool:
        return False

    def open(self, arms: Ids, random: np.random.Generator) -> Ledger:
        ledger = OrderLedger if self.sample.lottery is None else DrawsLedger
        return ledger(self.sample, arms, random)

    def commit(self, arms: Ids) -> SampledCoverage:
        return SampledCoverage(self.sample.with_prototypes(arms))

    def gains(self, means: Doubles) -> Doubles:
        return means * self.sample.scale

    def notes(self) -> dict[str, Any]:
        """Return what is known of the rows met, for another run to go on with."""
        return {"clipped": np.array([sum(self.sample.clipped)]), **self.sample.seen.notes()}

    def recall(self, notes: Mapping[str, Any]) -> None:
        """Know the rows that an earlier run has met."""
        self.sample.clipped[:] = notes["clipped"].tolist()
        self.sample.seen.recall(notes)
