"""A report as one self-contained HTML page.

Rules
-----
1. The page loads nothing. Its content security policy forbids every request and allows only the one
   style sheet and the one script whose digests it contains.
2. Values from data are always text: escaped here, or written by the script with textContent.
"""

from __future__ import annotations

import hashlib
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from protobandit.foundation.checks import rounded_up
from protobandit.result.report.drift_section import drift_section
from protobandit.result.report.number_format import (
    format_count,
    format_duration,
    format_percent,
    format_ratio,
    format_rows,
)
from protobandit.result.report.report_data import ReportData
from protobandit.result.report.safe_text import script_json
from protobandit.result.report.script_data import script_data
from protobandit.result.report.summary import SelectionSummary

_SCRIPTS = (
    "dom.js",
    "rows.js",
    "panel.js",
    "gallery.js",
    "chart.js",
    "curve.js",
    "distances.js",
    "composition.js",
    "map.js",
    "main.js",
)
_PAIRS = "|S|\u2060·\u2060|T|"  # word joiners prevent a line break
_EXACT = f"k\u2060·\u2060{_PAIRS}"
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_SAME_MEAN = 1e-5  # relative; distances may have single precision


def page(report: ReportData) -> str:
    """Return the report as one self-contained HTML page.

    Examples
    --------
    >>> import protobandit as pb
    >>> from protobandit.result.report.report_data import report_data
    >>> from protobandit.result.report.row_display import RowDisplay
    >>> rows = [[0.0], [1.0], [9.0], [10.0]]
    >>> display = RowDisplay(kind="records", take=lambda ids: {"x": [rows[i][0] for i in ids]})
    >>> report = report_data(pb.select(rows, k=2), rows, source=display, target=display)
    >>> page(report).startswith("<!doctype html>")
    True
    """
    style, script = _asset("page.css"), _script()
    summary = report.summary
    return _filled(
        _asset("page.html"),
        {
            "policy": _policy(style, script),
            "style": style,
            "script": script,
            "data": script_json(script_data(report)),
            "title": _title(summary),
            "lead": _lead(summary),
            "status": _status(summary),
            "facts": _facts(report),
            "details": _details(summary),
            "command": _command(summary),
            "map_note": escape(report.projection.note),
            "agreement": escape(_agreement(report)),
            "distances_note": escape(_distances_note(report)),
            "drift": drift_section(report.drift),
            "drift_link": "" if report.drift is None else '<a href="#drift">New rows</a>',
            "notes": "".join(f"<li>{escape(note)}</li>" for note in report.notes),
            "shares_hidden": "" if report.compositions else " hidden",
            "notes_hidden": "" if report.notes else " hidden",
        },
    )


