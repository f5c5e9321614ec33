"""Checks of values that users pass, each written once.

A ``require_`` function raises `InvalidInput` that says what was passed, what is allowed and what to
do; an ``is_`` function returns a bool. Booleans are never numbers here, although Python says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput


def is_integer(value: Any) -> bool:
    """Return whether ``value`` is an integer, of Python or of NumPy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number, of Python or of NumPy; NaN and infinity are."""
    is_real = isinstance(value, (int, float, np.integer, np.floating))
    return is_real and not isinstance(value, bool)


def is_missing(value: Any) -> bool:
    """Return whether ``value`` is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # the truth value of pandas' NA is undefined
        return True
    except ValueError:  # an array: several values
        return False


def require_integer(value: Any, name: str, *, at_least: int = 1, allows_none: bool = False) -> None:
    """Raise unless ``value`` is an integer of at least ``at_least``."""
    if allows_none and value is None:
        return
    if not is_integer(value) or value < at_least:
        none = ", or None" if allows_none else ""
        raise InvalidInput(
            f"{name}={value!r:.60} is not allowed. Pass an integer >= {at_least}{none}."
        )


def require_number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float = math.inf,
    allows_none: bool = False,
) -> None:
    """Raise unless ``value`` is a finite number within the bounds."""
    if allows_none and value is None:
        return
    is_allowed = (
        is_number(value)
        and math.isfinite(value)
        and (above is None or value > above)
        and (at_least is None or value >= at_least)
        and value < below
    )
    if not is_allowed:
        bounds = [
            *([] if above is None else [f"> {above:g}"]),
            *([] if at_least is None else [f">= {at_least:g}"]),
            *([] if below == math.inf else [f"< {below:g}"]),
        ]
        allowed = " ".join(["a finite number", " and ".join(bounds)]).strip()
        none = ", or None" if allows_none else ""
        raise InvalidInput(f"{name}={value!r:.60} is not allowed. Pass {allowed}{none}.")


def require_choice(value: Any, name: str, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of the ``choices``, all of them strings."""
    allowed = list(choices)
    if not (isinstance(value, str) and value in allowed):
        raise InvalidInput(f"{name}={value!r:.60} is not known. Use one of {allowed}.")


def weights_or_ones(weights: Doubles | None, n: int) -> Doubles:
    """Return the weights of ``n`` rows: ones where there are none, since all rows count alike."""
    return np.ones(n) if weights is None else weights


def rounded_up(ratio: float) -> str:
    """Return a ratio to four places, rounded up; a millionth above a place is rounding."""
    return f"{math.ceil(ratio * 1e4 - 0.01) / 1e4:.4f}" if math.isfinite(ratio) else "inf"
