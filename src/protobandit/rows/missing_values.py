"""Missing values, counted by column."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.rows import ADVICE

_BLOCK = 4096  # rows
_SHOWN = 8


def require_whole(table: Columns, *, name: str) -> None:
    """Refuse missing values, with their counts by column."""
    gaps = _counted(table)
    if gaps:
        items = [f"{n:,} in {called(column, table)}" for column, n in list(gaps.items())[:_SHOWN]]
        more = [f"{len(gaps) - _SHOWN} more columns"] if len(gaps) > _SHOWN else []
        raise InvalidInput(
            f"{name} has missing values: {', '.join(items + more)} ({len(table):,} rows looked "
            f"at). {ADVICE}"
        )


def called(column: str, table: Columns) -> str:
    """Return a column as the user knows it."""
    return repr(column) if table.is_named else f"column {column}"


def _counted(table: Columns) -> dict[str, int]:
    counts = np.zeros(len(table.names), dtype=np.int64)
    if table.numbers.dtype.kind == "f":
        for start in range(0, len(table), _BLOCK):
            block = table.numbers[start : min(start + _BLOCK, len(table))]
            counts += np.isnan(block).sum(axis=0)
    found = dict(zip(table.names, counts.tolist(), strict=True))
    for column, values in table.categories.items():
        found[column] = sum(value is None for value in values)
    return {column: n for column, n in found.items() if n}
