"""Greedy on a full table at once: hundreds of picks, each too small to be played as a round."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.oracle.tables import FullTable
from protobandit.problem.feasibility import Feasibility
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.coverage import ExactCoverage, lazy_greedy


def greedy_on_table(
    table: FullTable, weights: Doubles, k: int, random: np.random.Generator
) -> tuple[Ids, Doubles]:
    """Return the ``k`` arms that `greedy` would pick, best first, and their gains.

    Guarantee: the picks of `greedy` with `Lazy`, and gains but for their last bits.
    """
    n_arms, n_rows = table.matrix.shape
    coverage = ExactCoverage.over(table, weights)
    worth = coverage.pull(Pull(np.arange(n_arms), n_rows)).mean
    first = np.array([worth.argmax()])
    coverage = coverage.commit(first)
    others, upper = np.delete(np.arange(n_arms), first), np.full(n_arms, -np.inf)
    if k > 1:
        upper[others] = coverage.pull(Pull(others, n_rows)).mean
    chosen, gains = lazy_greedy(coverage, table, others, upper, k - 1)
    chosen, gains = np.concatenate([first, chosen]), np.concatenate([worth[first], gains])
    if n_left := k - len(chosen):
        rest = Feasibility.none(n_arms).draw(chosen, n_left, random)
        chosen, gains = np.concatenate([chosen, rest]), np.append(gains, np.zeros(n_left))
    return chosen, gains
