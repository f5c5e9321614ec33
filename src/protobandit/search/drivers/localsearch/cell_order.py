"""The greedy order of very many prototypes, found in cells.

A table of enough target rows and of all prototypes would be too large. So the order is found in
levels. At first all prototypes are in one cell. In every cell the best few are chosen greedily, on
some rows of the cell; then its rows and its other prototypes go to the nearest of these, in smaller
cells. A cell of few prototypes is ordered as a whole. Gains are those within the cell, so they are
estimates; the prototypes of all cells are sorted by them.

A prototype belongs to the cell of the row, nearest to a chosen prototype, that it is nearest to:
only dissimilarities of a target row and a source row are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import as_slice, cuts
from protobandit.kernels.greedy_order import greedy_order
from protobandit.oracle.oracle import Oracle

_FEW = 512  # prototypes of a cell that are ordered as a whole
_FEWEST_CHOSEN, _MOST_CHOSEN = 16, 64  # of a larger cell
_WANTED = 256  # prototypes of the next cells
_ROWS = 64  # rows of a cell per prototype that is chosen
_LARGEST_BLOCK = 1 << 25  # distances of one cell, at most, unless a limit of memory allows fewer
_PIECE, _PIECE_ROWS = 1 << 20, 1 << 13  # distances and rows of one task that serves rows
_LEVELS = 8


@dataclass(eq=False)
class _Cell:
    """Prototypes and rows, by position. ``centre`` is the prototype that serves the rows, or -1."""

    prototypes: Ids
    rows: Ids
    centre: int


@dataclass(eq=False)
class CellOrder:
    """The order of prototypes on some target rows.

    Parameters
    ----------
    prototypes, rows
        The source rows and the target rows.
    weights
        Of these target rows.
    fixed
        The prototypes that come first, in this order, by position.
    largest
        The largest number of distances of one cell.
    """

    oracle: Oracle
    prototypes: Ids
    rows: Ids
    weights: Doubles
    fixed: Ids
    largest: int = _LARGEST_BLOCK

    def found(self) -> tuple[Ids, Doubles]:
        """Return the positions of prototypes with a gain, best first, and the gains.

        The gain of the first one is NaN.
        """
        k, oracle = len(self.prototypes), self.oracle
        self._nearest = np.full(len(self.rows), np.inf, dtype=oracle.dtype)
        first_gains = self._add_fixed()
        others = np.setdiff1d(np.arange(k), self.fixed)
        every = [_Cell(others, np.arange(len(self.rows)), -1)]
        order, gains = [self.fixed], [first_gains]
        for _ in range(_LEVELS):
            every = [cell for cell in every if len(cell.prototypes)]
            if not every:
                break
            chosen = self._choose(every)
            for some, own in chosen:
                order.append(some)
                gains.append(own)
            every = self._split(every, [some for some, _ in chosen])
        positions, worth = np.concatenate(order), np.concatenate(gains)
        n = len(self.fixed)
        by_gain = np.append(np.arange(n), n + np.argsort(-worth[n:], kind="stable"))
        worth = worth[by_gain] / self.weights.sum()
        worth[:1] = np.nan
        return positions[by_gain], worth

    def _add_fixed(self) -> Doubles:
        """Let the fixed prototypes serve the rows; return their gains."""
        gains, own = np.zeros(len(self.fixed)), self.prototypes[self.fixed]
        for i in range(len(own)):
            block = self.oracle.distances(own[i : i + 1], self.oracle.targets(as_slice(self.rows)))
            lower = np.minimum(self._nearest, block[0])
            if i:
                saved = np.subtract(self._nearest, lower, dtype=np.float64)
                gains[i] = self.weights @ saved
            self._nearest = lower
        return gains

    def _choose(self, cells: list[_Cell]) -> list[tuple[Ids, Doubles]]:
        """Return the best prototypes of each cell, and their gains."""
        sizes = [_n_chosen(cell) for cell in cells]
        some = [self._sampled(cell, n) for cell, n in zip(cells, sizes, strict=True)]
        found: list[tuple[Ids, Doubles]] = [(np.empty(0, np.int64), np.empty(0))] * len(cells)

        def visit(block: Floats, number: int) -> None:
            prototypes, rows = some[number]
            nearest = self._nearest[rows]
            if np.isinf(nearest).any():  # nothing serves the rows yet
                nearest = np.full(len(rows), block.max(), dtype=block.dtype)
                nearest = np.nextafter(nearest, nearest.dtype.type(np.inf))
            order, gains = np.empty(sizes[number], np.int64), np.empty(sizes[number])
            weights = self.weights[rows]
            greedy_order(block, nearest, weights, order, gains)
            n = int((order >= 0).sum())
            scale = self.weights[cells[number].rows].sum() / max(weights.sum(), 1e-300)
            found[number] = prototypes[order[:n]], scale * gains[:n]

        self._visit(some, visit)
        return found

    def _sampled(self, cell: _Cell, n_chosen: int) -> tuple[Ids, Ids]:
        """Return the prototypes and rows of a cell on which the best are chosen."""
        rows = _some_of(cell.rows, min(_ROWS * n_chosen, self.largest // n_chosen))
        return _some_of(cell.prototypes, max(n_chosen, self.largest // len(rows))), rows

    def _split(self, cells: list[_Cell], chosen: list[Ids]) -> list[_Cell]:
        """Return the cells of the chosen prototypes and of the earlier centres."""
        found: list[_Cell] = []
        large = [i for i, cell in enumerate(cells) if len(cell.prototypes) > len(chosen[i]) > 0]
        served, near = self._served([cells[i].rows for i in large], [chosen[i] for i in large])
        parts, others = [], []
        for number, i in enumerate(large):
            parts.append(self._parts(cells[i], chosen[i], served[number], near[number]))
            others.append(np.setdiff1d(cells[i].prototypes, chosen[i]))
        homes = self._homes(others, [np.array([mark for *_, mark in own]) for own in parts])
        for own, some, home in zip(parts, others, homes, strict=True):
            for number, (centre, rows, _) in enumerate(own):
                prototypes = some[home == number]
                found.append(_Cell(prototypes, rows, centre))
        return found

    def _served(self, rows: list[Ids], chosen: list[Ids]) -> tuple[list[Ids], list[Ids]]:
        """Let the chosen prototypes of each cell serve the rows of the cell that are nearer to one.

        Return for each cell the number of the prototype that serves each row, or -1, and the row
        nearest to each prototype.
        """
        pieces = [
            (i, cut) for i, own in enumerate(rows) for cut in cuts(len(own), _piece(len(chosen[i])))
        ]
        served = [np.full(len(own), -1) for own in rows]
        nearest = [(np.full(len(some), np.inf), np.zeros(len(some), np.int64)) for some in chosen]
        best: list[Any] = [None] * len(pieces)

        def serve(block: Floats, number: int) -> None:
            i, cut = pieces[number]
            own, first = rows[i][cut], block.argmin(axis=0)
            least = block[first, np.arange(len(own))]
            is_nearer = least < self._nearest[own]
            served[i][cut][is_nearer] = first[is_nearer]
            self._nearest[own[is_nearer]] = least[is_nearer]
            best[number] = block.min(axis=1), own[block.argmin(axis=1)]

        self._visit([(chosen[i], rows[i][cut]) for i, cut in pieces], serve)
        for (i, _), (distances, some) in zip(pieces, best, strict=True):
            least, near = nearest[i]
            is_less = distances < least
            least[is_less], near[is_less] = distances[is_less], some[is_less]
        return served, [near for _, near in nearest]

    def _homes(self, prototypes: list[Ids], marks: list[Ids]) -> list[Ids]:
        """Return to which of the rows ``marks`` each prototype is nearest, for each cell."""
        homes = [np.zeros(len(some), np.int64) for some in prototypes]
        pieces = [
            (i, cut)
            for i, some in enumerate(prototypes)
            for cut in cuts(len(some), _piece(len(marks[i])))
        ]

        def place(block: Floats, number: int) -> None:
            i, cut = pieces[number]
            homes[i][cut] = block.argmin(axis=1)

        self._visit([(prototypes[i][cut], marks[i]) for i, cut in pieces], place)
        return homes

    def _parts(
        self, cell: _Cell, chosen: Ids, served: Ids, near: Ids
    ) -> list[tuple[int, Ids, int]]:
        """Return the centre, the rows and the row nearest to the centre, of each new cell."""
        order = np.argsort(served, kind="stable")
        ends = np.searchsorted(served[order], np.arange(-1, len(chosen)), side="right")
        found = []
        for number, (first, last) in enumerate(pairwise([0, *ends]), start=-1):
            rows = cell.rows[order[first:last]]
            if len(rows) == 0:
                continue
            if number < 0:  # the rows that no chosen prototype is nearer to
                found.append((cell.centre, rows, int(rows[self._nearest[rows].argmin()])))
            else:
                found.append((int(chosen[number]), rows, int(near[number])))
        return found

    def _visit(self, blocks: list[tuple[Ids, Ids]], visit: Callable[[Floats, int], None]) -> None:
        """Pass the distances of prototypes and rows, by position, to ``visit``, and the number."""
        self.oracle.each_block(
            [(self.prototypes[some], self.rows[rows]) for some, rows in blocks], visit
        )


def largest_block(k: int) -> int:
    """Return how many distances the order of k prototypes keeps at once, if nothing limits it."""
    return min(_LARGEST_BLOCK, _ROWS * _MOST_CHOSEN * k)


def most_evaluations(k: int, n_rows: int) -> int:
    """Return a number of evaluations that the order of k prototypes does not exceed."""
    per_level = k * _ROWS * _MOST_CHOSEN + (n_rows + k) * (_MOST_CHOSEN + 1)
    return _LEVELS * per_level + k * _ROWS * _FEW


def expected_evaluations(k: int, n_rows: int) -> int:
    """Return about how many evaluations the order of k prototypes has."""
    n, size, n_cells = 0, k, 1
    while size > _FEW:
        chosen = _n_chosen(_Cell(np.arange(size), np.arange(0), -1 if n_cells == 1 else 0))
        own = min(_ROWS * chosen, max(1, n_rows // n_cells))
        n += n_cells * own * min(size, _LARGEST_BLOCK // own) + (n_rows + k) * chosen
        n_cells *= chosen
        size //= chosen
    return n + n_cells * size * min(_ROWS * size, max(1, n_rows // n_cells))


def _n_chosen(cell: _Cell) -> int:
    """Return how many prototypes to choose in a cell."""
    n = len(cell.prototypes)
    if n <= _FEW:
        return n
    fewest = _MOST_CHOSEN if cell.centre < 0 else _FEWEST_CHOSEN
    return min(_MOST_CHOSEN, max(fewest, -(-n // _WANTED)))


def _piece(n: int) -> int:
    """Return how many rows one task compares with n others."""
    return min(_PIECE_ROWS, max(1, _PIECE // n))


def _some_of(ids: Ids, n: int) -> Ids:
    """Return at most about n of these, at equal steps."""
    return ids[:: max(1, -(-len(ids) // max(1, n)))]
