"""Greedy selection on a full table, and prototypes ordered by their greedy gains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Pull
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.greedy import greedy
from protobandit.search.drivers.pick import Pick
from protobandit.search.objectives.coverage import ExactCoverage
from protobandit.search.objectives.table_greedy import lead


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
    chosen, gains = lead(coverage, table, others, upper, k - 1)
    chosen, gains = np.concatenate([first, chosen]), np.concatenate([means[first], gains])
    if n_left := k - len(chosen):
        rest = Feasibility.none(n_arms).draw(chosen, n_left, random)
        chosen, gains = np.concatenate([chosen, rest]), np.append(gains, np.zeros(n_left))
    return chosen, gains


def order_by_gain(
    oracle: Oracle,
    prototypes: Ids,
    matrix: Floats,
    weights: Doubles,
    random: np.random.Generator,
    *,
    is_whole: bool,
) -> Iterator[Pick]:
    """Yield prototypes one by one: fixed ones first, then by greedy gain.

    ``matrix`` has the distances of the prototypes, one row per prototype, and ``weights`` those of
    its columns. ``is_whole`` is whether the columns are the whole target, so that the picks have an
    objective.
    """
    is_fixed = prototypes == oracle.problem.feasibility.fixed[:, None]
    feasibility = replace(Feasibility.none(len(prototypes)), fixed=is_fixed.argmax(axis=1))
    table = FullTable(oracle=oracle, arms=prototypes, matrix=matrix)
    if is_whole:
        for pick in picks_on_table(table, weights, len(prototypes), random, feasibility):
            yield replace(pick, arms=prototypes[pick.arms], before=None)
        return
    arms, gains = greedy_on_table(table, weights, len(prototypes), random, feasibility)
    for i in range(len(arms)):
        yield Pick(
            arms=prototypes[arms[i : i + 1]],
            gains=gains[i : i + 1],
            objective=None,
            before=None,
            is_proven=True,
        )
