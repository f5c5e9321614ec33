"""Arrays of Python objects as numbers or as texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.checks import is_missing
from protobandit.rows.columns import text_of

Values = np.ndarray[Any, Any]


def as_numbers(array: Values) -> Values:
    """Return objects that are all numbers as floats (None as NaN); else return the array as is."""
    if array.dtype.kind != "O" or any(isinstance(value, (str, bytes)) for value in array.flat):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array


def numbers_or_texts(items: Values, *, is_category: bool = False) -> Values | str:
    """Return objects as floats if all are numbers, else as texts.

    Returns the name of a type if an object is neither a number nor a text.
    """
    if not is_category:
        numbers = as_numbers(items)
        if numbers.dtype != object:
            return numbers
    texts = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        if not (is_missing(item) or isinstance(item, (str, bool, int, float, np.generic))):
            return type(item).__name__
        texts[i] = text_of(item)
    return texts
