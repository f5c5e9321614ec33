"""The tables of a result: ``prototypes.csv``, and ``criticisms.csv`` if there are criticisms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.interfaces.jobs.read_options import ReadOptions, optional_column
from protobandit.interfaces.jobs.table_formats import Table
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened

# A source column with one of these names is written as source_NAME, a target column as target_NAME.
RESERVED = ("rank", "row", "id", "gain", "mass", "cost", "coefficient", "fixed", "label")


def prototypes_table(selection: Selection, source: Opened, options: ReadOptions) -> Table:
    """Return rank, row, id, gain, mass, cost and label per prototype, and its source columns.

    ``rank`` 1 is the best prototype; ``row`` is the row number in the source files, from 0;
    ``cost`` is the cost of all prototypes up to this one. There is a ``coefficient`` if the method
    gives one, and ``fixed`` marks the rows that had to be selected, if there are any.
    """
    rows = selection.indices
    labels = values_at(source, options.label, rows)
    if labels is None and selection.prototype_labels is not None:  # selected by class
        labels = tuple(selection.prototype_labels)
    columns = {
        "rank": np.arange(1, selection.k + 1),
        "row": source.file_rows(rows),
        "id": values_at(source, options.id, rows),
        "gain": [None if np.isnan(gain) else gain for gain in selection.gains.tolist()],
        "mass": selection.mass,
        "cost": selection.costs,
        "coefficient": selection.coefficients,
        "fixed": _fixed(selection),
        "label": labels,
    }
    return _with_file_columns(columns, source, rows, options, "source")


def criticisms_table(
    selection: Selection, source: Opened, target: Opened, options: ReadOptions
) -> Table | None:
    """Return rank, row, id and label per criticism, and its target columns; None without any.

    ``rank`` 1 is the row that is represented worst; ``row`` is its number in the target file.
    """
    rows = selection.criticisms
    if rows is None or len(rows) == 0:
        return None
    columns = {
        "rank": np.arange(1, len(rows) + 1),
        "row": target.file_rows(rows),
        "id": values_at(target, options.id, rows),
        "label": values_at(target, options.label or options.by, rows),
    }
    side = "source" if target is source else "target"
    return _with_file_columns(columns, target, rows, options, side)


def _fixed(selection: Selection) -> list[str] | None:
    """Return "yes" for fixed rows and "no" for others; None if no row was fixed."""
    problem = selection.problem
    if problem is None or len(problem.feasibility.fixed) == 0:
        return None
    is_fixed = np.isin(selection.indices, problem.feasibility.fixed).tolist()
    return ["yes" if each else "no" for each in is_fixed]


def values_at(opened: Opened, name: str | None, rows: Ids) -> tuple[Any, ...] | None:
    """Return the values of a column in some rows; None if the column is not named or not there."""
    column = optional_column(opened, name)  # a target need not have every column of the source
    return None if column is None else tuple(map(_written, column[rows].tolist()))


def _written(value: Any) -> Any:
    """Return a value that JSON can hold: no infinity, and None for NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _with_file_columns(
    columns: Mapping[str, Any], opened: Opened, rows: Ids, options: ReadOptions, side: str
) -> Table:
    """Return the columns that are not None, and the file's columns that they do not repeat."""
    table = {name: values for name, values in columns.items() if values is not None}
    is_repeated = {options.id: "id" in table, options.label: options.label == "label"}
    for name, values in opened.records(rows).items():
        if not is_repeated.get(name, False):
            table[f"{side}_{name}" if name in RESERVED else name] = values
    return table
