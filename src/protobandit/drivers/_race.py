"""The race: all arms on few target rows, then fewer on more, each near its home only.

Theory of operation
-------------------
Every arm meets the same random order of the target from its beginning. On the first rung all arms
are measured at a few rows; greedy builds k prototypes on them and swaps improve these. Every later
rung adds rows:

1. The arms whose best swap comes nearest to an improvement go on, with the prototypes.
2. The new rows are compared with the prototypes, which sorts them into cells.
3. An arm is measured only at the new rows of its home cells: that of the row nearest to it, and
   those where, on the rows so far, it comes closest to beating the second prototype. Elsewhere rows
   would stay with their prototypes whatever became of the arm. (MNIST, k = 100: 5 cells of 100 hold
   80 % of what an arm can save.)
4. Swaps improve the prototypes on all rows so far. What is not known of an arm counts against it,
   so a swap is never worse than it looks; once made, the arm is measured everywhere.

So the number of evaluations grows with the number of arms times a few rows, plus k times all rows
looked at, and does not depend on the size of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from protobandit._oracle import Oracle, cuts
from protobandit._sampling import TargetOrder
from protobandit._table import Batch, Patchwork, Table
from protobandit._typing import Doubles, Ids
from protobandit.arms import Lazy
from protobandit.drivers._greedy import Pick, greedy
from protobandit.drivers._rungs import SWAPS_A_RUNG, Rung
from protobandit.drivers._swap import changes_of_others, refine_eagerly
from protobandit.objectives import Coverage, Standing

_ARMS_AT_ONCE = 4096
_FEATHER = 1e-100


@dataclass(frozen=True, eq=False)
class Lap:
    """Where the race stands after a rung.

    ``is_exact`` tells whether the build was greedy over all arms and all of the target.
    """

    rung: Rung
    arms: Ids
    standing: Standing
    n_swaps: int
    n_entrants: int
    is_exact: bool

    @property
    def prototypes(self) -> Ids:
        """Return the source rows that are prototypes."""
        return self.arms[self.standing.members]


def race(
    oracle: Oracle,
    order: TargetOrder,
    rungs: Sequence[Rung],
    *,
    k: int,
    weights: Doubles | None,
    random: np.random.Generator,
    start: Ids | None = None,
    evaluations: int | None = None,
) -> Iterator[Lap]:
    """Yield a lap for each rung; the first is the build, the others are swaps.

    ``start`` are prototypes to improve; without them, greedy builds some on the first rung. Where
    crowded cells make a rung dearer than planned, fewer arms go on, so that ``evaluations``
    suffice; where not even the fewest can, the race ends.
    """
    first, *others = rungs
    problem = oracle.problem
    batch = _read(oracle, order, 0, first.n_rows, weights)
    table = Table.of(oracle, _entrants(oracle, first.n_arms, start, random), batch.targets)
    if start is None:
        members = np.concatenate([pick.arms for pick in _picks(table, batch.weights, k, random)])
    else:
        members = np.searchsorted(table.arms, start)
    patchwork = table.patchwork(batch)
    standing = Standing(members, table.matrix[members], batch.weights)
    is_exact = (first.n_arms, first.n_rows) == (len(problem.source), len(problem.target))

    def lap(rung: Rung) -> Lap:
        n_swaps = refine_eagerly(standing, patchwork, passes=rung.passes)
        return Lap(rung, patchwork.arms, standing, n_swaps, first.n_arms, is_exact)

    with oracle.during("swap"):
        yield lap(first)
        for rung in others:
            n_arms = _affordable(standing, patchwork, rung, evaluations)
            if n_arms < min(2 * k, rung.n_arms):
                return
            kept = _survivors(standing, patchwork, n_arms)
            batch = _read(oracle, order, patchwork.n_rows, rung.n_rows, weights)
            patchwork, standing = _advance(patchwork, standing, kept, batch, rung.n_cells)
            yield lap(rung)


def ranked(oracle: Oracle, lap: Lap, random: np.random.Generator) -> Iterator[Pick]:
    """Yield the prototypes of a lap as picks of their slots, best first, on the rows of the lap."""
    standing = lap.standing
    table = Table(oracle=oracle, arms=lap.prototypes, matrix=standing.matrix)
    return _picks(table, standing.weights, len(standing.members), random)


def _picks(table: Table, weights: Doubles, k: int, random: np.random.Generator) -> Iterator[Pick]:
    coverage = Coverage.over(table, weights)
    return greedy(Lazy(), coverage, n_source=len(table.arms), k=k, random=random)


def _entrants(oracle: Oracle, n: int, start: Ids | None, random: np.random.Generator) -> Ids:
    n_source = len(oracle.problem.source)
    if n == n_source:
        return np.arange(n)
    drawn = random.choice(n_source, n, replace=False)
    return np.unique(drawn if start is None else np.concatenate([drawn, start]))


def _survivors(standing: Standing, patchwork: Patchwork, n: int) -> Ids:
    """Return the prototypes and the arms that come nearest to improving on one, in order."""
    if n >= len(patchwork):
        return np.arange(len(patchwork))
    changes = changes_of_others(standing, patchwork)
    changes[standing.members] = -np.inf
    return np.sort(np.argpartition(changes, n - 1)[:n])


def _affordable(
    standing: Standing, patchwork: Patchwork, rung: Rung, evaluations: int | None
) -> int:
    """Return how many arms can go on to a rung, to judge by how rows are spread over cells."""
    if evaluations is None:
        return rung.n_arms
    k, new = len(standing.members), rung.n_rows - patchwork.n_rows
    kept = _survivors(standing, patchwork, rung.n_arms)
    shares = np.bincount(standing.near, minlength=k) / patchwork.n_rows
    homes = _homes(standing, patchwork, kept, min(rung.n_cells, k))
    an_arm = new * float(shares[homes].sum(axis=1).mean())
    left = (
        evaluations
        - patchwork.oracle.evaluations.total()
        - k * new
        - SWAPS_A_RUNG * k * rung.n_rows
    )
    return min(rung.n_arms, int(0.95 * left / max(an_arm, 1.0)))


def _advance(
    patchwork: Patchwork, standing: Standing, kept: Ids, batch: Batch, n_cells: int
) -> tuple[Patchwork, Standing]:
    """Return the arms ``kept`` and the prototypes with these target rows added."""
    k = len(standing.members)
    homes = _homes(standing, patchwork, kept, min(n_cells, k))
    block = np.empty((k, len(batch.targets)), dtype=standing.matrix.dtype)
    patchwork.oracle.tabulate(patchwork.arms[standing.members], batch.targets, block)
    cells = block.argmin(axis=0)
    by_cell = np.argsort(cells, kind="stable")
    batch = Batch(batch.start, batch.targets.take(by_cell), batch.weights[by_cell])
    cell_starts = np.searchsorted(cells[by_cell], np.arange(k + 1))
    # Prototypes have been measured at all of the batch just now.
    is_measured = ~np.isin(kept, standing.members)
    wider = patchwork.extended(kept, batch, cell_starts, homes, is_measured)
    matrix = np.hstack([standing.matrix, block[:, by_cell]])
    return wider, Standing(np.searchsorted(kept, standing.members), matrix, wider.weights)


def _homes(standing: Standing, patchwork: Patchwork, arms: Ids, n: int) -> Ids:
    """Return the n cells in which each arm comes closest to beating the second prototype."""
    homes = np.empty((len(arms), n), dtype=np.int64)
    for cut in cuts(len(arms), _ARMS_AT_ONCE):
        near = standing.affinities(patchwork, arms[cut])
        homes[cut] = np.argpartition(-near, n - 1, axis=1)[:, :n]
    return homes


def _read(
    oracle: Oracle, order: TargetOrder, start: int, stop: int, weights: Doubles | None
) -> Batch:
    rows = order.read(start, stop)
    own = np.ones(len(rows)) if weights is None else weights[rows]
    if weights is not None and not own.any():
        # Rows without weight still tell near from far, until one with weight outweighs them all.
        own = np.full(len(rows), _FEATHER * weights.max())
    return Batch(start, oracle.targets(rows), own)
