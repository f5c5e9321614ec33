"""Findings as the data a page's script reads: compact, every row once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.composition import Composition
from protobandit.result.report.distances import SHARES
from protobandit.result.report.findings import ReportData
from protobandit.result.report.members import NONE
from protobandit.result.report.row_contents import Contents
from protobandit.result.report.row_names import RowNames
from protobandit.result.report.text import number, numbers, shortened

_MOST_NAME = 80  # characters
_GRID = 4095  # the plane is a square of so many steps


def pack(found: ReportData) -> dict[str, Any]:
    """Return what the script needs; rows are named by their place in ``rows``."""
    place = _Places(found)
    labels = _RowTable(found.prototypes.labels, found.rows.labels)
    groups = _RowTable(found.prototypes.groups)
    tables = {"label": labels, "group": groups}
    rows, prototypes = _on_grid(found.plane.rows, found.plane.prototypes)
    return {
        "k": found.about.k,
        "nTarget": found.about.n_target,
        "nSample": len(found.sample),
        "isWhole": found.sample.is_whole,
        "labels": labels.names,
        "groups": groups.names,
        "prototypes": {
            **_called(found.prototypes, labels),
            "groups": groups.codes(found.prototypes.groups),
            "mass": numbers(found.mass),
            "gains": numbers(found.gains),
            "means": numbers(found.members.means),
            "counts": found.members.counts.tolist(),
            "near": place.listed(found.members.nearest),
            "far": place.listed(found.members.farthest),
            "at": prototypes.ravel().tolist(),
            "look": _look(found.wall.prototypes),
        },
        "rows": {
            **_called(found.rows, labels),
            "of": found.rows.nearest.tolist(),
            "distances": numbers(found.rows.distances),
            "look": _look(found.wall.rows),
        },
        "map": {
            "rows": place.of(found.points),
            "at": rows.ravel().tolist(),
            "name": found.plane.name,
        },
        "curve": {
            "costs": numbers(found.costs),
            "wider": None if found.curve is None else numbers(found.curve),
            "knee": found.knee,
        },
        "compositions": [_composition(c, tables[c.name]) for c in found.compositions],
        "spread": {
            "edges": numbers(found.spread.edges),
            "heights": numbers(found.spread.heights),
            "counts": found.spread.counts.tolist(),
            "shares": SHARES,
            "quantiles": numbers(found.spread.quantiles),
            "mean": number(found.spread.mean),
            "least": number(found.spread.least),
            "most": number(found.spread.most),
            "worst": place.of(found.spread.worst),
        },
        "criticisms": place.of_rows(found.criticisms),
        "coefficients": None if found.coefficients is None else numbers(found.coefficients),
    }


class _Places:
    """Where the page holds a row, by its number in the target or its position in the sample."""

    def __init__(self, found: ReportData) -> None:
        self._ids = found.sample.ids
        self._order = np.argsort(found.rows.ids)
        self._sorted = found.rows.ids[self._order]

    def of_rows(self, ids: Ids) -> list[int]:
        places: list[int] = self._order[np.searchsorted(self._sorted, ids)].tolist()
        return places

    def of(self, positions: Ids) -> list[int]:
        return self.of_rows(self._ids[positions])

    def listed(self, positions: Ids) -> list[list[int]]:
        return [self.of(own[own != NONE]) for own in positions]


class _RowTable:
    """Values by number: two that look alike when shortened stay two."""

    def __init__(self, *columns: list[str] | None) -> None:
        values = dict.fromkeys(value for column in columns for value in column or ())
        self._codes = {value: code for code, value in enumerate(values)}

    @property
    def names(self) -> list[str]:
        return [shortened(value, _MOST_NAME) for value in self._codes]

    def codes(self, values: Iterable[str] | None) -> list[int] | None:
        return None if values is None else [self._codes.get(value, NONE) for value in values]


def _called(called: RowNames, labels: _RowTable) -> dict[str, Any]:
    return {
        "ids": called.ids.tolist(),
        "names": called.names,
        "labels": labels.codes(called.labels),
    }


def _look(shown: Contents) -> dict[str, Any]:
    return {
        "kind": shown.kind,
        "items": shown.items,
        "head": shown.head,
        "columns": list(shown.columns),
    }


def _on_grid(rows: Doubles, prototypes: Doubles) -> tuple[Ids, Ids]:
    """Return points as whole numbers; both axes keep their proportion."""
    everything = np.concatenate([rows, prototypes])
    low = everything.min(axis=0)
    span = float((everything.max(axis=0) - low).max()) or 1.0
    on_grid = np.rint((everything - low) / span * _GRID).astype(np.int64)
    return on_grid[: len(rows)], on_grid[len(rows) :]


def _composition(c: Composition, table: _RowTable) -> dict[str, Any]:
    return {
        "name": c.name,
        "values": [shortened(value, _MOST_NAME) for value in c.values],
        "codes": table.codes(c.values),
        "source": None if c.source is None else numbers(c.source),
        "target": None if c.target is None else numbers(c.target),
        "mass": numbers(c.mass),
        "counts": c.counts.tolist(),
    }
