"""What the test of a claim found, and how figures are told: as a table and as a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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

    ``summary`` is the small table, ``more`` are others by their captions; ``draw`` takes a path and
    makes the picture.
    """

    name: str
    title: str
    claim: str
    verdict: str
    findings: Sequence[str]
    summary: Sequence[Row]
    more: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    setting: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Claim:
    """How the figures of a claim are made, and what they come to."""

    measure: Callable[[Options], list[Row]]
    report: Callable[[list[Row]], Report]


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


# -- figures --------------------------------------------------------------------------------------


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


def read_csv(path: Path) -> list[Row]:
    """Return the rows of such a file: numbers, truths and words, and None where a cell is empty."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


_TRUTHS = {"": None, "True": True, "False": False}


def _value(cell: str) -> Any:
    if cell in _TRUTHS:
        return _TRUTHS[cell]
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
