"""What rows are called: by name, or else by number, with their label and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.composition import told
from protobandit.result.report.exhibit import RowDisplay, picked
from protobandit.result.report.sample import Nearest
from protobandit.result.report.text import is_missing, plain, shortened

_MOST_NAME = 120  # characters


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNames:
    """What rows are called: number, name (None: the number), label and group (None: none)."""

    ids: Ids
    names: list[str] | None
    labels: list[str] | None
    groups: list[str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedRows(RowNames):
    """What target rows are called, the prototype nearest to each, and the distance to it."""

    nearest: Ids
    distances: Doubles


def prototypes_called(selection: Any, source: RowDisplay, groups: Any) -> RowNames:
    """Return what prototypes are called."""
    ids = np.asarray(selection.indices, dtype=np.int64)
    labels = prototype_labels(selection, source)
    return RowNames(
        ids=ids,
        names=_named(source, ids),
        labels=None if labels is None else told(labels),
        groups=None if groups is None else told(picked(groups, ids) or []),
    )


def prototype_labels(selection: Any, source: RowDisplay) -> list[Any] | None:
    """Return the labels of prototypes as they were given: the source's, or else the classes."""
    labels = picked(source.labels, selection.indices)
    if labels is None and getattr(selection, "prototype_labels", None) is not None:
        labels = list(selection.prototype_labels)
    return labels


def rows_called(target: RowDisplay, found: Nearest) -> NamedRows:
    """Return what target rows are called."""
    labels = picked(target.labels, found.ids)
    return NamedRows(
        ids=found.ids,
        names=_named(target, found.ids),
        labels=None if labels is None else told(labels),
        nearest=found.labels,
        distances=found.distances,
    )


def _named(exhibit: RowDisplay, ids: Ids) -> list[str] | None:
    """Return names; a row whose name is missing or blank has its number for one."""
    names = picked(exhibit.names, ids)
    if names is None:
        return None
    words = ("" if is_missing(name) else shortened(plain(name), _MOST_NAME) for name in names)
    return [
        word if word.strip() else f"row {row:,}"
        for word, row in zip(words, ids.tolist(), strict=True)
    ]
