"""Edit distances between texts, computed by rapidfuzz."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.metrics.operands import Operand


def prepare_texts(block: Any, centre: Doubles | None, *, name: str) -> Operand:
    """Return the texts; raise if a row is not a str."""
    for text in block:
        if not isinstance(text, str):
            raise InvalidInput(
                f"metric={name!r} compares texts, and one row is {text!r:.40} "
                f"({type(text).__name__}). Pass rows of type str, or use another metric."
            )
    return Operand(list(block))


def fill_edits(sources: Operand, targets: Operand, out: Floats, *, is_normalized: bool) -> None:
    """Write the number of edits between texts, divided by the longer length if normalized."""
    process, levenshtein = _rapidfuzz()
    out[...] = process.cdist(
        sources.rows,
        targets.rows,
        scorer=levenshtein.normalized_distance if is_normalized else levenshtein.distance,
        dtype=np.float64 if is_normalized else np.int32,
    )


def _rapidfuzz() -> tuple[Any, Any]:
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise NotAvailable(
            "metric='levenshtein' requires rapidfuzz, which is not installed. Run "
            "pip install 'protobandit[text]', or pass your own function as metric."
        ) from None
    return process, Levenshtein
