"""A selection as a small HTML table, which notebooks show."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from protobandit.foundation.visible_text import visible
from protobandit.result.queries import Queries
from protobandit.result.report.number_format import shown_error
from protobandit.result.table import own_columns

_N_ROWS = 10
_N_COLUMNS = 6
_MOST_TEXT = 40  # characters of a value
# Notebooks are light or dark: colours come from the text, and nothing else is assumed.
_CELL = "padding:.15em .7em;text-align:right"
_BAR = "display:inline-block;height:.6em;background:currentColor;opacity:.45;vertical-align:middle"


def selection_html(selection: Queries, *, title: str) -> str:
    """Return the prototypes, best first, their share of the target, and the status."""
    columns = own_columns(selection)
    # A vector that is cut off after a few components tells nothing.
    names = [name for name in columns if not isinstance(columns[name][0], np.ndarray)]
    names = names[:_N_COLUMNS]
    head = "".join(
        f'<th style="{_CELL}">{_text(name)}</th>'
        for name in ("", "row", "represents", "cost", *names)
    )
    lines = []
    largest = float(selection.mass.max()) or 1.0
    for i in range(min(selection.k, _N_ROWS)):
        mass = float(selection.mass[i])
        bar = f'<span style="{_BAR};width:{4 * mass / largest:.2f}em"></span>'
        cells = [
            str(i + 1),
            f"{int(selection.indices[i]):,}",
            f"{bar} {mass:.1%}",
            f"{selection.costs[i]:.5g}",
            *(_text(_shown(columns[name][i])) for name in names),
        ]
        cells = [f'<td style="{_CELL}">{cell}</td>' for cell in cells]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    rest = selection.k - _N_ROWS
    more = f"<p>… and {rest:,} more prototypes</p>" if rest > 0 else ""
    error = shown_error(selection.cost_error)
    return (
        f'<div class="protobandit-selection"><p><b>{_text(title)}</b>, cost '
        f"{selection.cost:.5g}{error}</p>"
        f'<table style="color:inherit"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>{more}"
        f"<p>{_text(selection.status)}</p></div>"
    )


def _shown(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _text(value: Any) -> str:
    return escape(visible(str(value)))
