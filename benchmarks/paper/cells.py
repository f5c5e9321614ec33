"""Cells: the result of one method on one problem, one row each in a CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.records import read_records
from benchmarks.paper.grid import Key


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method on one problem.

    ``pulls`` counts rewards, one arm at one target row. ``comparisons`` is their cost by the
    paper's rule, ``evaluations`` the dissimilarities computed. ``f`` is in units of ``scale``, the
    largest distance.
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
        """Return what identifies the cell."""
        return Key(*(getattr(self, name) for name in Key._fields))


def read_cells(path: Path) -> list[Cell]:
    """Return the finished cells; empty without a file."""
    return read_records(path, Cell)
