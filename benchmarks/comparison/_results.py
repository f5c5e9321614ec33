"""The results: one row a fit, in a CSV file that is whole at every moment."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks._files import write_text

OK, FAILED, LIMIT, SKIPPED, MISSING = "ok", "failed", "limit", "skipped", "missing"
_INTS = {"n", "n_target", "d", "k", "seed", "n_prototypes"}
_WORDS = {"problem", "contestant", "version", "python", "status", "reason"}
_DECIMALS = {"cost": 8}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one fit; figures are None unless it was done.

    ``others_cores`` is how many cores other processes kept busy meanwhile, ``baseline_mb`` what the
    process held before the fit (imports, rows), ``first_seconds`` a first fit of a few rows.
    """

    problem: str
    n: int
    n_target: int
    d: int
    k: int
    seed: int
    contestant: str
    status: str
    reason: str = ""
    limit: float = 0.0
    seconds: float | None = None
    matrix_seconds: float | None = None
    cost: float | None = None
    n_prototypes: int | None = None
    baseline_mb: float | None = None
    peak_mb: float | None = None
    import_seconds: float | None = None
    first_seconds: float | None = None
    others_cores: float | None = None
    version: str = ""
    python: str = ""

    @property
    def cell(self) -> tuple[str, int, str]:
        return self.problem, self.k, self.contestant

    @property
    def is_done(self) -> bool:
        return self.status == OK

    def is_no_smaller(self, other: Result) -> bool:
        """Return whether this fit is as large as another in all that counts."""
        mine, theirs = ((r.n, r.n_target, r.d, r.k) for r in (self, other))
        return all(a >= b for a, b in zip(mine, theirs, strict=True))


COLUMNS = tuple(field.name for field in fields(Result))


def read(path: Path) -> list[Result]:
    """Return the rows of a file, none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise SystemExit(
                f"{path.name} has the columns {reader.fieldnames}, and not those of this race, "
                f"{list(COLUMNS)}. Name another --out, or move it away."
            )
        return [Result(**{name: _value(name, row[name]) for name in COLUMNS}) for row in reader]


def write(path: Path, results: list[Result]) -> None:
    """Write all rows, or leave the file as it was."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        row = asdict(result)
        writer.writerow([_words(name, row[name]) for name in COLUMNS])
    write_text(path, table.getvalue())


def _value(name: str, words: str) -> Any:
    if name in _WORDS:
        return words
    if words == "":
        return None
    return int(words) if name in _INTS else float(words)


def _words(name: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.{_DECIMALS.get(name, 4)}f}" if isinstance(value, float) else str(value)
