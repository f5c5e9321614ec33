"""The page that shows a selection, made of the rows in its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from protobandit._jobs._reading import Reading
from protobandit._selection import Selection
from protobandit._typing import Ids
from protobandit.data import Opened
from protobandit.report import Exhibit, findings, page

_SHOWN_FEATURES = 32  # of rows whose columns have no names


def report_page(
    selection: Selection,
    source: Opened,
    target: Opened,
    reading: Reading,
    *,
    command: str,
    seed: int,
) -> str:
    """Return the page of a selection of ``source`` for ``target``."""
    ours = exhibit(source, reading)
    found = findings(
        selection,
        target.rows,
        source=ours,
        target=ours if target is source else exhibit(target, reading),
        weights=_column(target, reading.weights),
        groups=_column(source, reading.groups),
        command=command,
        random_state=seed,
    )
    return page(found)


def exhibit(opened: Opened, reading: Reading) -> Exhibit:
    """Return how to show rows of files."""
    kind = opened.kind if opened.kind in ("images", "texts") else "records"
    takes: dict[str, Callable[[Ids], Any]] = {
        "images": opened.images,
        "texts": partial(_texts, opened),
        "records": partial(_records, opened),
    }
    return Exhibit(
        kind=kind,
        take=takes[kind],
        names=_column(opened, reading.id),
        labels=_column(opened, reading.label or reading.by),
        n=len(opened),
    )


def _column(opened: Opened, name: str | None) -> Any:
    return opened.column(name) if name is not None and name in opened.names else None


def _texts(opened: Opened, ids: Ids) -> list[Any]:
    return [opened.rows[i] for i in ids]


def _records(opened: Opened, ids: Ids) -> dict[str, list[Any]]:
    records = opened.records(ids)
    if records:
        return records
    block = opened.rows[ids]
    block = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
    names = opened.features or tuple(map(str, range(block.shape[1])))
    return {name: block[:, at].tolist() for at, name in enumerate(names[:_SHOWN_FEATURES])}
