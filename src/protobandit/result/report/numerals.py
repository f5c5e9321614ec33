"""Counts, shares and times that read at a glance."""

from __future__ import annotations

_SIZES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_TIMES = ((86_400, "days"), (3_600, "h"), (60, "min"))
_NEAR = 0.005  # of each other are counts about alike


def count(n: float) -> str:
    """Return a count to three digits, from a million on in words."""
    if n < 1e6:
        return f"{n:.3g}" if n < 10 and n != int(n) else f"{n:,.0f}"
    short = float(f"{n:.3g}")  # first, since 999.6 million are a billion
    size, unit = next((size, unit) for size, unit in _SIZES if short >= size)
    return f"{_short(short / size)} {unit}"


def ratio(part: int, whole: int) -> str:
    """Return how much of a whole a part is, as words that the whole follows."""
    if part == 0:
        return "none of"
    if part == whole:
        return "as many as"
    if abs(part - whole) <= _NEAR * whole:
        return "about as many as"
    if part > whole:
        return f"{count(part / whole)} times"
    if 2 * part > whole:
        return f"{100 * part / whole:.0f}\u00a0% of"
    return f"1/{count(whole / part)} of"


def percent(share: float) -> str:
    """Return a share of 1."""
    return f"{100 * share:.1f}\u00a0%"


def time(seconds: float) -> str:
    """Return a duration in the unit that keeps its number small, but above 2."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    for size, unit in _TIMES:
        if seconds >= 2 * size:
            return f"{_short(seconds / size)} {unit}"
    return f"{seconds:.3g} s"


def n_rows(n: int) -> str:
    """Return a number of rows."""
    return f"{n:,} row{'' if n == 1 else 's'}"


def _short(n: float) -> str:
    """Return a number to three digits, without an exponent."""
    return f"{n:,.0f}" if n >= 999.5 else f"{n:.3g}"
