"""The report page of a selection whose rows are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.problem.problem import Problem
from protobandit.result.drift import Drift
from protobandit.result.queries import Queries
from protobandit.result.report.page import page
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay, display_order
from protobandit.result.report.summary import summarize
from protobandit.result.table import as_table, column_at, columns_at, length_of, names_of
from protobandit.rows.rows import Rows, strided

_MAX_COLUMNS = 32
_N_COMPARED = 256  # rows in which a column has one value


def python_report(
    selection: Queries,
    problem: Problem,
    *,
    rows: Any,
    target: Any,
    show: Sequence[str] | None,
    labels: Any,
    images: Any,
    names: Any,
    drift: Drift | None,
    random_state: int,
) -> str:
    """Return the page; `Selection.report` describes the parameters."""
    rows, target = as_table(rows, selection.columns), as_table(target, selection.columns)
    source_display = _display(
        problem.source, rows, selection, show=show, labels=labels, images=images, names=names
    )
    is_one = problem.target is problem.source
    if is_one and target is not None:
        raise InvalidInput("target is given, but the target is the source. Pass rows only.")
    if is_one:
        target_display = source_display
    else:
        is_labelled = target is not None and isinstance(labels, str)
        target_display = _display(
            problem.target,
            target,
            selection,
            show=show,
            labels=labels if is_labelled else None,
            images=None,
            names=names if target is not None and isinstance(names, str) else None,
        )
    # Rows of a problem are prepared already, and their columns are in order.
    prepared: Any = replace(selection, preparation=None, columns=None)
    data = report_data(
        prepared,
        problem.target,
        source=source_display,
        target=target_display,
        weights=problem.weights,
        random_state=random_state,
    )
    summary = summarize(
        selection, n_source=data.summary.n_source, n_target=data.summary.n_target, command=""
    )
    return page(replace(data, summary=summary, drift=drift))


def _display(
    rows: Rows,
    given: Any,
    selection: Queries,
    *,
    show: Sequence[str] | None,
    labels: Any,
    images: Any,
    names: Any,
) -> RowDisplay:
    """Return how to show rows: as images, texts or records."""
    n = len(rows)
    if given is not None and length_of(given) != n:
        raise InvalidInput(
            f"rows to show are {length_of(given)} but the selection has {n} {rows.name} rows. Pass "
            f"one row per {rows.name} row."
        )
    separate = {each for each in (names, labels) if isinstance(each, str)} - set(show or ())
    kind, take = _shown(rows, given, selection, show, images, separate)
    return RowDisplay(
        kind=kind,
        take=take,
        names=_values(names, given, n, "names"),
        labels=_values(labels, given, n, "labels"),
        n=n,
    )


def _shown(
    rows: Rows,
    given: Any,
    selection: Queries,
    show: Sequence[str] | None,
    images: Any,
    separate: set[str],
) -> tuple[str, Callable[[Ids], Any]]:
    if images is not None:
        return "images", lambda ids: _pixels(images, ids, len(rows))
    shown = rows if given is None else given
    if isinstance(shown, Rows) and shown.kind == "objects":
        return "texts", lambda ids: [str(each) for each in shown.take(ids)]
    if isinstance(shown, (list, tuple)) and isinstance(shown[0], str):
        return "texts", lambda ids: [shown[i] for i in ids]
    first = [] if show is None else _names_to_show(show, shown)

    def unordered(ids: Ids) -> dict[str, Any]:
        columns = _numbers(shown, ids, selection) if isinstance(shown, Rows) else None
        if columns is None:
            columns = columns_at(shown, ids)
        plain = {
            name: values
            for name, values in columns.items()
            if name not in separate and not _are_vectors(values)
        }
        return plain or {"row": ids}

    some = np.union1d(selection.indices % len(rows), strided(len(rows), _N_COMPARED))
    order = display_order(unordered(some), first, selection.columns or ())

    def take(ids: Ids) -> dict[str, Any]:
        columns = unordered(ids)
        return {name: columns[name] for name in order}

    return "records", take


def _names_to_show(show: Sequence[str], rows: Any) -> list[str]:
    known = None if isinstance(rows, Rows) else names_of(rows)
    wanted = [show] if isinstance(show, str) else [str(name) for name in show]
    texts = None if known is None else [str(name) for name in known]
    missing = [name for name in wanted if texts is None or name not in texts]
    if missing:
        found = "have no column names" if texts is None else f"have the columns {texts!r:.200}"
        raise InvalidInput(
            f"show names {missing[0]!r}, but the rows {found}. Pass rows= with this column."
        )
    return wanted


def _numbers(rows: Rows, ids: Ids, selection: Queries) -> dict[str, Any]:
    """Return the numbers that the metric compares."""
    names = selection.columns or [f"column {at}" for at in range(rows.n_columns or 0)]
    # Rows that are not numbers have no columns, and components of vectors have no names.
    if rows.n_columns is None or len(names) < rows.n_columns:
        return {"row": ids}
    block = rows.take(ids)[:, :_MAX_COLUMNS]
    block = block.toarray() if hasattr(block, "toarray") else block
    return {names[at]: block[:, at] for at in range(block.shape[1])}


def _are_vectors(values: Any) -> bool:
    return len(values) > 0 and np.ndim(values[0]) > 0


def _pixels(images: Any, ids: Ids, n: int) -> Any:
    """Return images as bytes; numbers from 0 to 1 are scaled."""
    if callable(images):
        pixels = np.asarray(images(ids))
    else:
        if length_of(images) != n:
            raise InvalidInput(
                f"images has {length_of(images)} images but the selection has {n} rows. Pass one "
                f"per row."
            )
        pixels = np.stack([np.asarray(images[int(i)]) for i in ids])
    if pixels.dtype.kind == "f":
        scale = 255.0 if pixels.size and float(np.nanmax(pixels)) <= 1 else 1.0
        pixels = np.clip(np.nan_to_num(pixels) * scale, 0, 255).astype(np.uint8)
    return pixels.astype(np.uint8)


def _values(values: Any, rows: Any, n: int, name: str) -> Any:
    """Return one value per row: those passed, or a column of the rows by its name."""
    if values is None:
        return None
    if isinstance(values, str):
        known = None if rows is None else names_of(rows)
        if known is None or values not in known:
            raise InvalidInput(
                f"{name}={values!r} is not a column of rows. Pass rows= with this column, or one "
                f"value per row."
            )
        return column_at(rows, values, np.arange(n))
    if length_of(values) != n:
        raise InvalidInput(f"{name} has {length_of(values)} values for {n} rows. Pass one per row.")
    return values.tolist() if hasattr(values, "tolist") else list(values)
