"""Names, labels and groups of prototypes and target rows, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_missing
from protobandit.result.queries import Queries
from protobandit.result.report.composition import label_texts
from protobandit.result.report.row_display import RowDisplay, values_at
from protobandit.result.report.safe_text import integral_as_int, shortened
from protobandit.result.report.sample import Nearest

_MOST_NAME = 120  # characters


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNames:
    """Numbers of rows with their names, labels and groups; each of these is None if there are none.

    Without names, rows are shown by number.
    """

    ids: Ids
    names: list[str] | None
    labels: list[str] | None
    groups: list[str] | None = None


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
