"""Edit distances between texts, by rapidfuzz."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.metrics.operands import Operand


def prepare_texts(block: Any, centre: Doubles | None, *, name: str) -> Operand:
    """Return texts as they are; refuse anything else."""
    for text in block:
        if not isinstance(text, str):
            raise InvalidInput(
                f"metric={name!r} compares texts, and one row is {text!r:.40} "
                f"({type(text).__name__}). Pass rows that are str, or another metric."
            )
    return Operand(list(block))


def fill_edits(sources: Operand, targets: Operand, out: Floats, *, is_normalized: bool) -> None:
    """Write the number of edits between texts, or its share of the longer one's length."""
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
            "metric='levenshtein' needs rapidfuzz. Install it by pip install 'protobandit[text]', "
            "or pass a function of your own."
        ) from None
    return process, Levenshtein


def _properties(name: str, *, bound: float | None) -> dict[str, Any]:
    return {
        "prepare": partial(prepare_texts, name=name),
        "fill": partial(fill_edits, is_normalized=bound is not None),
        "bound": bound,
        "kinds": frozenset({"objects"}),
        "is_expensive": True,
        "is_by_pairs": True,
    }


# By name, the properties of a `Metric`.
OF_TEXTS: dict[str, dict[str, Any]] = {
    "levenshtein": _properties("levenshtein", bound=None),
    "levenshtein-normalized": _properties("levenshtein-normalized", bound=1.0),
}
