"""The effort of a search: a name or a number."""

from __future__ import annotations

from typing import Any

from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput

EFFORTS = {"fast": 1.0, "balanced": 2.5, "thorough": 6.0}
_MOST_EFFORT = 1e6


def as_level(effort: Any) -> float:
    """Return an effort as a number; raise unless it is valid."""
    if isinstance(effort, str) and effort in EFFORTS:
        return EFFORTS[effort]
    if not isinstance(effort, str) and is_number(effort) and 0 < effort <= _MOST_EFFORT:
        return float(effort)
    raise InvalidInput(
        f"effort={effort!r:.60} is not allowed. Use one of {list(EFFORTS)}, or a number > 0, at "
        f"most {_MOST_EFFORT:g}."
    )


def larger_effort(effort: str | float) -> str | float:
    """Return the next larger effort: the next name, or twice the number."""
    level = as_level(effort)
    larger = [name for name, each in EFFORTS.items() if each > level]
    return larger[0] if larger else min(2 * level, _MOST_EFFORT)
