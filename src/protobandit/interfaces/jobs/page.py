"""The page that shows a selection, made of the rows in its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, overload

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.interfaces.jobs.read_options import ReadOptions
from protobandit.result.report.page import page
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened

_SHOWN = 32  # columns that a page shows at most


def report_page(
    selection: Selection,
    source: Opened,
    target: Opened,
    reading: ReadOptions,
    *,
    command: str,
    seed: int,
) -> str:
    """Return the page of a selection of ``source`` for ``target``."""
    ours = exhibit(source, reading)
    found = report_data(
        selection,
        target.rows,
        source=ours,
        target=ours if target is source else exhibit(target, reading),
        weights=_column(target, reading.weights),
        groups=_column(source, reading.groups),
        command=command,
        random_state=seed,
    )
    said = dict.fromkeys((*_vector_notes(source, reading), *_vector_notes(target, reading)))
    return page(replace(found, notes=(*found.notes, *said)))


def exhibit(opened: Opened, reading: ReadOptions) -> RowDisplay:
    """Return how to show rows of files."""
    kind = opened.kind if opened.kind in ("images", "texts") else "records"
    takes: dict[str, Callable[[Ids], Any]] = {
        "images": opened.images,
        "texts": partial(_texts, opened),
        "records": partial(_records, opened, _said_apart(reading)),
    }
    return RowDisplay(
        kind=kind,
        take=takes[kind],
        names=_names(opened, reading),
        labels=_column(opened, reading.label or reading.by),
        n=len(opened),
    )


def _names(opened: Opened, reading: ReadOptions) -> Any:
    """Return ids or names of files; of a sample, whose order is its own, numbers in the file."""
    named = _column(opened, reading.id or ("file" if opened.format == "images" else None))
    return _Numbered(opened.numbers) if named is None and opened.numbers is not None else named


class _Numbered(Sequence[str]):
    """Names of rows that are made as they are asked for."""

    def __init__(self, numbers: Ids) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, i: int) -> str: ...

    @overload
    def __getitem__(self, i: slice) -> _Numbered: ...

    def __getitem__(self, i: int | slice) -> str | _Numbered:
        found = self._numbers[i]
        return _Numbered(found) if isinstance(i, slice) else f"row {int(found):,}"


def _column(opened: Opened, name: str | None) -> Any:
    return opened.column(name) if name is not None and name in opened.names else None


def _texts(opened: Opened, ids: Ids) -> list[Any]:
    return [opened.rows[i] for i in ids]


def _said_apart(reading: ReadOptions) -> tuple[str | None, str | None]:
    """Return the columns of names and labels, which a page shows beside the others."""
    return reading.id, reading.label or reading.by


def _records(opened: Opened, without: Sequence[str | None], ids: Ids) -> dict[str, Any]:
    """Return the columns of these rows, and then the features that are in none of them."""
    records: dict[str, Any] = {
        name: values
        for name, values in opened.records(ids).items()
        if name not in without or name in opened.features
    }
    found = ((at, name) for at, name in enumerate(opened.features) if name not in records)
    others = list(islice(found, _SHOWN + 1))  # one more, so that the page says what it cuts
    if not others:
        return records
    block = getattr(opened.rows, "numbers", opened.rows)[ids]
    if hasattr(block, "toarray"):
        block = block[:, : others[-1][0] + 1].toarray()
    return records | {name: np.asarray(block[:, at]) for at, name in others}


def _vector_notes(opened: Opened, reading: ReadOptions) -> list[str]:
    """Say what is seen of columns that hold vectors."""
    if opened.kind not in ("numbers", "mixed") or not opened.names:
        return []
    shown, apart = opened.records(np.zeros(1, dtype=np.int64)), _said_apart(reading)
    widths = Counter(feature.rpartition("[")[0] for feature in opened.features)
    room, notes = _SHOWN - sum(name not in apart for name in shown), []
    for name in (name for name in opened.names if name not in shown):
        width = widths.get(name, 0)
        if width == 0 or room <= 0:
            notes.append(f"Column {name!r} holds vectors, which are not shown.")
        elif width > room:
            notes.append(
                f"Column {name!r} holds vectors of {width:,} numbers, of which the first are shown."
            )
        room -= width
    return notes
