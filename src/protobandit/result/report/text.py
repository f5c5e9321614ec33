"""Values from data as text that a page can hold, whatever they contain.

Rules
-----
1. What comes from data is cleaned here, once: no lone surrogates, no control characters, no marks
   that turn the direction of the text around them. They are shown, not dropped.
2. JSON is written so that it can stand inside a script element: no "<", no "&", no line separator.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_OTHER = re.compile("[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_DIGITS = 6
_ALL_DIGITS = 15  # that a double holds, whatever they are
_EXACT = 2**53  # whole numbers up to here are exact in a double


def clean(value: Any) -> str:
    """Return a value as text without what a page cannot hold or would obey."""
    text = value if isinstance(value, str) else str(value)
    text = _SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _CONTROL.sub(lambda found: _picture(found.group()), text)
    return _OTHER.sub(lambda found: f"[U+{ord(found.group()):04X}]", text)


def shortened(value: Any, most: int) -> str:
    """Return a value as clean text of at most about ``most`` characters."""
    text = value if isinstance(value, str) else str(value)
    return clean(text) if len(text) <= most else clean(text[:most].rstrip()) + "…"


def is_missing(value: Any) -> bool:
    """Recognise None, NaN, which differs from itself, and pandas' NA, which will not say."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # several values
        return False


def plain(value: Any) -> Any:
    """Return a whole number as an int: a column of them that has a gap is read as floats."""
    if not isinstance(value, (float, np.floating)):
        return value
    wide = float(value)
    return int(wide) if abs(wide) < _EXACT and wide.is_integer() else value


def cell(value: Any, most: int) -> str | float | int | bool | None:
    """Return a record's value: a number, a short text, or None where it is missing."""
    if isinstance(value, np.floating):
        value = float(str(value))  # the few digits that a narrow float has
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _EXACT else str(value)
    if isinstance(value, float):
        return number(value, digits=_ALL_DIGITS)
    return None if is_missing(value) else shortened(value, most)


def number(value: Any, *, digits: int = _DIGITS) -> float | int | None:
    """Return a number to so many digits, or None where it is not finite."""
    value = float(value)
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def numbers(values: Any) -> list[float | int | None]:
    """Return numbers to six digits each."""
    return [number(value) for value in values]


def rounded_up(ratio: float) -> str:
    """Return a bound as certificates state it: to four places, and never less but by rounding."""
    return f"{math.ceil(ratio * 1e4 - 0.01) / 1e4:.4f}"


def as_json(value: Any) -> str:
    """Return compact JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def _picture(control: str) -> str:
    return "\u2421" if control == "\x7f" else chr(0x2400 + ord(control))
