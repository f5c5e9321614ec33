"""The section of a page that compares new rows with those of the target."""

from __future__ import annotations

from html import escape

from protobandit.foundation.array_types import Ids
from protobandit.result.drift import Drift
from protobandit.result.report.number_format import format_percent

_MOST_ROWS = 10


def drift_section(drift: Drift | None) -> str:
    """Return the section, or nothing without new rows."""
    if drift is None:
        return ""
    facts = [
        (
            "Cost ratio",
            f"{drift.ratio:.4g} ×",
            f"mean distance {drift.cost:.5g}; {drift.reference_cost:.5g} is expected",
        ),
        (
            "p-value",
            drift.p_value_text,
            "probability of such a ratio if nothing has changed",
        ),
        (
            "Far rows",
            format_percent(drift.share_beyond),
            "beyond the distance that contains 95 % of the reference; 5 % are expected",
        ),
        (
            "Mass moved",
            format_percent(drift.mass_moved),
            "of the rows have another nearest prototype than in the target",
        ),
    ]
    shown = "".join(
        f'<div class="fact"><dt>{escape(name)}</dt><dd><b>{escape(value)}</b>'
        f"<span>{escape(note)}</span></dd></div>"
        for name, value, note in facts
    )
    lines = "".join(
        f'<tr><th scope="row">{100 * each.share:.0f}\u00a0%</th><td>{each.reference:.5g}</td>'
        f"<td>{each.new:.5g}</td></tr>"
        for each in drift.quantiles
    )
    emphasis = ' class="warning"' if drift.is_significant else ""
    rows = [f"Represented worst are the new rows {_listed(drift.worst_rows)}."]
    if len(drift.rows_to_add):
        rows.append(f"Worth adding as prototypes are the new rows {_listed(drift.rows_to_add)}.")
    return (
        '<section id="drift" aria-labelledby="h-drift"><div class="head">'
        '<h2 id="h-drift">New rows</h2>'
        f"<p><strong{emphasis}>{escape(drift.verdict)}</strong> {drift.n_rows:,} new rows are "
        f"compared with {drift.n_reference:,} rows like those of the target that had no part in "
        f'the selection.</p></div><dl class="facts">{shown}</dl>'
        '<table class="numbers wide"><caption>Distance within which a share of the rows lies'
        '</caption><thead><tr><th scope="col">share</th><th scope="col">expected</th>'
        f'<th scope="col">new rows</th></tr></thead><tbody>{lines}</tbody></table>'
        f"<p>{escape(' '.join(rows))}</p></section>"
    )


def _listed(rows: Ids) -> str:
    return ", ".join(f"{int(row):,}" for row in rows[:_MOST_ROWS])
