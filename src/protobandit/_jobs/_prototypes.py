"""The table of prototypes: ``prototypes.csv``."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit._jobs._result import Run
from protobandit._jobs._task import Posed
from protobandit._selection import Selection

# A column of the source of such a name is called source_NAME.
OWN = ("rank", "row", "id", "gain", "mass", "cost", "label")


def prototypes_table(posed: Posed, selection: Selection, run: Run) -> dict[str, Any]:
    """Return rank, row, id, gain, mass, cost and label of each prototype, and its own columns.

    ``rank`` 1 is the best; ``row`` is its number in the source, whose first is 0; ``cost`` is that
    of all prototypes up to this one.
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
        "label": said["label"],
    }
    own = {name: values for name, values in table.items() if values is not None}
    reading = posed.task.reading
    shown = {"id": reading.id, "label": reading.label}
    for name, values in posed.source.records(selection.indices).items():
        if shown.get(name) != name:
            own[f"source_{name}" if name in OWN else name] = values
    return own
