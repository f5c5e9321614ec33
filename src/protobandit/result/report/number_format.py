"""Counts, shares and durations as short text."""

from __future__ import annotations

import math

_UNITS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_TIME_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"))
_ABOUT_EQUAL = 0.005  # relative difference


def format_count(n: float) -> str:
    """Return a count; from one million on with three digits and a unit."""
    if n < 1e6:
        return f"{n:.3g}" if n < 10 and n != int(n) else f"{n:,.0f}"
    short = float(f"{n:.3g}")  # round first: 999.6 million is shown as 1 billion
    size, unit = next((size, unit) for size, unit in _UNITS if short >= size)
    return f"{_three_digits(short / size)} {unit}"


def format_ratio(part: int, whole: int) -> str:
    """Return the ratio of two counts as a phrase that the name of the whole completes."""
    if part == 0:
        return "none of"
    if part == whole:
        return "as many as"
    if abs(part - whole) <= _ABOUT_EQUAL * whole:
        return "about as many as"
    if part > whole:
        return f"{format_count(part / whole)} times"
    if 2 * part > whole:
        return f"{100 * part / whole:.0f}\u00a0% of"
    return f"1/{format_count(whole / part)} of"


def format_percent(share: float) -> str:
    """Return a share of 1 as a percentage."""
    return f"{100 * share:.1f}\u00a0%"


def format_duration(seconds: float) -> str:
    """Return a duration in the largest unit of which it has at least 2."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    for size, unit in _TIME_UNITS:
        if seconds >= 2 * size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{seconds:.3g} s"


def shown_error(error: float) -> str:
    """Return the standard error of a cost as it follows the cost; nothing if the cost is exact."""
    if math.isnan(error):
        return " with unknown error"
    return f" ± {error:.2g}" if error else ""


def format_rows(n: int, noun: str = "row") -> str:
    """Return a number with its noun, for example "1 row" or "1,200 rows"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _three_digits(n: float) -> str:
    """Return a number with three digits or more, without an exponent."""
    return f"{n:,.0f}" if n >= 999.5 else f"{n:.3g}"
