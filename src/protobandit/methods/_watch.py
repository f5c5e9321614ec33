"""A look at the limits before each step of a search that is not made of picks."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from protobandit._limits import Limits
from protobandit._oracle import Oracle


@dataclass
class Watch:
    """Tells whether a search may go on; remembers the limit that has ended it, as words."""

    oracle: Oracle
    limits: Limits
    started: float = field(default_factory=perf_counter)
    stopped: str | None = None

    def allows(self, evaluations: int = 0) -> bool:
        """Tell whether so many more evaluations are within the limits, and so is the time."""
        spent = self.oracle.evaluations.total() + evaluations
        self.stopped = self.limits.reached(spent, perf_counter() - self.started)
        return self.stopped is None
