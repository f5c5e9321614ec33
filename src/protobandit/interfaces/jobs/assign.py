"""The nearest prototype of each row of other files, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.interfaces.jobs.read_options import Tell
from protobandit.interfaces.jobs.saved_result import RunRecord, SavedResult
from protobandit.rows.columns import Columns
from protobandit.rows.files.opened import Opened

BLOCK = 1 << 14  # rows


def assigned(
    result: SavedResult,
    paths: Sequence[str],
    *,
    n_jobs: int | None = None,
    tell: Tell | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield, for each block of rows, their numbers, nearest prototypes and distances.

    The files are opened and the first block is found before this returns, so that bad input shows
    before anything is written. Nothing is kept of a block once it is handed over.
    """
    run = result.run or RunRecord()
    opened = run.reading.rows(
        paths, columns=run.columns, size=run.image_size, seed=run.seed, tell=tell
    )
    own_ids = _own_ids(opened, run)
    selection = result.selection

    def block(cut: slice) -> dict[str, Any]:
        labels, distances = selection.assign(taken(opened, cut), n_jobs=n_jobs)
        table = {
            "row": np.arange(cut.start, cut.stop),
            "id": None if own_ids is None else own_ids[cut],
            "rank": labels + 1,
            "prototype": selection.indices[labels],
            "prototype_id": _each(run.ids, labels),
            "prototype_label": _each(run.labels, labels),
            "distance": distances,
        }
        if tell is not None:
            tell(f"{cut.stop:,} of {n:,} rows assigned …")
        return {name: values for name, values in table.items() if values is not None}

    n = len(opened)
    cuts = (slice(at, min(at + BLOCK, n)) for at in range(0, n, BLOCK))
    first = block(next(cuts))
    return chain([first], map(block, cuts))


def _own_ids(opened: Opened, run: RunRecord) -> Any:
    name = run.reading.id
    return opened.column(name) if name is not None and name in opened.names else None


def _each(values: Sequence[Any] | None, labels: Ids) -> list[Any] | None:
    return None if values is None else [values[at] for at in labels]


def taken(opened: Opened, where: Where) -> Any:
    """Return some of the rows, in the form `Selection.assign` takes."""
    rows = opened.rows
    if isinstance(rows, list):
        return rows[where] if isinstance(where, slice) else [rows[i] for i in where]
    return rows.take(where) if isinstance(rows, Columns) else rows[where]
