"""Greedy selection on a full table, and prototypes ordered by their greedy gains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.tables import FullTable
from protobandit.oracle.tasks import Visit
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Pull
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.objectives.coverage import ExactCoverage, lazy_greedy


def picks_on_table(
    table: FullTable,
    weights: Doubles,
    k: int,
    random: np.random.Generator,
    feasibility: Feasibility,
) -> Iterator[Pick]:
    """Yield greedy picks of the arms of a table, each with the coverage of its rows."""
    coverage = ExactCoverage.over(table, weights)
    return greedy(Lazy(), coverage, feasibility=feasibility, k=k, random=random)


def greedy_on_table(
    table: FullTable,
    weights: Doubles,
    k: int,
    random: np.random.Generator,
    feasibility: Feasibility | None = None,
) -> tuple[Ids, Doubles]:
    """Return the arms that `picks_on_table` picks, best first, and their gains.

    Without constraints all picks are computed by one kernel, since the overhead of a round is large
    on a small table. The arms are the same, and the gains differ at most in their last bits.
    """
    n_arms, n_rows = table.matrix.shape
    if feasibility is not None and not feasibility.is_free:
        picks = list(picks_on_table(table, weights, k, random, feasibility))
        return np.concatenate([p.arms for p in picks]), np.concatenate([p.gains for p in picks])
    coverage = ExactCoverage.over(table, weights)
    means = coverage.pull(Pull(np.arange(n_arms), n_rows)).mean
    first = np.array([means.argmax()])
    coverage = coverage.commit(first)
    others, upper = np.delete(np.arange(n_arms), first), np.full(n_arms, -np.inf)
    if k > 1:
        upper[others] = coverage.pull(Pull(others, n_rows)).mean
    chosen, gains = lazy_greedy(coverage, table, others, upper, k - 1)
    chosen, gains = np.concatenate([first, chosen]), np.concatenate([means[first], gains])
    if n_left := k - len(chosen):
        rest = Feasibility.none(n_arms).draw(chosen, n_left, random)
        chosen, gains = np.concatenate([chosen, rest]), np.append(gains, np.zeros(n_left))
    return chosen, gains


def order_on_table(table: FullTable, weights: Doubles, fixed: Ids) -> tuple[Ids, Doubles]:
    """Return the arms in the order of their greedy gains, and the gains; the arms ``fixed`` first.

    Arms without a gain are left out.
    """
    n_arms, n_rows = table.matrix.shape
    coverage, gains = ExactCoverage.over(table, weights), np.empty(0)
    if len(fixed) == 0:
        means = coverage.pull(Pull(np.arange(n_arms), n_rows)).mean
        fixed = np.array([means.argmax()])
    coverage = coverage.commit(fixed)
    gains = -np.diff(np.array(coverage.costs), prepend=np.nan)
    others, upper = np.delete(np.arange(n_arms), fixed), np.full(n_arms, -np.inf)
    if len(others) == 0:
        return fixed, gains
    upper[others] = coverage.pull(Pull(others, n_rows)).mean
    chosen, more = lazy_greedy(coverage, table, others, upper, len(others))
    return np.concatenate([fixed, chosen]), np.concatenate([gains, more])


@dataclass(frozen=True, eq=False)
class _TableView:
    """Some arms of a table, numbered 0, 1, …; no distance is copied."""

    table: FullTable
    arms: Ids

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.table.dtype

    @property
    def groups(self) -> list[slice]:
        return self.table.groups

    def scan(self, sources: Ids, visit: Visit) -> None:
        self.table.scan(self.arms[sources], visit)

    def column(self, source: int) -> Floats:
        return self.table.column(int(self.arms[source]))


def order_by_gain(
    table: FullTable,
    members: Ids,
    weights: Doubles,
    random: np.random.Generator,
    *,
    is_whole: bool,
) -> Iterator[Pick]:
    """Yield prototypes, as source rows: fixed ones first, then by greedy gain.

    ``members`` are the arms of the table that are prototypes. ``is_whole`` is whether the columns
    of the table are the whole target, so that the picks have an objective.
    """
    prototypes, k = table.arms[members], len(members)
    is_fixed = prototypes == table.oracle.problem.feasibility.fixed[:, None]
    feasibility = replace(Feasibility.none(k), fixed=is_fixed.argmax(axis=1))
    if is_whole:
        coverage = ExactCoverage.over(_TableView(table, members), weights)
        for pick in greedy(Lazy(), coverage, feasibility=feasibility, k=k, random=random):
            yield replace(pick, arms=prototypes[pick.arms], before=None)
        return
    part = FullTable(oracle=table.oracle, arms=prototypes, matrix=table.matrix[members])
    slots, gains = greedy_on_table(part, weights, k, random, feasibility)
    for slot, gain in zip(slots, gains, strict=True):
        yield Pick(
            arms=prototypes[[slot]],
            gains=np.array([gain]),
            objective=None,
            before=None,
            is_proven=True,
        )
