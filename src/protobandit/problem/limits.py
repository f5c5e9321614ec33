"""Limits on the evaluations, the time and the memory of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protobandit.foundation.checks import is_number, optional_count
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.memory import available_memory


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on a run. A run that reaches one stops and returns the best result so far.

    Parameters
    ----------
    evaluations
        Dissimilarities to compute while building and swapping. A method that chooses one
        prototype after another stops after the pick that exceeds the limit.
    seconds
        Wall-clock time for building and swapping, checked between picks and between rungs. With a
        checkpoint, the time of earlier runs counts too.
    memory
        Bytes for stored dissimilarities. The default is half of the available memory.
    """

    evaluations: int | None = None
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name in ("evaluations", "memory"):
            count = optional_count(getattr(self, name), f"Limits({name})")
            object.__setattr__(self, name, count)
        seconds = self.seconds
        if seconds is not None and not (is_number(seconds) and seconds > 0):
            raise InvalidInput(
                f"Limits(seconds)={seconds!r:.60} is not allowed. Pass a number > 0, or None."
            )

    def room(self) -> int:
        """Return how many bytes may be used."""
        return available_memory() // 2 if self.memory is None else self.memory


def as_limits(limits: Any) -> Limits:
    """Return the limits that the user passed; None means no limits."""
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise InvalidInput(
            f"limits={limits!r:.40} is not known. Pass Limits(evaluations=…, seconds=…, memory=…)."
        )
    return limits
