"""Encode columns as numbers: fill missing values, and categories as columns of 0 and 1.

Missing values raise if filling them was not requested; infinity always raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Where
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.rows.columns import Columns
from protobandit.rows.messages import MISSING_ADVICE
from protobandit.rows.rows import row_number

_BLOCK = 4096


def require_no_infinity(table: Columns, *, name: str) -> None:
    """Raise if a number is infinite; the message gives the first one."""
    if table.numbers.dtype.kind == "f":
        for cut in cuts(len(table), _BLOCK):
            _require_no_infinity(table.numbers[cut], table, name, None)


def _require_no_infinity(numbers: Any, table: Columns, name: str, where: Where | None) -> None:
    bad = np.argwhere(np.isinf(numbers))
    if len(bad):
        at, column = (int(i) for i in bad[0])
        place = "" if where is None else f" at row {row_number(where, at):,}"
        raise InvalidInput(
            f"{name} contains {numbers[at, column]}{place} in {table.label(table.names[column])}. "
            f"Infinity is not a missing value and is never imputed. Drop such rows, or replace the "
            f"values."
        )


# -- values that replace missing ones -------------------------------------------------------------


def _most_frequent(values: Doubles) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()])


FILLS: dict[str, Callable[[Doubles], float]] = {
    "mean": lambda values: float(values.mean()),
    "median": lambda values: float(np.median(values)),
    "most-frequent": _most_frequent,
}


def number_fills(sample: Columns, impute: str, *, name: str) -> Doubles:
    """Return by column the number that replaces missing ones."""
    fills = np.empty(len(sample.names))
    for at, column in enumerate(sample.names):
        values = np.asarray(sample.numbers[:, at], dtype=np.float64)
        known = values[~np.isnan(values)]
        if len(known) == 0:
            raise _all_missing(column, sample, name)
        fills[at] = FILLS[impute](known)
    return fills


def category_fills(sample: Columns, *, name: str) -> dict[str, str]:
    """Return the most frequent category of each column; ties go to the first alphabetically."""
    fills = {}
    for column, values in sample.categories.items():
        counts = Counter(value for value in values if value is not None)
        if not counts:
            raise _all_missing(column, sample, name)
        fills[column] = min(counts, key=lambda text: (-counts[text], text))
    return fills


def _all_missing(column: str, sample: Columns, name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} has no values in {sample.label(column)} ({len(sample):,} rows checked), so that "
        f"missing values cannot be imputed. Omit that column."
    )


def filled_numbers(
    block: Columns, fills: Doubles | None, *, name: str, where: Where | None
) -> Doubles:
    """Return the numbers of a block as a new float64 array without missing values."""
    numbers = np.array(block.numbers, dtype=np.float64, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(numbers.sum()):
            return numbers
    _require_no_infinity(numbers, block, name, where)
    missing = np.isnan(numbers)
    if missing.any() and fills is None:
        at, column = (int(i) for i in np.argwhere(missing)[0])
        raise _missing_value(block, block.names[column], at, name, where)
    if fills is not None:
        numbers[missing] = np.broadcast_to(fills, numbers.shape)[missing]
    return numbers


def filled_texts(
    block: Columns, column: str, fills: Mapping[str, str], *, name: str, where: Where | None
) -> list[str]:
    """Return the categories of one column without missing values."""
    values = block.categories[column]
    if column in fills:
        return [fills[column] if value is None else value for value in values]
    for at, value in enumerate(values):
        if value is None:
            raise _missing_value(block, column, at, name, where)
    return list(values)


def _missing_value(
    block: Columns, column: str, at: int, name: str, where: Where | None
) -> InvalidInput:
    row = row_number(where, at)
    return InvalidInput(
        f"{name} has a missing value at row {row:,} in {block.label(column)}. {MISSING_ADVICE}"
    )


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
