"""The data of a report in the form the page's script reads: compact, with every row once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.result.report.composition import Composition
from protobandit.result.report.encoded_rows import EncodedRows
from protobandit.result.report.report_data import ReportData
from protobandit.result.report.row_display import RowNames
from protobandit.result.report.safe_text import rounded, rounded_list, shortened
from protobandit.result.report.sample import NONE, SHARES

_MOST_NAME = 80  # characters
_GRID = 4095  # coordinates on the map are integers from 0 to this


def script_data(report: ReportData) -> dict[str, Any]:
    """Return the JSON document of the script; lists refer to rows by their place in ``rows``."""
    selection, place = report.summary.selection, _Places(report)
    n, shown = report.n_shown, report.prototypes.first(report.n_shown)
    labels = _ValueCodes(report.prototypes.labels, report.rows.labels)
    groups = _ValueCodes(report.prototypes.groups)
    codes = {"label": labels, "group": groups}
    row_points, prototype_points = _on_grid(report.projection.rows, report.projection.prototypes)
    return {
        "k": selection.k,
        "nTarget": report.summary.n_target,
        "nSample": len(report.sample),
        "isWhole": report.sample.is_whole,
        "labels": labels.names,
        "groups": groups.names,
        "prototypes": {
            **_names(shown, labels),
            "groups": groups.codes(shown.groups),
            "mass": rounded_list(report.mass[:n]),
            "gains": rounded_list(selection.gains[:n]),
            "means": rounded_list(report.members.means[:n]),
            "counts": report.members.counts[:n].tolist(),
            "near": place.of_members(report.members.nearest[:n]),
            "far": place.of_members(report.members.farthest[:n]),
            "at": prototype_points[:n].ravel().tolist(),
            "look": _look(report.contents.prototypes),
        },
        "rows": {
            **_names(report.rows, labels),
            "of": report.rows.nearest.tolist(),
            "distances": rounded_list(report.rows.distances),
            "look": _look(report.contents.rows),
        },
        "map": {
            "rows": place.of_positions(report.points),
            "at": row_points.ravel().tolist(),
            "name": report.projection.name,
        },
        "curve": {
            "costs": rounded_list(selection.costs[:n]),
            "wider": rounded_list(selection.curve),
            "knee": None if (knee := selection.knee) is None or knee > n else knee,
        },
        "compositions": [_composition(c, codes[c.name]) for c in report.compositions],
        "spread": {
            "edges": rounded_list(report.distances.edges),
            "heights": rounded_list(report.distances.heights),
            "counts": report.distances.counts.tolist(),
            "shares": SHARES,
            "quantiles": rounded_list(report.distances.quantiles),
            "mean": rounded(report.distances.mean),
            "least": rounded(report.distances.least),
            "most": rounded(report.distances.most),
            "worst": place.of_positions(report.distances.worst),
        },
        "criticisms": place.of_rows(report.criticisms),
        "coefficients": rounded_list(
            None if selection.coefficients is None else selection.coefficients[:n]
        ),
    }


class _Places:
    """The places of rows on the page, by number in the target or by position in the sample."""

    def __init__(self, report: ReportData) -> None:
        self._ids = report.sample.ids
        self._order = np.argsort(report.rows.ids)
        self._sorted = report.rows.ids[self._order]

    def of_rows(self, ids: Ids) -> list[int]:
        places: list[int] = self._order[np.searchsorted(self._sorted, ids)].tolist()
        return places

    def of_positions(self, positions: Ids) -> list[int]:
        return self.of_rows(self._ids[positions])

    def of_members(self, positions: Ids) -> list[list[int]]:
        return [self.of_positions(own[own != NONE]) for own in positions]


class _ValueCodes:
    """Labels or groups as integer codes, so that values stay distinct when shortened."""

    def __init__(self, *columns: list[str] | None) -> None:
        values = dict.fromkeys(value for column in columns for value in column or ())
        self._codes = {value: code for code, value in enumerate(values)}

    @property
    def names(self) -> list[str]:
        return [shortened(value, _MOST_NAME) for value in self._codes]

    def codes(self, values: Iterable[str] | None) -> list[int] | None:
        return None if values is None else [self._codes.get(value, NONE) for value in values]


def _names(rows: RowNames, labels: _ValueCodes) -> dict[str, Any]:
    return {
        "ids": rows.ids.tolist(),
        "names": rows.names,
        "labels": labels.codes(rows.labels),
    }


def _look(encoded: EncodedRows) -> dict[str, Any]:
    return {
        "kind": encoded.kind,
        "items": encoded.items,
        "head": encoded.head,
        "columns": list(encoded.columns),
    }


def _on_grid(rows: Doubles, prototypes: Doubles) -> tuple[Ids, Ids]:
    """Return points as integers, with the same scale on both axes."""
    everything = np.concatenate([rows, prototypes])
    low = everything.min(axis=0)
    span = float((everything.max(axis=0) - low).max()) or 1.0
    on_grid = np.rint((everything - low) / span * _GRID).astype(np.int64)
    return on_grid[: len(rows)], on_grid[len(rows) :]


def _composition(c: Composition, codes: _ValueCodes) -> dict[str, Any]:
    return {
        "name": c.name,
        "values": [shortened(value, _MOST_NAME) for value in c.values],
        "codes": codes.codes(c.values),
        "source": rounded_list(c.source),
        "target": rounded_list(c.target),
        "mass": rounded_list(c.mass),
        "counts": c.counts.tolist(),
    }
