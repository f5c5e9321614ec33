"""The tables of a result: ``prototypes.csv``, and ``criticisms.csv`` where there are any."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.interfaces.jobs.read_options import ReadOptions
from protobandit.interfaces.jobs.saved_result import RunRecord
from protobandit.interfaces.jobs.select_arguments import Posed
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened

# A column of the source of such a name is called source_NAME; of a target of its own, target_NAME.
OWN = ("rank", "row", "id", "gain", "mass", "cost", "coefficient", "label")


def prototypes_table(posed: Posed, selection: Selection, run: RunRecord) -> dict[str, Any]:
    """Return rank, row, id, gain, mass, cost and label of each prototype, and its own columns.

    ``rank`` 1 is the best; ``row`` is its number in the source, whose first is 0; ``cost`` is that
    of all prototypes up to this one. There is a ``coefficient`` where the method gives one.
    """
    said = {"id": run.ids, "label": run.labels}
    if selection.prototype_labels is not None:  # by class, where no other label is asked for
        said["label"] = run.labels or tuple(selection.prototype_labels)
    table: dict[str, Any] = {
        "rank": np.arange(1, selection.k + 1),
        "row": selection.indices,
        "id": said["id"],
        "gain": [None if np.isnan(gain) else gain for gain in selection.gains.tolist()],
        "mass": selection.mass,
        "cost": selection.costs,
        "coefficient": selection.coefficients,
        "label": said["label"],
    }
    return _with_columns(table, posed.source, selection.indices, posed.task.reading, "source")


def criticisms_table(posed: Posed, selection: Selection) -> dict[str, Any] | None:
    """Return rank, row, id and label of each criticism, and its own columns; None without any.

    ``rank`` 1 is the worst represented; ``row`` is its number in the file of the target.
    """
    rows = selection.criticisms
    if rows is None or len(rows) == 0:
        return None
    target, reading = posed.target, posed.task.reading
    table: dict[str, Any] = {
        "rank": np.arange(1, len(rows) + 1),
        "row": rows if target.numbers is None else target.numbers[rows],
        "id": _said_of(target, reading.id, rows),
        "label": _said_of(target, reading.label or reading.by, rows),
    }
    side = "target" if posed.has_target else "source"
    return _with_columns(table, target, rows, reading, side)


def _with_columns(
    table: dict[str, Any], opened: Opened, rows: Ids, reading: ReadOptions, side: str
) -> dict[str, Any]:
    """Return what is known of a table, and the columns of the file that it does not repeat."""
    own = {name: values for name, values in table.items() if values is not None}
    shown = {"id": reading.id, "label": reading.label}
    for name, values in opened.records(rows).items():
        if shown.get(name) != name:
            own[f"{side}_{name}" if name in OWN else name] = values
    return own


def _said_of(opened: Opened, name: str | None, rows: Ids) -> Any:
    if name is None or name not in opened.names:  # which a target need not have
        return None
    return opened.column(name)[rows].tolist()
