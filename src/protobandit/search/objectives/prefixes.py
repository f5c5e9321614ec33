"""The distances of every arm to the first rows of one target order, kept for all rounds.

Theory of operation
-------------------
One random order of the target serves every round, and every round reads it from its beginning, in
the same steps. The rows of one step are a `PrefixRange`: a matrix with one line for each arm that
has come that far. Most arms fall early, so most stretches have few lines. What an arm has been
measured at is looked up ever after; the arms that were prototypes once are known everywhere.

Rows without weight are left out. The others come in uniform order, whatever their weight, and a
reward counts w / mean(w) times: its mean over a prefix is an unbiased estimate of the weighted
mean, and exact once all rows are read. The more uneven the weights, the larger the spread.

What finds no room is computed, and counted, again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder
from protobandit.oracle.tasks import CHUNK
from protobandit.search.arms.contract import Moments

_TASK_ENTRIES = 1 << 18
_ROWS_AT_ONCE = 4 * CHUNK

Show: TypeAlias = "Callable[[Floats, Ids, Ids], None]"


class PrefixRange:
    """The target rows at positions ``start`` to ``stop``, and the arms measured there.

    ``lines[arm]`` is that arm's line of ``matrix``, or -1.
    """

    def __init__(self, start: int, stop: int, n_source: int, like: Floats) -> None:
        self.start = start
        self.stop = stop
        self.lines: Ids = np.full(n_source, -1, dtype=np.int64)
        self.matrix: Floats = np.empty((0, stop - start), dtype=like.dtype)
        self.n_lines = 0

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def n_free(self) -> int:
        """Return for how many more lines there is place."""
        return len(self.matrix) - self.n_lines

    def reserve(self, n: int, room: int) -> int:
        """Make place for ``n`` more lines, or as many as ``room`` holds; return the bytes taken."""
        a_line = self.matrix.itemsize * len(self)
        most = min(len(self.matrix) + room // a_line, len(self.lines))
        needed = min(self.n_lines + n, most)
        n_added = min(max(needed, 2 * len(self.matrix)), most) - len(self.matrix)
        if needed <= len(self.matrix):
            return 0
        self.matrix = np.concatenate(
            [self.matrix, np.empty((n_added, len(self)), dtype=self.matrix.dtype)]
        )
        return n_added * a_line

    def append(self, arms: Ids) -> Floats:
        """Give these arms lines, for which there is place, and return them, to be filled in."""
        lines = slice(self.n_lines, self.n_lines + len(arms))
        self.lines[arms] = np.arange(lines.start, lines.stop)
        self.n_lines = lines.stop
        return self.matrix[lines]


class Prefixes:
    """One order of the target, and what has been measured along it.

    Parameters
    ----------
    oracle
        Where distances come from.
    random
        The dice that put the target in order.
    room
        How many bytes of distances may be kept.
    """

    def __init__(self, oracle: Oracle, random: np.random.Generator, *, room: int) -> None:
        weights = oracle.problem.weights
        n = len(oracle.problem.target)
        heavy = np.arange(n) if weights is None else np.flatnonzero(weights)
        self.oracle = oracle
        self.rows: Ids = heavy[RandomOrder(len(heavy), random).read(0, len(heavy))]
        self.weights: Doubles = np.ones(n)
        if weights is not None:
            self.weights = weights[self.rows] / weights[heavy].mean()
        self._room = room
        self._stretches: list[PrefixRange] = []
        self._columns: dict[int, Floats] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def show(self, arms: Ids, start: int, stop: int, visit: Show) -> None:
        """Show ``visit`` the distances of these arms at these positions of the order.

        ``visit`` gets a matrix, the lines of it that matter, and which of ``arms`` these are; it
        runs on several threads and must write only to the places of its own arms.
        """
        stretch = self._stretch(start, stop)
        is_new = stretch.lines[arms] < 0
        n_known = len(arms) - int(is_new.sum())
        self.oracle.look_up(n_known * len(stretch))
        self._measure(stretch, arms[is_new])
        lines = stretch.lines[arms]
        known, unkept = np.flatnonzero(lines >= 0), np.flatnonzero(lines < 0)

        def look(cut: slice) -> None:
            visit(stretch.matrix, lines[known[cut]], known[cut])

        size = max(1, _TASK_ENTRIES // len(stretch))
        self.oracle.share(look, cuts(len(known), size), len(known) * len(stretch))
        self._pass_by(stretch, arms, unkept, visit)

    def column(self, arm: int) -> Floats:
        """Return the distances of one arm along the whole order; it is kept if there is room."""
        if arm in self._columns:
            self.oracle.look_up(len(self))
            return self._columns[arm]
        column = np.empty(len(self), dtype=self.oracle.dtype)
        is_known = np.zeros(len(self), dtype=bool)
        for stretch in self._stretches:
            if stretch.lines[arm] >= 0:
                own = slice(stretch.start, stretch.stop)
                column[own], is_known[own] = stretch.matrix[stretch.lines[arm]], True
        self.oracle.look_up(int(is_known.sum()))
        rest = np.flatnonzero(~is_known)

        def fill(block: Floats, cut: slice) -> None:
            column[rest[cut]] = block[0]

        if len(rest):
            self.oracle.each_chunk(np.array([arm]), fill, self.rows[rest])
        if column.nbytes <= self._room:
            self._room -= column.nbytes
            self._columns[arm] = column
        return column

    def _stretch(self, start: int, stop: int) -> PrefixRange:
        for stretch in self._stretches:
            if stretch.start == start:
                assert stretch.stop == stop, "every round climbs the same steps"
                return stretch
        n_source = len(self.oracle.problem.source)
        new = PrefixRange(start, stop, n_source, np.empty(0, dtype=self.oracle.dtype))
        self._stretches.append(new)
        return new

    def _measure(self, stretch: PrefixRange, arms: Ids) -> None:
        """Compute the distances of these arms and keep them, as far as there is room."""
        self._room -= stretch.reserve(len(arms), self._room)
        arms = arms[: stretch.n_free]
        if len(arms) == 0:
            return
        whole = np.isin(arms, np.fromiter(self._columns, dtype=np.int64))
        own = slice(stretch.start, stretch.stop)
        if whole.any():
            self.oracle.look_up(int(whole.sum()) * len(stretch))
            lines = stretch.append(arms[whole])
            for line, arm in zip(lines, arms[whole].tolist(), strict=True):
                line[:] = self._columns[arm][own]
        others = arms[~whole]
        lines = stretch.append(others)
        rows = self.rows[own]
        for cut in cuts(len(rows), _ROWS_AT_ONCE):
            self.oracle.tabulate(others, self.oracle.targets(rows[cut]), lines[:, cut])

    def _pass_by(self, stretch: PrefixRange, arms: Ids, which: Ids, visit: Show) -> None:
        """Compute the distances of some of the arms and forget them."""
        if len(which) == 0:
            return
        rows = self.rows[stretch.start : stretch.stop]
        for cut in cuts(len(which), max(1, _TASK_ENTRIES // len(stretch))):
            some = which[cut]
            block = np.empty((len(some), len(stretch)), dtype=self.oracle.dtype)
            for part in cuts(len(rows), _ROWS_AT_ONCE):
                targets = self.oracle.targets(rows[part])
                self.oracle.tabulate(arms[some], targets, block[:, part])
            visit(block, np.arange(len(some)), some)


def moments_of(count: Ids, total: Doubles, squares: Doubles, dtype: np.dtype[Any]) -> Moments:
    """Return the moments of arms from the sums of their rewards and of the squares.

    Squares beyond float64 make a spread infinite, which tells nothing apart; a sum that is not
    finite is the metric's.
    """
    if not np.isfinite(total).all():
        raise InvalidInput(
            f"The metric overflows {dtype} on these rows of source and target. Rescale them, or "
            f"pass float64."
        )
    mean = total / count
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.maximum(squares / count - mean**2, 0)
    return Moments(count, mean, np.where(np.isfinite(spread), spread, np.inf))
