"""Cells that a spreadsheet would take for formulas: count them, or quote them.

A program that opens a CSV file evaluates texts that begin like a formula. Such texts may come from
anybody who wrote into a source file.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from protobandit.interfaces.jobs.table_formats import Table

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def is_formula(value: Any) -> bool:
    """Return whether a spreadsheet would evaluate a text; numbers as text are harmless."""
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def formula_columns(content: bytes) -> dict[str, int]:
    """Return the columns of a CSV file with formulas, and how many cells of each, name included."""
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8"), newline=""))
    counts = {
        name: sum(map(is_formula, cells))
        for name, *cells in zip(header, header, *rows, strict=True)
    }
    return {name: n for name, n in counts.items() if n}


def without_formulas(table: Table) -> Table:
    """Return a table in which an apostrophe precedes each formula."""
    return {
        _quoted(name): values
        if isinstance(values, np.ndarray) and values.dtype.kind not in "OU"
        else [_quoted(value) for value in values]
        for name, values in table.items()
    }


def _quoted(value: Any) -> Any:
    return f"'{value}" if is_formula(value) else value
