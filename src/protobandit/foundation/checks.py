"""Checks of values that users pass, each written once.

A ``require_`` function raises `InvalidInput` with a message that names the value, the allowed
values and what to do. An ``is_`` function returns a bool. Booleans do not count as numbers here,
although they do in Python.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput

_ROUNDING = 4e-15  # a difference such as 1 - 0.9 is 0.1, not less
_LARGEST_INTEGER = 2**63 - 1


def is_integer(value: Any) -> bool:
    """Return whether ``value`` is a Python or NumPy integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a Python or NumPy real number, including NaN and infinity."""
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


def is_finite(value: Any) -> bool:
    """Return whether ``value`` is a real number that is finite as a float."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an int such as 10**400
        return False


def require_integer(value: Any, name: str, *, at_least: int = 1, allows_none: bool = False) -> None:
    """Raise unless ``value`` is an integer of at least ``at_least``."""
    if allows_none and value is None:
        return
    if not is_integer(value) or not at_least <= value <= _LARGEST_INTEGER:
        none = ", or None" if allows_none else ""
        limit = " and below 2**63" if is_integer(value) and value >= at_least else ""
        raise InvalidInput(
            f"{name}={value!r:.60} is not allowed. Pass an integer >= {at_least}{limit}{none}."
        )


def require_number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    allows_none: bool = False,
) -> None:
    """Raise unless ``value`` is a finite number within the bounds."""
    if allows_none and value is None:
        return
    bounds = [
        (f"{sign} {bound:g}", compare, bound)
        for sign, compare, bound in (
            (">", operator.gt, above),
            (">=", operator.ge, at_least),
            ("<", operator.lt, below),
            ("<=", operator.le, at_most),
        )
        if bound is not None
    ]
    if not is_finite(value) or not all(compare(value, bound) for _, compare, bound in bounds):
        shown = " and ".join(text for text, _, _ in bounds)
        allowed = f"a finite number {shown}".rstrip()
        none = ", or None" if allows_none else ""
        raise InvalidInput(f"{name}={value!r:.60} is not allowed. Pass {allowed}{none}.")


def optional_count(value: Any, name: str) -> int | None:
    """Return None or a positive whole number as an int, also if it is a float such as 1e9."""
    if value is None:
        return None
    if not is_finite(value) or value <= 0 or value != int(value):
        raise InvalidInput(
            f"{name}={value!r:.60} is not allowed. Pass a whole number > 0, or None."
        )
    return int(value)


def require_choice(value: Any, name: str, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of the ``choices``, all of them strings."""
    allowed = list(choices)
    if not (isinstance(value, str) and value in allowed):
        raise InvalidInput(f"{name}={value!r:.60} is not known. Use one of {allowed}.")


def are_within(numbers: Any, low: int, stop: int) -> bool:
    """Return whether an array holds integers from ``low`` to ``stop - 1`` only."""
    if numbers.dtype.kind not in "iu":
        return False
    return numbers.size == 0 or bool(numbers.min() >= low and numbers.max() < stop)


def require_restorable(is_valid: Any, what: str) -> None:
    """Raise unless arrays of a checkpoint are valid: compiled loops index memory with them."""
    if not is_valid:
        raise InvalidInput(
            f"checkpoint holds {what} that do not belong to this search: it was modified. Delete "
            f"it to start again."
        )


def weights_or_ones(weights: Doubles | None, n: int) -> Doubles:
    """Return one weight per row: ones if ``weights`` is None, since all rows then count equally."""
    return np.ones(n) if weights is None else weights


def significant(value: float, *, is_up: bool, digits: int = 6) -> str:
    """Return a number > 0 with so many significant digits, rounded up or down.

    A statement must not claim more than was proven because its numbers are rounded.
    """
    context = Context(prec=digits, rounding=ROUND_CEILING if is_up else ROUND_FLOOR)
    exact = float(value) * (1 - _ROUNDING if is_up else 1 + _ROUNDING)
    return f"{float(context.create_decimal(Decimal(exact))):.{digits}g}"


def rounded_up(ratio: float) -> str:
    """Return a ratio with four decimals, rounded up; an excess below 1e-6 is rounding error."""
    return f"{math.ceil(ratio * 1e4 - 0.01) / 1e4:.4f}" if math.isfinite(ratio) else "inf"
