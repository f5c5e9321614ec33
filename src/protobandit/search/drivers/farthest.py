"""Farthest-first traversal: each prototype is for the target row that is farthest from the others.

Reference: Gonzalez (1985); Hochbaum, Shmoys (1986).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.search.control import SearchControl
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.pick_log import PickLog
from protobandit.search.objectives.coverage import ExactCoverage

_MOST_AT_ONCE = 256


def farthest_first(
    oracle: Oracle, *, k: int, random: np.random.Generator, control: SearchControl | None = None
) -> Iterator[Pick]:
    """Yield the source row nearest to the farthest target row, one per pick, until there are ``k``.

    If source and target are the same rows, the nearest source row is the target row itself. Before
    the first pick all rows are equally far. Of equally far rows the first is used. Rows without
    weight are ignored, and so are rows whose nearest source row is already a prototype, since no
    other prototype is nearer. If no other row is left, the remaining prototypes are drawn at
    random, as one pick. Fixed rows come first.

    Evaluations: |T| per prototype, under the phase "assign", and |S| for each target row whose
    nearest source row must be found, unless source and target are the same rows.
    """
    coverage, nearest_sources = ExactCoverage.of(oracle), _NearestSources(oracle)
    feasibility, pick_log = (
        oracle.problem.feasibility,
        PickLog(control or SearchControl(), oracle.problem.n_source),
    )
    if len(feasibility.fixed) and not pick_log.is_resumed:
        pick, coverage = _picked(coverage, feasibility.fixed, k)
        unknown = np.full(len(pick.arms), np.nan)
        pick_log.save(pick.arms, unknown, pick.is_proven, state=nearest_sources.state)
        yield replace(pick, gains=unknown)
    for logged in pick_log.earlier():
        pick, coverage = _picked(coverage, logged.arms, k)
        pick_log.replay(logged)
        yield replace(pick, gains=logged.gains)
    if pick_log.is_resumed:
        nearest_sources.restore(pick_log.arrays)
    while (n_left := k - len(coverage.prototypes)) > 0:
        source = nearest_sources.of_farthest(coverage.nearest, coverage.prototypes)
        if source is None:
            arms = feasibility.draw(coverage.prototypes, n_left, random)
        else:
            arms = np.array([source])
        pick, coverage = _picked(coverage, arms, k)
        pick_log.save(pick.arms, pick.gains, pick.is_proven, state=nearest_sources.state)
        yield pick


def _picked(before: ExactCoverage, arms: Ids, k: int) -> tuple[Pick, ExactCoverage]:
    """Return the pick of these arms, and the coverage with them."""
    coverage = before.commit(arms)
    if not np.isfinite(coverage.costs[-1]):
        raise InvalidInput(
            f"The metric overflows {coverage.distances.dtype} on these rows of source and target. "
            f"Rescale them, or pass float64."
        )
    pick = Pick(
        arms=arms,
        gains=-np.diff([np.nan, *coverage.costs])[-len(arms) :],
        objective=coverage,
        before=before,
        is_proven=True,
        remark=_remark(coverage) if len(coverage.prototypes) == k else "",
    )
    return pick, coverage


class _NearestSources:
    """The nearest source row of every target row, computed when it is first needed."""

    def __init__(self, oracle: Oracle) -> None:
        problem = oracle.problem
        n = len(problem.target)
        is_same = problem.target is problem.source
        self._oracle = oracle
        self._sources = np.arange(len(problem.source))
        self._nearest = np.arange(n) if is_same else np.full(n, -1, dtype=np.int64)
        self._is_open = np.ones(n, dtype=bool) if problem.weights is None else problem.weights > 0

    def of_farthest(self, distances: Floats, prototypes: Ids) -> int | None:
        """Return the nearest source row of the farthest target row that it would bring nearer.

        ``distances`` are those of the target rows to their nearest prototype. None if there is no
        such row.
        """
        is_prototype = np.zeros(len(self._sources), dtype=bool)
        is_prototype[prototypes] = True
        n_next = 1
        while True:
            # Rows whose nearest source row is unknown (-1) stay open.
            self._is_open &= (self._nearest < 0) | ~is_prototype[self._nearest]
            open_distances = np.where(self._is_open, distances, -1)
            farthest = int(open_distances.argmax())
            if not open_distances[farthest] > 0:
                return None
            if self._nearest[farthest] >= 0:
                return int(self._nearest[farthest])
            self._find(_farthest(np.where(self._nearest < 0, open_distances, -1), n_next))
            n_next = min(2 * n_next, _MOST_AT_ONCE)

    def state(self) -> dict[str, Any]:
        """Return a copy of everything that is known."""
        return {"nearest_source": self._nearest.copy(), "is_open": self._is_open.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set what `state` returned in an earlier run; raise if it cannot be of these rows."""
        nearest, is_open = state["nearest_source"], state["is_open"]
        require_restorable(
            nearest.shape == is_open.shape == self._nearest.shape
            and are_within(nearest, -1, len(self._sources))
            and is_open.dtype == bool,
            "nearest rows",
        )
        self._nearest[:], self._is_open[:] = nearest, is_open

    def _find(self, rows: Ids) -> None:
        distances = self._oracle.distances(self._sources, self._oracle.targets(rows))
        self._nearest[rows] = distances.argmin(axis=0)


def _farthest(distances: Floats, n: int) -> Ids:
    """Return the ``n`` farthest rows at a positive distance; of equally far rows the first."""
    if n == 1:
        return np.array([distances.argmax()])
    farthest: Ids = np.argsort(-distances, kind="stable")[:n]
    return farthest[distances[farthest] > 0]


def _remark(coverage: ExactCoverage) -> str:
    farthest = float(coverage.nearest[coverage.weights > 0].max())
    return f"The farthest target row is {farthest:.6g} from its prototype."
