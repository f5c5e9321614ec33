"""The HTML page of a selection, with the rows and columns of its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, overload

import numpy as np
from scipy.sparse import issparse

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.read_options import ReadOptions, optional_column
from protobandit.interfaces.jobs.saved_result import RunRecord
from protobandit.result.drift import Drift
from protobandit.result.report.page import page
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay, display_order
from protobandit.result.selection import Selection
from protobandit.rows.columns import Columns
from protobandit.rows.files.opened import Opened
from protobandit.rows.messages import shortened, suggestion
from protobandit.rows.rows import strided

_MAX_COLUMNS = 32  # columns that a page shows
_N_COMPARED = 256  # rows in which a column has one value


def report_page(
    selection: Selection,
    source: Opened,
    target: Opened,
    run: RunRecord,
    drift: Drift | None = None,
    show: Sequence[str] = (),
) -> str:
    """Return the page of a selection of ``source`` for ``target``, with the drift of new rows.

    ``show`` are the columns that come first.
    """
    options = run.read_options
    require_shown(source, show)
    source_display = row_display(source, options, show)
    data = report_data(
        selection,
        target.rows,
        source=source_display,
        target=source_display if target is source else row_display(target, options, show),
        weights=optional_column(target, options.weights),
        groups=optional_column(source, options.groups),
        command=run.command,
        random_state=run.seed,
    )
    notes = dict.fromkeys((*_vector_notes(source, options), *_vector_notes(target, options)))
    return page(replace(data, notes=(*data.notes, *notes), drift=drift))


def require_shown(source: Opened, show: Sequence[str]) -> None:
    """Raise if columns to show do not exist."""
    known = list(dict.fromkeys([*source.records(np.zeros(1, dtype=np.int64)), *source.features]))
    for name in show:
        if name not in known:
            raise InvalidInput(
                f"--show {name!r} is not a column that {source.path} can show."
                f"{suggestion(name, known)} It has {shortened(map(repr, known)) or 'none'}."
            )


def row_display(opened: Opened, options: ReadOptions, show: Sequence[str] = ()) -> RowDisplay:
    """Return how the page shows the rows of files; columns ``show`` come first."""
    kind = opened.kind if opened.kind in ("images", "texts") else "records"
    takes: dict[str, Callable[[Ids], Any]] = {
        "images": opened.images,
        "texts": partial(_texts, opened),
        "records": _take_records(opened, options, show) if kind == "records" else opened.records,
    }
    return RowDisplay(
        kind=kind,
        take=takes[kind],
        names=_names(opened, options),
        labels=optional_column(opened, options.label or options.by),
        n=len(opened),
    )


def _names(opened: Opened, options: ReadOptions) -> Any:
    """Return ids or file names; for a sample without ids, the row numbers in the file."""
    names = optional_column(opened, options.id or ("file" if opened.format == "images" else None))
    return _RowNumbers(opened.numbers) if names is None and opened.numbers is not None else names


class _RowNumbers(Sequence[str]):
    """Row numbers as names, formatted on access."""

    def __init__(self, numbers: Ids) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, i: int) -> str: ...

    @overload
    def __getitem__(self, i: slice) -> _RowNumbers: ...

    def __getitem__(self, i: int | slice) -> str | _RowNumbers:
        found = self._numbers[i]
        return _RowNumbers(found) if isinstance(i, slice) else f"row {int(found):,}"


def _texts(opened: Opened, ids: Ids) -> list[Any]:
    return [opened.rows[i] for i in ids]


def _shown_separately(options: ReadOptions) -> tuple[str | None, str | None]:
    """Return the columns of ids and labels, which a page does not show among the others."""
    return options.id, options.label or options.by


def _take_records(
    opened: Opened, options: ReadOptions, show: Sequence[str]
) -> Callable[[Ids], dict[str, Any]]:
    """Return a function that returns the columns of rows, in the order of the page."""
    without = [name for name in _shown_separately(options) if name not in show]
    some = strided(len(opened), _N_COMPARED)
    compared = opened.features if opened.has_names else ()
    order = display_order(_records(opened, without, some), show, compared)

    def take(ids: Ids) -> dict[str, Any]:
        columns = _records(opened, without, ids)
        return {name: columns[name] for name in order}

    return take


def _records(opened: Opened, without: Sequence[str | None], ids: Ids) -> dict[str, Any]:
    """Return the columns of these rows, then the features that are not among them."""
    records: dict[str, Any] = {
        name: values
        for name, values in opened.records(ids).items()
        if name not in without or name in opened.features
    }
    are_vectors_shown = not records  # else there would be nothing to see
    missing = (
        (at, name)
        for at, name in enumerate(opened.features)
        if name not in records and (are_vectors_shown or not _is_component(opened, name))
    )
    others = list(islice(missing, _MAX_COLUMNS + 1))  # one more, so that the page notes the cut
    if not others:
        return records
    numbers = opened.rows.numbers if isinstance(opened.rows, Columns) else opened.rows
    block, is_sparse = numbers[ids], issparse(numbers)
    if is_sparse:
        block = block[:, : others[-1][0] + 1].toarray()
    return records | {name: np.asarray(block[:, at]) for at, name in others}


def _is_component(opened: Opened, feature: str) -> bool:
    """Return whether a feature is one number of a column of vectors."""
    return feature not in opened.columns and feature.rpartition("[")[0] in opened.columns


def _vector_notes(opened: Opened, options: ReadOptions) -> list[str]:
    """Return notes on vector columns that the page cuts or does not show."""
    if opened.kind not in ("numbers", "mixed") or not opened.names:
        return []
    shown, separate = opened.records(np.zeros(1, dtype=np.int64)), _shown_separately(options)
    others = [name for name in shown if name not in separate]
    widths = Counter(
        feature.rpartition("[")[0]
        for feature in opened.features
        if not others or not _is_component(opened, feature)
    )
    room, notes = _MAX_COLUMNS - len(others), []
    for name in (name for name in opened.names if name not in shown):
        width = widths.get(name, 0)
        if width == 0 or room <= 0:
            notes.append(f"Column {name!r} holds vectors that are not shown.")
        elif width > room:
            notes.append(
                f"Column {name!r} holds vectors of {width:,} numbers; only the first are shown."
            )
        room -= width
    return notes
