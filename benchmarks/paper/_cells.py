"""The table of finished cells: one row each, appended as it is finished, read again on the way on.

A killed run leaves at worst a last row without its end, which is dropped and computed anew.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TextIO

from benchmarks._files import write_text
from benchmarks.paper._grid import Key


class SpoiltTable(Exception):
    """A table of cells cannot be read; the message says where and what to do."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method on one problem.

    ``pulls`` are rewards asked for, one arm at one target row; ``comparisons`` is what they cost by
    the paper's rule, ``evaluations`` by ours; ``f`` is in units of ``scale``, the largest distance.
    """

    dataset: str
    run: int
    skew: int
    k: int
    method: str
    epsilon: float
    nu_step: float
    n_source: int
    n_target: int
    scale: float
    pulls: int
    comparisons: int
    evaluations: int
    cost: float
    f: float
    accuracy_nearest: float
    accuracy_barycentric: float

    @property
    def key(self) -> Key:
        """Return what names the cell."""
        return Key(*(getattr(self, name) for name in Key._fields))


_NAMES = [field.name for field in fields(Cell)]
_TYPES = {"int": int, "float": float, "str": str}
_READERS = [_TYPES[str(field.type)] for field in fields(Cell)]


def read_cells(path: Path) -> list[Cell]:
    """Return the finished cells; none where there is no file yet."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines:
        return []
    if lines[0].split(",") != _NAMES:
        raise SpoiltTable(
            f"{path} starts with {lines[0][:60]!r}, not with the names of {len(_NAMES)} columns. "
            f"Move it away, or pass --no-resume."
        )
    rows = csv.reader(lines[1:])
    return [_cell(path, number, row) for number, row in enumerate(rows, start=2)]


def _cell(path: Path, number: int, row: list[str]) -> Cell:
    try:
        values = [read(value) for read, value in zip(_READERS, row, strict=True)]
    except ValueError as error:
        raise SpoiltTable(
            f"{path}, line {number}: {','.join(row)[:60]!r} is not a cell ({error}). Remove the "
            f"line, or pass --no-resume."
        ) from error
    return Cell(**dict(zip(_NAMES, values, strict=True)))


@contextmanager
def appending(path: Path) -> Iterator[TextIO]:
    """Open a table to append cells to it, mended if its last row was torn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1] or ",".join(_NAMES) + "\n"
    if whole != text:
        write_text(path, whole)
    with path.open("a", encoding="utf-8", newline="") as file:
        yield file


def append(file: TextIO, cell: Cell) -> None:
    """Add one cell, in one piece."""
    row = io.StringIO()
    values = [f"{v:.8g}" if isinstance(v, float) else v for v in astuple(cell)]
    csv.writer(row, lineterminator="\n").writerow(values)
    file.write(row.getvalue())
    file.flush()
