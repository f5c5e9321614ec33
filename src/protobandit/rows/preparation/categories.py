"""Encode categories as columns of 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns

_MOST_LEVELS = 4096


def levels_of(sample: Columns, *, name: str) -> dict[str, tuple[str, ...]]:
    """Return the categories of each column of texts in alphabetical order."""
    found = {}
    for column, values in sample.categories.items():
        texts = {value for value in values if value is not None}
        if len(texts) > _MOST_LEVELS:
            raise InvalidInput(
                f"{name} has {len(texts):,} different texts in {sample.label(column)} "
                f"({len(sample):,} rows checked), and each would become a column. At most "
                f"{_MOST_LEVELS:,} are allowed. Omit the column if it holds names or ids."
            )
        found[column] = tuple(sorted(texts))
    return found


def one_hot(texts: Sequence[str], levels: Sequence[str], *, has_other: bool) -> Doubles:
    """Return a 0/1 column per level, and one for all other texts if ``has_other``."""
    position = {text: at for at, text in enumerate(levels)}
    out = np.zeros((len(texts), len(levels) + has_other))
    other = len(levels) if has_other else -1
    found = (position.get(text, other) for text in texts)
    at = np.fromiter(found, dtype=np.int64, count=len(texts))
    known = np.flatnonzero(at >= 0)
    out[known, at[known]] = 1.0
    return out


def unseen(table: Columns, levels: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return by column the number of values whose category is not among the fitted levels."""
    known = {column: {None, *texts} for column, texts in levels.items()}
    counts = {
        column: sum(value not in texts for value in table.categories[column])
        for column, texts in known.items()
    }
    return {column: n for column, n in counts.items() if n}
