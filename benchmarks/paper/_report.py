"""Tables, figures and the summary of whatever was computed into a folder."""

from __future__ import annotations

from pathlib import Path

from benchmarks._files import write_text
from benchmarks.paper._cells import read_cells
from benchmarks.paper._figures import draw_figures
from benchmarks.paper._grid import GRIDS
from benchmarks.paper._sessions import read_sessions
from benchmarks.paper._statistics import Results, results, tidy
from benchmarks.paper._summary import summary


class NothingYet(Exception):
    """No run is whole yet; the message says of what."""


def report(out: Path) -> list[Path]:
    """Write the summaries of all grids in a folder, and return the files written."""
    found = [each for each in (_results(out, name) for name in GRIDS) if each is not None]
    if not found:
        raise NothingYet(
            f"{out} holds no table with a whole run. Run `python -m benchmarks.paper mnist --data "
            f"DIR --out {out}` first, or let it go on until its first run is done."
        )
    written: list[Path] = []
    for each in found:
        table = out / f"{each.grid.name}-summary.csv"
        write_text(table, tidy(each))
        written += [table, *draw_figures(each, out)]
    sessions = {each.grid.name: read_sessions(out / f"{each.grid.name}.json") for each in found}
    text = out / "README.md"
    write_text(text, summary(found, sessions))
    return [*written, text]


def _results(out: Path, name: str) -> Results | None:
    return results(GRIDS[name], read_cells(out / f"{name}.csv"))
