"""What the test of a claim found, and how it is told: a table, a CSV file, a figure, a page."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where the data and the rivals are, and how many seeds to run."""

    data: Path | None = None
    peers: Path | None = None
    seeds: int = 5


@dataclass(frozen=True, kw_only=True)
class Report:
    """One claim: what the paper says, what was measured, and whether they agree.

    ``rows`` are the tidy figures for the CSV file, ``summary`` the small table; ``draw`` takes a
    path and makes the picture.
    """

    name: str
    title: str
    claim: str
    verdict: str
    findings: Sequence[str]
    summary: Sequence[Row]
    rows: Sequence[Row]
    setting: str
    draw: Callable[[Path], None]


Claim: TypeAlias = Callable[[Options], Report]


# -- tables ---------------------------------------------------------------------------------------


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return a table as words: its head, then its rows; what a row lacks is left empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [columns, *([words(row.get(name)) for name in columns] for row in rows)]


def words(value: Any) -> str:
    """Return a number with three or four digits, anything else as it is."""
    if value is None:
        return ""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e5:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) >= 1e4 or abs(value) < 1e-2 else f"{value:.4g}"


def plain(rows: Sequence[Row]) -> str:
    """Return a table for the terminal."""
    lines = cells(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return a table for a page."""
    head, *lines = ([escaped(cell).replace("|", "\\|") for cell in line] for line in cells(rows))
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))


def escaped(text: str) -> str:
    """Return words for a page, where a star would mean emphasis."""
    return text.replace("*", "\\*")


# -- files ----------------------------------------------------------------------------------------


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def csv_text(rows: Iterable[Row]) -> str:
    """Return rows as a CSV file; numbers keep six digits."""
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return buffer.getvalue()


def section(report: Report) -> str:
    """Return what the page says of a claim."""
    parts = [
        f"## {report.title}",
        f"> {escaped(report.claim)}",
        f"**{escaped(report.verdict)}**",
        "\n".join(f"- {escaped(finding)}" for finding in report.findings),
        markdown(report.summary),
        f"![{report.title}]({report.name}.svg)",
        f"{report.setting} All figures: [{report.name}.csv]({report.name}.csv).",
    ]
    return "\n\n".join(parts)


_VERDICT = re.compile(r"^## (.+)\n\n> .+\n\n\*\*(.+)\*\*$", re.MULTILINE)


def overview(page: str) -> str:
    """Return a table of the claims that a page has sections on, and what became of them."""
    found = _VERDICT.findall(page)
    lines = [f"| {title} | {verdict} |".replace("|S|", r"\|S\|") for title, verdict in found]
    return "\n".join(["| claim | on our runs |", "| --- | --- |", *lines])


def with_section(page: str, name: str, text: str) -> str:
    """Return the page with this claim's section written anew, or added at its end."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    block = f"{start}\n{text}\n{end}"
    found = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if found.search(page):
        return found.sub(lambda _: block, page)
    return f"{page.rstrip()}\n\n{block}\n"
