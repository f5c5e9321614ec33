"""Every target row with its prototype, as one table for other viewers (``--labelled``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.output_files import open_for_writing
from protobandit.interfaces.jobs.read_options import rows_at
from protobandit.interfaces.jobs.saved_result import SavedResult
from protobandit.interfaces.jobs.table_formats import WRITERS, Table
from protobandit.rows.files.opened import Opened

_BLOCK = 1 << 14  # rows


def format_of(path: Path) -> str:
    """Return the format of a table from the ending of its name."""
    form = path.suffix.lower().lstrip(".")
    if form not in WRITERS:
        raise InvalidInput(
            f"--labelled {str(path)!r} does not end in .parquet or .csv. Pass a name with one of "
            f"these endings."
        )
    return form


def write_labelled(
    path: Path,
    result: SavedResult,
    target: Opened,
    *,
    is_source: bool,
    n_jobs: int | None,
    force: bool,
) -> None:
    """Write the columns of all target rows, and the prototype of each.

    ``prototype`` is its row in the source, ``rank`` 1 the best one; ``is_prototype`` is whether the
    row itself is one, which is known if the target is the source.
    """
    blocks = _blocks(result, target, is_source=is_source, n_jobs=n_jobs)
    with open_for_writing(path, force=force) as file:
        WRITERS[format_of(path)](blocks, file)


def _blocks(
    result: SavedResult, target: Opened, *, is_source: bool, n_jobs: int | None
) -> Iterator[Table]:
    selection, ids, rows = result.selection, result.run.ids, result.run.rows
    prototypes = selection.indices if rows is None else np.array(rows)
    for start in range(0, len(target), _BLOCK):
        cut = slice(start, min(start + _BLOCK, len(target)))
        numbers = np.arange(cut.start, cut.stop)
        labels, distances = selection.assign(rows_at(target, cut), n_jobs=n_jobs)
        own: dict[str, Any] = {
            "row": numbers if target.numbers is None else target.numbers[cut],
            "rank": labels + 1,
            "prototype": prototypes[labels],
        }
        if ids is not None:
            own["prototype_id"] = [ids[label] for label in labels]
        own["distance"] = distances
        if is_source:
            own["is_prototype"] = np.isin(numbers, selection.indices)
        for name, values in target.records(numbers).items():
            own[f"source_{name}" if name in own else name] = values
        yield own
