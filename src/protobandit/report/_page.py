"""Findings as one HTML page that needs nothing but itself.

Rules
-----
1. The page loads nothing: its policy forbids every request, and allows the one style sheet and the
   one script whose digests it names.
2. What comes from data is text: escaped here, or data that the script writes with textContent.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from protobandit.report._about import About
from protobandit.report._findings import Findings
from protobandit.report._pack import pack
from protobandit.report._words import as_json

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


def page(found: Findings) -> str:
    """Return the report as one self-contained HTML page.

    Examples
    --------
    >>> import protobandit as pb
    >>> from protobandit import report
    >>> rows = [[0.0], [1.0], [9.0], [10.0]]
    >>> look = report.Exhibit(kind="records", take=lambda ids: {"x": [rows[i][0] for i in ids]})
    >>> found = report.findings(pb.select(rows, k=2), rows, source=look, target=look)
    >>> report.page(found).startswith("<!doctype html>")
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
            "agreement": _agreement(found.agreement),
            "distances_note": _distances_note(found),
            "notes": "".join(f"<li>{escape(note)}</li>" for note in found.notes),
            "shares_hidden": "" if found.compositions else " hidden",
            "notes_hidden": "" if found.notes else " hidden",
        },
    )


@cache
def _asset(name: str) -> str:
    return (files("protobandit.report") / "assets" / name).read_text(encoding="utf-8")


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
    return f"{about.k:,} prototype{'' if about.k == 1 else 's'} for {_rows(about.n_target)}"


def _lead(about: About) -> str:
    whence = "" if about.n_source is None else f" from {_rows(about.n_source)}"
    how = f"by {about.method}, {about.metric} distance, in {_time(about.seconds)}"
    return escape(f"Chosen{whence} {how}.")


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _facts(found: Findings) -> str:
    about = found.about
    error = f"± {about.cost_error:.2g}" if about.cost_error > 0 else "exact"
    facts = [
        ("Cost", f"{about.cost:.5g}", f"mean distance to the nearest prototype, {error}"),
        ("Evaluations", _count(about.searched), _against_exact(about)),
    ]
    if about.certified is not None:
        facts.append(("Certificate", f"≤ {about.certified:.4g} ×", "the best possible cost"))
    if found.agreement is not None:
        facts.append(
            (
                "Same label",
                _percent(found.agreement),
                "of target rows carry their prototype's label",
            )
        )
    return "".join(
        f'<div class="fact"><dt>{escape(name)}</dt><dd><b>{escape(value)}</b>'
        f"<span>{escape(note)}</span></dd></div>"
        for name, value, note in facts
    )


def _against_exact(about: About) -> str:
    if about.n_exact is None or about.n_pairs is None:
        return "dissimilarities computed"
    return (
        f"{_ratio(about.searched, about.n_exact)} exact greedy's {_EXACT}, "
        f"{_ratio(about.searched, about.n_pairs)} all {_PAIRS} pairs"
    )


def _ratio(part: int, whole: int) -> str:
    if part == 0:
        return "none of"
    if part == whole:
        return "as many as"
    return f"1/{_count(whole / part)} of" if part < whole else f"{part / whole:.3g} times"


def _count(n: float) -> str:
    """Return a count that reads at a glance."""
    for size, unit in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.3g}" if n < 10 and n != int(n) else f"{n:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def _details(about: About) -> str:
    phases = ", ".join(f"{name} {n:,}" for name, n in about.evaluations_by_phase.items() if n)
    entries = {
        "Source rows": "not known" if about.n_source is None else f"{about.n_source:,}",
        "Target rows": f"{about.n_target:,}",
        "Method": about.method,
        "Metric": about.metric,
        "Evaluations": f"{about.evaluations:,}" + (f" ({phases})" if phases else ""),
        "Lookups": f"{about.lookups:,}",
        _EXACT: "" if about.n_exact is None else f"{about.n_exact:,}",
        _PAIRS: "" if about.n_pairs is None else f"{about.n_pairs:,}",
        "Guarantee": about.guarantee or "none: a heuristic run",
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


def _agreement(share: float | None) -> str:
    if share is None:
        return ""
    return f"{_percent(share)} of target rows carry the label of their nearest prototype."


def _distances_note(found: Findings) -> str:
    of = "All" if found.sample.is_whole else "A random sample of"
    return f"{of} {_rows(len(found.sample))} of the target, by weight."
