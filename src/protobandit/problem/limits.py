"""How much a run may take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.memory import available_memory


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on a run; whoever reaches one stops cleanly, with the best answer so far.

    Parameters
    ----------
    evaluations
        Dissimilarities to compute while building and swapping. A method that goes pick by pick
        stops after the pick that goes beyond it.
    seconds
        Wall-clock time for building and swapping, checked between picks and between rungs; with a
        checkpoint, that of earlier runs counts too.
    memory
        Bytes for kept dissimilarities; half the free memory unless given.
    """

    evaluations: int | None = None
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name in ("evaluations", "seconds", "memory"):
            value = getattr(self, name)
            _require_positive(value, f"Limits({name})")
            if name != "seconds" and value is not None:
                object.__setattr__(self, name, _as_count(value, f"Limits({name})"))

    def room(self) -> int:
        """Return the bytes that may be taken."""
        return available_memory() // 2 if self.memory is None else self.memory


def as_limits(limits: Any) -> Limits:
    """Return the limits that were passed, or none."""
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise InvalidInput(
            f"limits={limits!r:.40} is not known. Pass Limits(evaluations=…, seconds=…, memory=…)."
        )
    return limits


def _require_positive(value: Any, name: str) -> None:
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if value is not None and not (is_number and not isinstance(value, bool) and value > 0):
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a number > 0, or None.")


def _as_count(value: Any, name: str) -> int:
    """Return a whole number, such as 1e9, as an int."""
    if not math.isfinite(value) or value != int(value):
        raise InvalidInput(f"{name}={value!r} is not allowed. Pass a whole number > 0, or None.")
    return int(value)
