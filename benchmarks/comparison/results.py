"""Results: one row per fit, in a CSV file that is replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.records import read_records, write_records

OK, FAILED, LIMIT, SKIPPED, MISSING = "ok", "failed", "limit", "skipped", "missing"


@dataclass(frozen=True, kw_only=True)
class Result:
    """The outcome of one fit; figures are None unless ``status`` is "ok".

    ``others_cores`` is the number of cores that other processes kept busy, ``baseline_mb`` the
    memory of the process before the fit (imports, rows), ``first_seconds`` the time of a first fit
    of a few rows.
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
        """Return problem, k and contestant: what the fits of several seeds have in common."""
        return self.problem, self.k, self.contestant

    @property
    def is_done(self) -> bool:
        return self.status == OK

    def is_no_smaller(self, other: Result) -> bool:
        """Return whether this fit is at least as large as another in n, n_target, d and k."""
        mine, theirs = ((r.n, r.n_target, r.d, r.k) for r in (self, other))
        return all(a >= b for a, b in zip(mine, theirs, strict=True))


def read(path: Path) -> list[Result]:
    """Return the rows of a file; empty without a file."""
    return read_records(path, Result)


def write(path: Path, results: list[Result]) -> None:
    """Replace the file as a whole."""
    write_records(path, Result, results)
