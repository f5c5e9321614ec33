"""Markdown: tables, numbers, and tables between markers of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
_MARKED = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, rule: str = "---") -> str:
    """Return a Markdown table; ``rule`` aligns all columns but the first ("---:" is right)."""
    lines = [_line(header), _plain_line(["---", *[rule] * (len(header) - 1)]), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return _plain_line([cell.replace("|", "\\|") for cell in cells])


def _plain_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown(rows: Sequence[Row]) -> str:
    """Return dictionaries as a Markdown table; numbers are on the right."""
    header, *lines = ([escaped(cell) for cell in line] for line in _cells(rows))
    return table(header, lines, rule="---:")


def plain(rows: Sequence[Row]) -> str:
    """Return dictionaries as a table for the terminal."""
    lines = _cells(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def _cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return header and rows as text; a column that a row does not have is empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [columns, *([short(row.get(name)) for name in columns] for row in rows)]


def escaped(text: str) -> str:
    """Return text in which a star is not Markdown's emphasis."""
    return text.replace("*", "\\*")


def short(value: Any) -> str:
    """Return a number with three or four digits, "" for None, and other values as text."""
    if value is None:
        return ""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e5:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) >= 1e4 or abs(value) < 1e-2 else f"{value:.4g}"


def scientific(number: float) -> str:
    """Return a number as 2.7e8, and 0 as 0."""
    if not number:
        return "0"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def with_tables(page: str, tables: Mapping[str, Callable[[], Iterator[str]]]) -> str:
    """Return a page in which the text between ``<!-- table NAME -->`` and ``<!-- end -->`` is new.

    Tables that are not in ``tables`` are left as they are.
    """

    def replacement(found: re.Match[str]) -> str:
        if found[2] not in tables:
            return found[0]
        return found[1] + "\n".join(tables[found[2]]()) + "\n" + found[4]

    return _MARKED.sub(replacement, page)
