"""How to show rows: as images, texts or records, with names, labels and groups as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_missing, require_choice
from protobandit.foundation.errors import InvalidInput
from protobandit.result.queries import Queries
from protobandit.result.report.composition import label_texts
from protobandit.result.report.safe_text import integral_as_int, shortened
from protobandit.result.report.sample import Nearest

_MOST_NAME = 120  # characters


@dataclass(frozen=True, kw_only=True, eq=False)
class RowDisplay:
    """How to show the rows of the source or of the target.

    ``kind`` is "images", "texts" or "records". ``take(ids)`` returns the rows with these numbers:
    images as uint8 of shape (n, height, width) or (n, height, width, 3), texts as a list, records
    as a dictionary of columns. It is called with a few hundred ascending numbers at a time. Rows
    without ``names`` are shown with their numbers. ``n`` is by default the number of names or
    labels.
    """

    kind: str
    take: Callable[[Ids], Any]
    names: Sequence[Any] | None = None
    labels: Sequence[Any] | None = None
    n: int | None = None

    def __post_init__(self) -> None:
        require_choice(self.kind, "kind", _CHECKS)
        if not callable(self.take):
            raise InvalidInput(
                f"take is a {type(self.take).__name__}. Pass a function of row numbers."
            )
        lengths = {len(v) for v in (self.names, self.labels) if v is not None}
        lengths |= set() if self.n is None else {self.n}
        if len(lengths) > 1:
            raise InvalidInput(
                f"names, labels and n disagree: {' and '.join(map(str, sorted(lengths)))} rows. "
                f"Pass one name and one label per row."
            )

    @property
    def n_rows(self) -> int | None:
        """Return the number of rows, or None if it is not known."""
        given = self.names if self.names is not None else self.labels
        return self.n if given is None else len(given)

    def rows(self, ids: Ids) -> Any:
        """Return the rows with these numbers from ``take``, after checking them."""
        return _CHECKS[self.kind](self.take(ids), len(ids))


def display_order(
    columns: Mapping[str, Sequence[Any]], first: Sequence[str], compared: Sequence[str]
) -> list[str]:
    """Return the columns in the order in which a page shows them.

    ``first`` come first, then the ``compared`` ones, then others, and last those with one value.
    ``columns`` holds some rows.
    """
    own = [name for name in first if name in columns]
    rest = [*(name for name in compared if name in columns), *columns]
    constant = {name for name, values in columns.items() if len(set(map(str, values))) == 1}
    others = [name for name in rest if name not in constant]
    return list(dict.fromkeys([*own, *others, *rest]))


def values_at(values: Sequence[Any] | None, ids: Ids) -> list[Any] | None:
    """Return the values at these positions, or None if there are no values."""
    if values is None:
        return None
    if hasattr(values, "iloc"):
        return list(values.iloc[ids])
    return [values[int(i)] for i in ids]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNames:
    """Numbers of rows with their names, labels and groups; each of these is None if there are none.

    Without names, rows are shown by number.
    """

    ids: Ids
    names: list[str] | None
    labels: list[str] | None
    groups: list[str] | None = None

    def first(self, n: int) -> RowNames:
        """Return the first ``n`` rows."""
        names, labels, groups = (
            None if each is None else each[:n] for each in (self.names, self.labels, self.groups)
        )
        return RowNames(ids=self.ids[:n], names=names, labels=labels, groups=groups)


@dataclass(frozen=True, kw_only=True, eq=False)
class TargetRowNames(RowNames):
    """Names of target rows, the nearest prototype of each, and the distance to it."""

    nearest: Ids
    distances: Doubles


def prototype_names(selection: Queries, source: RowDisplay, groups: Any) -> RowNames:
    """Return the names, labels and groups of the prototypes."""
    ids = np.asarray(selection.indices, dtype=np.int64)
    labels = prototype_labels(selection, source)
    return RowNames(
        ids=ids,
        names=_names(source, ids),
        labels=None if labels is None else label_texts(labels),
        groups=None if groups is None else label_texts(values_at(groups, ids) or []),
    )


def prototype_labels(selection: Queries, source: RowDisplay) -> list[Any] | None:
    """Return the labels of the prototypes: those of the source, or else the classes of ``by``."""
    labels = values_at(source.labels, selection.indices)
    if labels is None and selection.prototype_labels is not None:
        labels = list(selection.prototype_labels)
    return labels


def target_row_names(target: RowDisplay, found: Nearest) -> TargetRowNames:
    """Return the names and labels of target rows."""
    labels = values_at(target.labels, found.ids)
    return TargetRowNames(
        ids=found.ids,
        names=_names(target, found.ids),
        labels=None if labels is None else label_texts(labels),
        nearest=found.labels,
        distances=found.distances,
    )


def _names(display: RowDisplay, ids: Ids) -> list[str] | None:
    """Return names; the number where a name is missing or blank."""
    names = values_at(display.names, ids)
    if names is None:
        return None
    texts = (
        "" if is_missing(name) else shortened(integral_as_int(name), _MOST_NAME) for name in names
    )
    return [
        text if text.strip() else f"row {row:,}"
        for text, row in zip(texts, ids.tolist(), strict=True)
    ]


def _checked_images(rows: Any, n: int) -> Any:
    pixels = np.asarray(rows)
    is_image = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[3] == 3)
    if not is_image or pixels.dtype != np.uint8 or len(pixels) != n or 0 in pixels.shape[1:]:
        raise InvalidInput(
            f"take returned {pixels.dtype} of shape {pixels.shape} for {n} images. Return uint8 of "
            f"shape ({n}, height, width) or ({n}, height, width, 3)."
        )
    return pixels


def _checked_texts(rows: Any, n: int) -> Any:
    if isinstance(rows, (str, bytes)):
        raise InvalidInput(
            f"take returned a single {type(rows).__name__} for {n} rows of texts. Return a list of "
            f"{n} texts."
        )
    if len(rows) != n:
        raise InvalidInput(f"take returned {len(rows)} texts for {n} rows. Return one per row.")
    return list(rows)


def _checked_records(rows: Any, n: int) -> Any:
    if not isinstance(rows, Mapping) or not rows:
        got = f"a {type(rows).__name__}" if not isinstance(rows, Mapping) else "no columns"
        raise InvalidInput(
            f"take returned {got} for records. Return a dictionary with at least one column."
        )
    for name, values in rows.items():
        if len(values) != n:
            raise InvalidInput(
                f"take returned {len(values)} values of column {name!r} for {n} rows. Return one "
                f"per row."
            )
    return dict(rows)


_CHECKS: dict[str, Callable[[Any, int], Any]] = {
    "images": _checked_images,
    "texts": _checked_texts,
    "records": _checked_records,
}
