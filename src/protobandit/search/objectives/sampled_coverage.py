"""Coverage judged on sampled target rows; no step touches the whole target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.search.objectives.objective import Clipping, Objective, Round
from protobandit.search.objectives.sampled_pulls import PermutationRound, WeightedRound
from protobandit.search.objectives.sampled_target import SampledTarget


@dataclass(frozen=True, eq=False)
class SampledCoverage(Objective):
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
    def clipping(self) -> Clipping:
        return Clipping(scale=self.sample.scale, n_clipped=sum(self.sample.clipped))

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        kind = PermutationRound if self.sample.lottery is None else WeightedRound
        return kind(self.sample, arms, random)

    def commit(self, arms: Ids) -> SampledCoverage:
        return SampledCoverage(self.sample.with_prototypes(arms))

    def gains(self, means: Doubles) -> Doubles:
        return means * self.sample.scale

    def state(self) -> dict[str, Any]:
        return {"clipped": np.array([sum(self.sample.clipped)]), **self.sample.seen.state()}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        self.sample.clipped[:] = arrays["clipped"].tolist()
        self.sample.seen.restore(arrays)

    def notes(self) -> dict[str, Any]:
        """Return `state`."""
        return self.state()

    def recall(self, notes: Mapping[str, Any]) -> None:
        """Call `restore`."""
        self.restore(notes)