@cache
def _asset(name: str) -> str:
    return (files("protobandit.result.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return "\n".join(('(() => {\n"use strict";', *(_asset(name) for name in _SCRIPTS), "})();"))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
        f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Fill in every placeholder in one pass, so that text filled in is never filled in again."""
    return _PLACEHOLDER.sub(lambda found: parts[found.group(1)], template)


def _title(summary: SelectionSummary) -> str:
    prototypes = format_rows(summary.selection.k, "prototype")
    return f"{prototypes} for {format_rows(summary.n_target)}"


def _lead(summary: SelectionSummary) -> str:
    origin = "" if summary.n_source is None else f" from {format_rows(summary.n_source)}"
    seconds = format_duration(summary.selection.seconds)
    how = f"by {summary.method}, {summary.metric} distance, in {seconds}"
    return escape(f"Chosen{origin} {how}.")


def _status(summary: SelectionSummary) -> str:
    """Return the status, with its warnings emphasised."""
    status = escape(summary.status)
    for warning in map(escape, summary.warnings):
        status = status.replace(warning, f'<strong class="warning">{warning}</strong>')
    return status


def _facts(report: ReportData) -> str:
    summary = report.summary
    facts = [
        (
            "Cost",
            f"{summary.selection.cost:.5g}",
            f"mean distance to the nearest prototype, {_error(summary)}",
        ),
    ]
    if summary.certified is not None:
        bound = f"≤ {rounded_up(summary.certified)} ×"
        facts.append(("Certificate", bound, f"the best possible cost, {summary.confidence}"))
    if report.agreement is not None:
        same = f"{_of_rows(report)} have their prototype's label"
        facts.append(("Same label", format_percent(report.agreement.share), same))
    return "".join(
        f'<div class="fact"><dt>{escape(name)}</dt><dd><b>{escape(value)}</b>'
        f"<span>{escape(note)}</span></dd></div>"
        for name, value, note in facts
    )


def _against_exact(summary: SelectionSummary) -> str:
    if summary.n_exact is None or summary.n_pairs is None:
        return "dissimilarities computed"
    return (
        f"{format_ratio(summary.search_evaluations, summary.n_exact)} exact greedy's {_EXACT}, "
        f"{format_ratio(summary.search_evaluations, summary.n_pairs)} all {_PAIRS} pairs"
    )


def _details(summary: SelectionSummary) -> str:
    selection = summary.selection
    counts = selection.evaluations_by_phase
    phases = ", ".join(f"{name} {n:,}" for name, n in counts.items() if n)
    entries = {
        "Source rows": "not known" if summary.n_source is None else f"{summary.n_source:,}",
        "Target rows": f"{summary.n_target:,}",
        "Method": summary.method,
        "Metric": summary.metric,
        "Columns": summary.columns,
        "Left out": summary.columns_left_out,
        "Preparation": summary.preparation,
        "Classes": summary.classes,
        "Spent": summary.spent,
        "Evaluations": f"{selection.evaluations:,}" + (f" ({phases})" if phases else ""),
        "Search": f"{format_count(summary.search_evaluations)} evaluations, "
        f"{_against_exact(summary)}",
        "Lookups": f"{selection.lookups:,}",
        _EXACT: "" if summary.n_exact is None else f"{summary.n_exact:,}",
        _PAIRS: "" if summary.n_pairs is None else f"{summary.n_pairs:,}",
        "Guarantee": summary.guarantee or "none",
        "Certificate": summary.certificate or "none requested",
    } | {f"parameter {name}": value for name, value in summary.parameters.items()}
    return "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in entries.items()
        if value
    )


def _command(summary: SelectionSummary) -> str:
    if not summary.command:
        return ""
    return (
        '<div class="command"><pre id="command" tabindex="0" aria-label="Command to repeat this">'
        f'<code>{escape(summary.command)}</code></pre><button type="button" id="copy">Copy</button>'
        "</div>"
    )


def _error(summary: SelectionSummary) -> str:
    if summary.selection.cost_error == 0:
        return "exact"
    if math.isnan(summary.selection.cost_error):
        return "with unknown error"
    return f"± {summary.selection.cost_error:.2g} standard error"


def _of_rows(report: ReportData) -> str:
    """Return a phrase for the rows that a share refers to."""
    sample = report.sample
    of = (
        "of target rows"
        if sample.is_whole
        else f"of {format_rows(len(sample))} drawn from the target"
    )
    return f"{of}, by weight," if sample.is_weighted else of


def _agreement(report: ReportData) -> str:
    if report.agreement is None:
        return ""
    share, n_left_out = report.agreement
    without = f"; {format_rows(n_left_out)} without a label left out" if n_left_out else ""
    subject = f"{format_percent(share)} {_of_rows(report)}"
    return f"{subject} have the label of their nearest prototype{without}."


def _distances_note(report: ReportData) -> str:
    sample, summary = report.sample, report.summary
    of = "All" if sample.is_whole else "A random sample of"
    weighted = ", by weight" if sample.is_weighted else ""
    rows = format_rows(len(sample)) + " of the target"
    rows += "" if sample.n_all == sample.n_target else " with positive weight"
    how = f"{summary.metric} distance" + (" of prepared rows" if summary.preparation else "")
    note = f"{of} {rows}{weighted}; {how}."
    if report.distances.beyond > 0:
        share = format_percent(report.distances.beyond)
        note += (
            f" The histogram leaves out the farthest rows ({share}, up to "
            f"{report.distances.most:.4g})."
        )
    if math.isclose(report.distances.mean, summary.selection.cost, rel_tol=_SAME_MEAN):
        return note
    mean_rows = "these rows" if sample.is_whole else "this sample"
    cost_rows = "the rows the selection was made for"
    if summary.selection.cost_error != 0:
        cost_rows = "other rows that the method drew"
    elif not sample.is_whole:
        cost_rows = "all rows"
    return f"{note} The mean is that of {mean_rows}; the cost above is that of {cost_rows}."
