"""Prototypes that swaps have found, put in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.search.drivers.full_swaps import ordered
from protobandit.search.drivers.greedy import Pick
from protobandit.search.objectives.medoids import Medoids


def arranged(
    oracle: Oracle,
    prototypes: Ids,
    matrix: Floats,
    weights: Doubles,
    random: np.random.Generator,
    remark: str = "",
) -> Iterator[Pick]:
    """Yield prototypes, fixed ones first, then best first on the rows of their distances.

    ``matrix`` has one row a prototype; ``weights`` are those of its columns.
    """
    feasibility = oracle.problem.feasibility
    by_number = np.argsort(prototypes)
    table = FullTable(oracle=oracle, arms=prototypes[by_number], matrix=matrix[by_number])
    medoids = Medoids(table, np.arange(len(prototypes)), weights, feasibility)
    return judged_on(oracle, len(weights), ordered(medoids, feasibility.fixed, random, remark))


def judged_on(oracle: Oracle, n_rows: int, picks: Iterable[Pick]) -> Iterator[Pick]:
    """Yield picks, whose coverage is that of the target only if it is of all its rows."""
    is_whole = n_rows == len(oracle.problem.target)
    for pick in picks:
        yield pick if is_whole else replace(pick, objective=None)
