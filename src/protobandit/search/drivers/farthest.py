"""Farthest first: again and again serve the target row that is served worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.pick_log import PickLog
from protobandit.search.objectives.coverage import ExactCoverage

_MOST_AT_ONCE = 256


def farthest_first(
    oracle: Oracle, *, k: int, random: np.random.Generator, control: SearchControl | None = None
) -> Iterator[Pick]:
    """Yield the home of the worst-served target row, pick by pick, until there are ``k``.

    The home of a target row is its nearest source row; where source and target are the same rows,
    itself. Before the first pick all rows are served equally badly. Of equal rows the first counts.
    Rows without weight are left aside, and so are rows whose home is a prototype already: nothing
    can serve them better. When no other row is left, the rest are drawn at random all at once. Rows
    that are fixed come first.

    Cost: |T| a prototype, under the phase "assign", and |S| for each target row whose home must be
    found, unless source and target are the same rows.
    """
    coverage, homes = ExactCoverage.of(oracle), _Homes(oracle)
    feasibility, pick_log = oracle.problem.feasibility, PickLog(control or SearchControl())
    if len(feasibility.fixed) and not pick_log.is_resumed:
        pick, coverage = _picked(coverage, feasibility.fixed, k)
        unknown = np.full(len(pick.arms), np.nan)
        pick_log.save(pick.arms, unknown, pick.is_proven, state=homes.state)
        yield replace(pick, gains=unknown)
    for logged in pick_log.earlier():
        pick, coverage = _picked(coverage, logged.arms, k)
        pick_log.replay(logged)
        yield replace(pick, gains=logged.gains)
    if pick_log.is_resumed:
        homes.restore(pick_log.arrays)
    while (n_left := k - len(coverage.prototypes)) > 0:
        home = homes.of_worst(coverage.nearest, coverage.prototypes)
        is_over = home is None
        arms = (
            feasibility.draw(coverage.prototypes, n_left, random) if is_over else np.array([home])
        )
        pick, coverage = _picked(coverage, arms, k)
        pick_log.save(pick.arms, pick.gains, pick.is_proven, state=homes.state)
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


class _Homes:
    """The home of every target row, found when first asked for."""

    def __init__(self, oracle: Oracle) -> None:
        problem = oracle.problem
        n = len(problem.target)
        is_one = problem.target is problem.source
        self._oracle = oracle
        self._everyone = np.arange(len(problem.source))
        self._homes = np.arange(n) if is_one else np.full(n, -1, dtype=np.int64)
        self._is_open = np.ones(n, dtype=bool) if problem.weights is None else problem.weights > 0

    def of_worst(self, nearest: Floats, prototypes: Ids) -> int | None:
        """Return the home of the worst-served row that can be served better, or None."""
        is_prototype = np.zeros(len(self._everyone), dtype=bool)
        is_prototype[prototypes] = True
        n_next = 1
        while True:
            # Of rows whose home is unknown (-1) this says nothing, and they stay open.
            self._is_open &= (self._homes < 0) | ~is_prototype[self._homes]
            badness = np.where(self._is_open, nearest, -1)
            worst = int(badness.argmax())
            if not badness[worst] > 0:
                return None
            if self._homes[worst] >= 0:
                return int(self._homes[worst])
            self._find(_worst(np.where(self._homes < 0, badness, -1), n_next))
            n_next = min(2 * n_next, _MOST_AT_ONCE)

    def state(self) -> dict[str, Any]:
        """Return a copy of everything that is known."""
        return {"homes": self._homes.copy(), "is_open": self._is_open.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Know what an earlier run knew."""
        self._homes, self._is_open = state["homes"], state["is_open"]

    def _find(self, rows: Ids) -> None:
        distances = self._oracle.distances(self._everyone, self._oracle.targets(rows))
        self._homes[rows] = distances.argmin(axis=0)


def _worst(badness: Floats, n: int) -> Ids:
    """Return the ``n`` worst rows, or as many as are bad at all; of equal ones the first."""
    if n == 1:
        return np.array([badness.argmax()])
    worst: Ids = np.argsort(-badness, kind="stable")[:n]
    return worst[badness[worst] > 0]


def _remark(coverage: ExactCoverage) -> str:
    farthest = float(coverage.nearest[coverage.weights > 0].max())
    return f"The farthest target row is {farthest:.6g} from its prototype."
