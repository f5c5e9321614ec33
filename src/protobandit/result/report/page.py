"""Findings as one HTML page that needs nothing but itself.

Rules
-----
1. The page loads nothing: its policy forbids every request, and allows the one style sheet and the
   one script whose digests it names.
2. What comes from data is text: escaped here, or data that the script writes with textContent.
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

from protobandit.result.report.findings import ReportData
from protobandit.result.report.numerals import count, n_rows, percent, ratio, time
from protobandit.result.report.page_data import pack
from protobandit.result.report.summary import About
from protobandit.result.report.text import as_json, rounded_up

_SCRIPTS = (
    "dom.js",
    "look.js",
    "panel.js",
    "gallery.js",
    "chart.js",
    "curve.js",
    "spread.js",
    "shares.js",
    "map.js",
    "main.js",
)
_PAIRS = "|S|\u2060·\u2060|T|"  # in one piece
_EXACT = f"k\u2060·\u2060{_PAIRS}"
_BLANK = re.compile(r"\{\{(\w+)\}\}")
_ALIKE = 1e-5  # a mean of single precision and the cost it should be


def page(found: ReportData) -> str:
    """Return the report as one self-contained HTML page.

    Examples
    --------
    >>> import protobandit as pb
    >>> from protobandit.result.report.exhibit import Exhibit
    >>> from protobandit.result.report.findings import findings
    >>> rows = [[0.0], [1.0], [9.0], [10.0]]
    >>> look = Exhibit(kind="records", take=lambda ids: {"x": [rows[i][0] for i in ids]})
    >>> found = findings(pb.select(rows, k=2), rows, source=look, target=look)
    >>> page(found).startswith("<!doctype html>")
    True
    """
    style, script = _asset("page.css"), _script()
    about = found.about
    return _filled(
        _asset("page.html"),
        {
            "policy": _policy(style, script),
            "style": style,
            "script": script,
            "data": as_json(pack(found)),
            "title": _title(about),
            "lead": _lead(about),
            "status": escape(about.status),
            "facts": _facts(found),
            "details": _details(about),
            "command": _command(about),
            "map_note": escape(found.plane.note),
            "agreement": escape(_agreement(found)),
            "distances_note": escape(_distances_note(found)),
            "notes": "".join(f"<li>{escape(note)}</li>" for note in found.notes),
            "shares_hidden": "" if found.compositions else " hidden",
            "notes_hidden": "" if found.notes else " hidden",
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
    """Fill every blank once: what is filled in is not looked at again."""
    return _BLANK.sub(lambda blank: parts[blank.group(1)], template)


def _title(about: About) -> str:
    return f"{about.k:,} prototype{'' if about.k == 1 else 's'} for {n_rows(about.n_target)}"


def _lead(about: About) -> str:
    whence = "" if about.n_source is None else f" from {n_rows(about.n_source)}"
    how = f"by {about.method}, {about.metric} distance, in {time(about.seconds)}"
    return escape(f"Chosen{whence} {how}.")


def _facts(found: ReportData) -> str:
    about = found.about
    facts = [
        ("Cost", f"{about.cost:.5g}", f"mean distance to the nearest prototype, {_error(about)}"),
        ("Evaluations", count(about.searched), _against_exact(about)),
    ]
    if about.certified is not None:
        bound = f"≤ {rounded_up(about.certified)} ×"
        facts.append(("Certificate", bound, f"the best possible cost, {about.certainty}"))
    if found.agreement is not None:
        same = f"{_of_rows(found)} carry their prototype's label"
        facts.append(("Same label", percent(found.agreement.share), same))
    return "".join(
        f'<div class="fact"><dt>{escape(name)}</dt><dd><b>{escape(value)}</b>'
        f"<span>{escape(note)}</span></dd></div>"
        for name, value, note in facts
    )


def _against_exact(about: About) -> str:
    if about.n_exact is None or about.n_pairs is None:
        return "dissimilarities computed"
    return (
        f"{ratio(about.searched, about.n_exact)} exact greedy's {_EXACT}, "
        f"{ratio(about.searched, about.n_pairs)} all {_PAIRS} pairs"
    )


def _details(about: About) -> str:
    phases = ", ".join(f"{name} {n:,}" for name, n in about.evaluations_by_phase.items() if n)
    entries = {
        "Source rows": "not known" if about.n_source is None else f"{about.n_source:,}",
        "Target rows": f"{about.n_target:,}",
        "Method": about.method,
        "Metric": about.metric,
        "Preparation": about.preparation,
        "Classes": about.classes,
        "Spent": about.spent,
        "Evaluations": f"{about.evaluations:,}" + (f" ({phases})" if phases else ""),
        "Lookups": f"{about.lookups:,}",
        _EXACT: "" if about.n_exact is None else f"{about.n_exact:,}",
        _PAIRS: "" if about.n_pairs is None else f"{about.n_pairs:,}",
        "Guarantee": about.guarantee or "none",
        "Certificate": about.certificate or "none asked for",
    } | {f"parameter {name}": value for name, value in about.parameters.items()}
    return "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in entries.items()
        if value
    )


def _command(about: About) -> str:
    if not about.command:
        return ""
    return (
        '<div class="command"><pre id="command" tabindex="0" aria-label="Command to repeat this">'
        f'<code>{escape(about.command)}</code></pre><button type="button" id="copy">Copy</button>'
        "</div>"
    )


def _error(about: About) -> str:
    if about.cost_error == 0:
        return "exact"
    if math.isnan(about.cost_error):
        return "its error is not known"
    return f"± {about.cost_error:.2g} standard error"


def _of_rows(found: ReportData) -> str:
    """Say of which target rows, and how they count."""
    sample = found.sample
    of = "of target rows" if sample.is_whole else f"of {n_rows(len(sample))} drawn from the target"
    return f"{of}, by weight," if sample.is_weighted else of


def _agreement(found: ReportData) -> str:
    if found.agreement is None:
        return ""
    share, n_left_out = found.agreement
    without = f"; {n_rows(n_left_out)} without a label left out" if n_left_out else ""
    return (
        f"{percent(share)} {_of_rows(found)} carry the label of their nearest prototype{without}."
    )


def _distances_note(found: ReportData) -> str:
    sample, about = found.sample, found.about
    of = "All" if sample.is_whole else "A random sample of"
    weighted = ", by weight" if sample.is_weighted else ""
    rows = n_rows(len(sample)) + " of the target"
    rows += "" if sample.n_all == sample.n_target else " that have weight"
    how = f"{about.metric} distance" + (" of prepared rows" if about.preparation else "")
    note = f"{of} {rows}{weighted}; {how}."
    if math.isclose(found.spread.mean, about.cost, rel_tol=_ALIKE):
        return note
    ours = "these rows" if sample.is_whole else "this sample"
    theirs = "the rows the selection was made for"
    if about.cost_error != 0:
        theirs = "other rows, which the method drew"
    elif not sample.is_whole:
        theirs = "all rows"
    return f"{note} The mean is that of {ours}, the cost above that of {theirs}."
