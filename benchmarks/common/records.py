"""Data files: rows of CSV (dataclasses or dictionaries), and measurements as JSON.

A measurement is one JSON file that a script writes in a single run: the figures, and the command,
the commit, the date and the machine that they come from. Tables and sentences of the documentation
are made from these files (benchmarks/readme.py).
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, TextIO, TypeVar

from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.sessions import Session

RESULTS = Path(__file__).parents[2] / "docs" / "results"
_PLACES = ("--data", "--peers", "--room")  # their values are paths of one machine

Record = TypeVar("Record")
_TYPES = {"int": int, "float": float, "str": str}


class DamagedTable(Exception):
    """A table cannot be read; the message says where and what to do."""


# -- dataclasses ----------------------------------------------------------------------------------


def columns(kind: type) -> list[str]:
    """Return the names of the fields of a dataclass."""
    return [field.name for field in fields(kind)]


def read_records(path: Path, kind: type[Record]) -> list[Record]:
    """Return the rows of a table; empty without a file.

    A last row without its line end was being written when the process was killed; it is ignored.
    """
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    lines = [*csv.reader(text[: text.rfind("\n") + 1].splitlines())]
    if not lines:
        return []
    header, *rows = lines
    if header != columns(kind):
        raise DamagedTable(
            f"{path.name} starts with {','.join(header)[:60]!r}, not with the {len(columns(kind))} "
            f"columns {','.join(columns(kind))[:60]}... Pass another --out, or move the file away."
        )
    return [_record(path, kind, number, row) for number, row in enumerate(rows, start=2)]


def _record(path: Path, kind: type[Record], number: int, row: list[str]) -> Record:
    try:
        values = [
            _value(str(field.type), cell) for field, cell in zip(fields(kind), row, strict=True)
        ]
    except ValueError as error:
        raise DamagedTable(
            f"{path.name}, line {number}: {','.join(row)[:60]!r} cannot be read ({error}). Remove "
            f"the line, or move the file away."
        ) from error
    return kind(**dict(zip(columns(kind), values, strict=True)))


def _value(kind: str, cell: str) -> Any:
    is_optional = kind.endswith(" | None")
    if is_optional and cell == "":
        return None
    return _TYPES[kind.removesuffix(" | None")](cell)


def write_records(path: Path, kind: type[Record], records: Iterable[Record]) -> None:
    """Replace a table as a whole."""
    write_text(path, "".join([_line(columns(kind)), *map(record_line, records)]))


@contextmanager
def appending(path: Path, kind: type) -> Iterator[TextIO]:
    """Open a table for appending; a last row without its line end is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1] or _line(columns(kind))
    if whole != text:
        write_text(path, whole)
    with path.open("a", encoding="utf-8", newline="") as file:
        yield file


def append(file: TextIO, record: Any) -> None:
    """Append a record with one call of ``write``."""
    file.write(record_line(record))
    file.flush()


def record_line(record: Any) -> str:
    """Return a record as a line of CSV; numbers keep eight digits."""
    return _line([f"{v:.8g}" if isinstance(v, float) else v for v in astuple(record)])


def _line(values: Sequence[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()


# -- dictionaries ---------------------------------------------------------------------------------


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return dictionaries as CSV; numbers keep six digits."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return buffer.getvalue()


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Return rows as dictionaries of numbers, booleans, text, and None for an empty cell."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _guess(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


_CONSTANTS = {"": None, "True": True, "False": False}


def _guess(cell: str) -> Any:
    if cell in _CONSTANTS:
        return _CONSTANTS[cell]
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


# -- measurements ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """Figures as JSON can hold them, and the run that computed all of them."""

    session: Session
    figures: Any


def write_measurement(
    path: Path,
    module: str,
    figures: Any,
    *,
    seconds: float,
    arguments: Sequence[str] | None = None,
) -> None:
    """Write figures with command, commit, date and machine; numbers keep six digits.

    JSON has no infinity and no NaN; they become None.
    ``seconds`` is how long the run took. ``arguments`` are those of the command, by default those
    of this process.
    """
    command = command_of(module, sys.argv[1:] if arguments is None else arguments)
    session = replace(sessions.current(command), minutes=math.ceil(seconds / 60))
    about = {name: value for name, value in asdict(session).items() if value is not None}
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {**about, "figures": _short(figures)}
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def read_measurement(path: Path) -> Measurement:
    """Return what `write_measurement` wrote."""
    record = json.loads(path.read_text(encoding="utf-8"))
    figures = record.pop("figures")
    return Measurement(Session(**record), figures)


def command_of(module: str, arguments: Sequence[str]) -> str:
    """Return the command of a script, with DIR in place of folders of this machine."""
    shown, is_place = [], False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if is_place or (equals and name in _PLACES):
            shown.append("DIR" if is_place else f"{name}=DIR")
        else:
            shown.append(argument)
        is_place = argument in _PLACES
    return " ".join(["python -m", module, *shown])


def _short(value: Any) -> Any:
    """Return a value with six digits in every float, and None for one that is not finite."""
    if isinstance(value, Mapping):
        return {str(name): _short(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
