"""Values from data as text and JSON that a page can hold safely.

Rules
-----
1. Text from data is cleaned here, once. Lone surrogates, control characters and marks that change
   the direction of text are replaced by visible substitutes, not dropped.
2. JSON is written so that it can stand inside a script element: it contains no "<", no "&" and no
   line separator.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from protobandit.foundation.checks import is_missing

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_OTHER = re.compile("[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_DIGITS = 6
_ALL_DIGITS = 15  # every decimal number of 15 digits survives a double
_EXACT = 2**53  # integers up to here are exact in a double


def clean(value: Any) -> str:
    """Return a value as text without characters that a page cannot hold or would interpret."""
    text = value if isinstance(value, str) else str(value)
    text = _SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _CONTROL.sub(lambda found: _control_picture(found.group()), text)
    return _OTHER.sub(lambda found: f"[U+{ord(found.group()):04X}]", text)


def shortened(value: Any, most: int) -> str:
    """Return a value as clean text, cut after ``most`` characters."""
    text = value if isinstance(value, str) else str(value)
    return clean(text) if len(text) <= most else clean(text[:most].rstrip()) + "…"


def integral_as_int(value: Any) -> Any:
    """Return a float without a fraction as an int, anything else unchanged.

    Readers of tables turn a column of integers into floats if a value is missing.
    """
    if not isinstance(value, (float, np.floating)):
        return value
    wide = float(value)
    return int(wide) if abs(wide) < _EXACT and wide.is_integer() else value


def cell_value(value: Any, most: int) -> str | float | int | bool | None:
    """Return a record's value as a number, text of ``most`` characters, or None if missing."""
    if isinstance(value, np.floating):
        value = float(str(value))  # keeps 0.1 of single precision as 0.1
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _EXACT else str(value)
    if isinstance(value, float):
        return rounded(value, digits=_ALL_DIGITS)
    return None if is_missing(value) else shortened(value, most)


def rounded(value: Any, *, digits: int = _DIGITS) -> float | int | None:
    """Return a number with ``digits`` significant digits, or None if it is not finite."""
    value = float(value)
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def rounded_list(values: Any) -> list[float | int | None] | None:
    """Return numbers with six significant digits each, or None if there are none."""
    return None if values is None else [rounded(value) for value in values]


def script_json(value: Any) -> str:
    """Return compact JSON that can stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def _control_picture(control: str) -> str:
    """Return the visible symbol of a control character (Unicode block Control Pictures)."""
    return "\u2421" if control == "\x7f" else chr(0x2400 + ord(control))
