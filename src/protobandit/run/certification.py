"""How far the attempts of a call with `Certified` came, as records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from protobandit.certificate.certificate import Certificate
from protobandit.foundation.checks import rounded_up
from protobandit.problem.goals import Certified
from protobandit.search.control import StopReason


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One search and its certificate.

    Attributes
    ----------
    effort
        The effort of the search.
    cost
        The cost of what it found: exact if there is a certificate, unless no evaluations were
        left to compute it.
    cost_ratio
        The bound on the lowest cost so far, as a multiple of the best cost; infinite if nothing is
        proven.
    evaluations
        The number of dissimilarities that search and certificate computed.
    """

    effort: str | float
    cost: float
    cost_ratio: float
    evaluations: int


class CertificationEnd(Enum):
    """What ended the attempts."""

    REACHED = "reached"  # the bound is at most the ratio that was asked for
    NO_GAIN = "no gain"  # larger efforts gained nothing
    STOPPED = "stopped"  # a limit, an interruption or the callback ended them


@dataclass(frozen=True, kw_only=True)
class Certification:
    """The attempts of a call with `Certified`, and what ended them.

    ``reason`` is why they were stopped, if they were. ``certificate`` is None if none was computed.
    """

    goal: Certified
    attempts: tuple[Attempt, ...]
    end: CertificationEnd
    certificate: Certificate | None
    reason: StopReason | None = None

    @property
    def is_reached(self) -> bool:
        """Return whether the bound is at most the ratio that was asked for."""
        return self.end is CertificationEnd.REACHED

    def __str__(self) -> str:
        n = len(self.attempts)
        attempts = f"{n} attempt{'' if n == 1 else 's'} up to effort {self.attempts[-1].effort}"
        if self.certificate is None:
            return f"Nothing is certified: {self.reason} ended {attempts}."
        ratio = self.certificate.cost_ratio
        found = f"Certified within {rounded_up(ratio)} of the best cost after {attempts}"
        if self.is_reached:
            return f"{found}."
        found = found if math.isfinite(ratio) else f"Nothing is proven after {attempts}"
        why = "larger efforts gained nothing" if self.reason is None else f"ended by {self.reason}"
        return f"{found}; {self.goal.ratio:g} was not reached: {why}."
