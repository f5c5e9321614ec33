"""Categories as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.missing_values import called

_MOST_LEVELS = 4096


def levels_of(sample: Columns, *, name: str) -> dict[str, tuple[str, ...]]:
    """Return the categories of each column of texts, by the alphabet."""
    found = {}
    for column, values in sample.categories.items():
        texts = {value for value in values if value is not None}
        if len(texts) > _MOST_LEVELS:
            raise InvalidInput(
                f"{name} has {len(texts):,} different texts in {called(column, sample)} "
                f"({len(sample):,} rows looked at), and each would be a column. At most "
                f"{_MOST_LEVELS:,} are allowed: leave the column out if it holds names or ids."
            )
        found[column] = tuple(sorted(texts))
    return found


def one_hot(texts: Sequence[str], levels: Sequence[str], *, has_other: bool) -> Doubles:
    """Return a 0/1 column a level, and one for every other text if ``has_other``."""
    place = {text: at for at, text in enumerate(levels)}
    out = np.zeros((len(texts), len(levels) + has_other))
    other = len(levels) if has_other else -1
    at = np.fromiter((place.get(text, other) for text in texts), dtype=np.int64, count=len(texts))
    known = np.flatnonzero(at >= 0)
    out[known, at[known]] = 1.0
    return out


def unseen(table: Columns, levels: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return by column how many values are categories that were not fitted on."""
    known = {column: {None, *texts} for column, texts in levels.items()}
    counts = {
        column: sum(value not in texts for value in table.categories[column])
        for column, texts in known.items()
    }
    return {column: n for column, n in counts.items() if n}
