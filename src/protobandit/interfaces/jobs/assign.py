"""The nearest prototype of each row of new files, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.interfaces.jobs.read_options import Notify, optional_column, rows_at
from protobandit.interfaces.jobs.saved_result import SavedResult
from protobandit.interfaces.jobs.table_formats import Table

BLOCK = 1 << 14  # rows


def assign_rows(
    result: SavedResult,
    paths: Sequence[str],
    *,
    n_jobs: int | None = None,
    notify: Notify | None = None,
) -> Iterator[Table]:
    """Yield a table per block of rows: row numbers, nearest prototypes and distances.

    The files are opened and the first block is computed before this function returns, so that bad
    input raises before anything is written. Blocks are not kept.
    """
    selection, run = result.selection, result.run
    opened = run.read_options.open_new(
        paths, columns=run.columns, image_size=run.image_size, seed=run.seed, notify=notify
    )
    ids = optional_column(opened, run.read_options.id)
    prototypes = selection.indices if run.rows is None else np.array(run.rows)
    n = len(opened)

    def assign_block(rows: slice) -> Table:
        labels, distances = selection.assign(rows_at(opened, rows), n_jobs=n_jobs)
        table = {
            "row": np.arange(rows.start, rows.stop),
            "id": None if ids is None else ids[rows],
            "rank": labels + 1,
            "prototype": prototypes[labels],
            "prototype_id": _of_nearest(run.ids, labels),
            "prototype_label": _of_nearest(run.labels, labels),
            "distance": distances,
        }
        if notify is not None:
            notify(f"{rows.stop:,} of {n:,} rows assigned …")
        return {name: values for name, values in table.items() if values is not None}

    blocks = (slice(at, min(at + BLOCK, n)) for at in range(0, n, BLOCK))
    first = assign_block(next(blocks))
    return chain([first], map(assign_block, blocks))


def _of_nearest(values: Sequence[Any] | None, labels: Ids) -> list[Any] | None:
    return None if values is None else [values[label] for label in labels]
