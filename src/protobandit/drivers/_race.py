"""The race: many arms on few target rows, then fewer on more, with swaps at every rung.

Theory of operation
-------------------
Every arm meets the same random order of the target from its beginning, so what is computed is a
table that only grows wider while it loses arms. On the first rung greedy builds k prototypes from
all arms. On each rung swaps improve them on that rung's rows; then the arms whose best swap comes
nearest to an improvement go on, with the prototypes themselves, to the next rung, where more rows
tell them apart. The total cost is that of a few short tables, not of one that is long and wide, and
it does not depend on the size of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from protobandit._oracle import Oracle
from protobandit._sampling import TargetOrder
from protobandit._table import Table
from protobandit._typing import Doubles, Ids
from protobandit.arms import Lazy
from protobandit.drivers._greedy import greedy
from protobandit.drivers._swap import changes_of_others, refine_eagerly
from protobandit.objectives import Coverage, Standing


@dataclass(frozen=True)
class Rung:
    """How many arms meet how many target rows, and how often swaps may go over them."""

    n_arms: int
    n_rows: int
    passes: int = 2


@dataclass(frozen=True, eq=False)
class Lap:
    """Where the race stands after a rung: the table, and which of its arms are prototypes."""

    table: Table
    members: Ids
    cost: float
    n_swaps: int


def race(
    oracle: Oracle,
    order: TargetOrder,
    rungs: Sequence[Rung],
    *,
    k: int,
    weights: Doubles | None,
    random: np.random.Generator,
) -> Iterator[Lap]:
    """Yield a lap for each rung."""
    table: Table | None = None
    members = kept = np.empty(0, dtype=np.int64)
    for rung in rungs:
        if table is None:
            arms = np.sort(random.choice(len(oracle.problem.source), rung.n_arms, replace=False))
            rows = order.read(0, rung.n_rows)
            table = Table.of(oracle, arms, rows, _weights(weights, rows))
            members = build(table, k, random)
        else:
            rows = order.read(len(table.rows), rung.n_rows)
            with oracle.during("swap"):
                table = table.extended(kept, rows, _weights(weights, rows))
            members = np.searchsorted(kept, members)
        with oracle.during("swap"):
            standing = Standing(table, members)
            everyone = np.arange(len(table.arms))
            n_swaps = refine_eagerly(standing, everyone, passes=rung.passes)
            members = standing.members
            yield Lap(table, members, standing.cost, n_swaps)
            following = rungs[rungs.index(rung) + 1 :]
            if following:
                kept = _survivors(standing, everyone, following[0].n_arms)


def build(table: Table, k: int, random: np.random.Generator) -> Ids:
    """Return k arms of the table, chosen greedily, best first."""
    coverage = Coverage.over(table, table.weights)
    picks = greedy(Lazy(), coverage, n_source=len(table.arms), k=k, random=random)
    return np.concatenate([pick.arms for pick in picks])


def _survivors(standing: Standing, arms: Ids, n: int) -> Ids:
    """Return the prototypes and the arms that come nearest to improving on one, in order."""
    changes = changes_of_others(standing, arms)
    changes[standing.members] = -np.inf
    return np.sort(np.argpartition(changes, n - 1)[:n]) if n < len(arms) else arms


def _weights(weights: Doubles | None, rows: Ids) -> Doubles:
    return np.ones(len(rows)) if weights is None else weights[rows]
