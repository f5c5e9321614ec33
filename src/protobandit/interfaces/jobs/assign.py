"""The nearest prototype of each row of new files, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.interfaces.jobs.read_options import Notify, optional_column, rows_at
from protobandit.interfaces.jobs.saved_result import SavedResult
from protobandit.interfaces.jobs.table_formats import Table

BLOCK = 1 << 14  # rows


class AssignSummary:
    """Adds up the distances of assigned rows."""

    def __init__(self, k: int) -> None:
        self.counts = np.zeros(k, dtype=np.int64)
        self.total = 0.0
        self.largest = 0.0

    def add(self, labels: Ids, distances: Floats) -> None:
        """Add a block of rows."""
        self.counts += np.bincount(labels, minlength=len(self.counts))
        self.total += float(distances.astype(np.float64).sum())
        self.largest = max(self.largest, float(distances.max()))

    def __str__(self) -> str:
        n, k = int(self.counts.sum()), len(self.counts)
        used = int((self.counts > 0).sum())
        most = int(self.counts.argmax())
        return (
            f"{n:,} row{'' if n == 1 else 's'} assigned to {used:,} of {k:,} prototypes; mean "
            f"distance {self.total / max(n, 1):.5g}, largest {self.largest:.5g}; most rows "
            f"({self.counts[most] / max(n, 1):.1%}) have the prototype of rank {most + 1}."
        )


def assign_rows(
    result: SavedResult,
    paths: Sequence[str],
    *,
    n_jobs: int | None = None,
    notify: Notify | None = None,
    summary: AssignSummary | None = None,
) -> Iterator[Table]:
    """Yield a table per block of rows: row numbers, nearest prototypes and distances.

    The files are opened and the first block is computed before this function returns, so that bad
    input raises before anything is written. Blocks are not kept; ``summary`` adds them up.
    """
    selection, run = result.selection, result.run
    opened = run.read_options.open_new(
        paths, columns=result.columns, image_size=run.image_size, seed=run.seed, notify=notify
    )
    ids = optional_column(opened, run.read_options.id)
    prototypes = selection.indices if run.rows is None else np.array(run.rows)
    n = len(opened)

    def assign_block(rows: slice) -> Table:
        labels, distances = selection.assign(rows_at(opened, rows), n_jobs=n_jobs)
        if summary is not None:
            summary.add(labels, distances)
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
