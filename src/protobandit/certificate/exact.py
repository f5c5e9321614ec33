"""A certificate that computes every dissimilarity; nothing in it is random.

Theory of operation
-------------------
The dual bound of `protobandit.certificate.dual` holds for any prices. So the prices may be tuned on
a part of the problem, and one pass over all dissimilarities then gives a bound that holds. No
matrix of all dissimilarities is kept:

1. A few hundred arms are candidates. At first they are spread over the source, prices are tuned on
   some rows of the target, and the arms that save most at these prices become the candidates.
2. Prices of all rows are tuned on a table of the candidates alone.
3. A pass over all pairs computes what every arm saves at these prices. This gives the bound. If it
   is well below that of the candidates, the arms that save most are the new candidates, and 2 and 3
   are repeated. (This is column generation, for the dual of the linear relaxation.)

If the table holds every arm, its bound is the result, and no further pass is needed. For k = 1 the
cost of every source row is computed, and the lowest is the optimum.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Final

import numpy as np

from protobandit.certificate.betting import Bound
from protobandit.certificate.dual import (
    DualSample,
    dual_table,
    fits_table,
    most_arms,
    solve_dual,
)
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.selection import smallest
from protobandit.kernels.dual import block_savings
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import rows_at_shares

# A table of every arm is made up to this number of arms, or of pairs per prototype.
_FEW_ARMS: Final = 1024
_FEW_CELLS: Final = 1 << 19
_CANDIDATES: Final = 400
_CANDIDATES_PER_PROTOTYPE: Final = 20
_FIRST_ROWS: Final = 2048
_MOST_ROUNDS: Final = 4
_TOLERANCE: Final = 1e-4  # of the cost, between the bounds of the candidates and of all arms


def exact_bound(oracle: Oracle, prototypes: Ids, budget: int | None = None) -> Bound:
    """Compute every dissimilarity, and bound the best cost by the dual.

    Cost: |S||T| evaluations if the table holds every arm or k = 1, otherwise 2 to 6 times as many.
    ``budget`` is the largest number of them, at least |S||T|; None means no limit.
    """
    problem, k = oracle.problem, len(prototypes)
    search = _Search(oracle, prototypes)
    if k == 1:
        cost, best = search.single()
    elif search.holds_all or not search.fits(budget):
        cost, best = search.at_once()
    else:
        cost, best = search.by_candidates(budget)
    return Bound(
        kind="exact",
        confidence=1.0,
        cost=cost,
        best=best,
        ratio=cost / best if best > 0 else 1.0 if cost == 0 else math.inf,
        n_rows=problem.n_target,
    )


class _Search:
    """The search for good prices; each way returns the cost and the bound on the best cost."""

    def __init__(self, oracle: Oracle, prototypes: Ids) -> None:
        problem = oracle.problem
        self._oracle = oracle
        self._prototypes = np.sort(prototypes)
        self._k = len(prototypes)
        self._weights: Doubles = problem.target_weights / problem.total
        self._sample = DualSample(rows=None, weights=self._weights, value=_gaps)
        n_source, n_target, k = problem.n_source, problem.n_target, self._k
        is_small = n_source <= _FEW_ARMS or n_target * n_source <= _FEW_CELLS * k
        wanted = max(_CANDIDATES, _CANDIDATES_PER_PROTOTYPE * k)
        if is_small and fits_table(n_target, n_source, k, is_large=n_source <= _FEW_ARMS):
            self.n_candidates = n_source
        else:
            self.n_candidates = min(wanted, most_arms(n_target, k), n_source)

    def fits(self, budget: int | None) -> bool:
        """Return whether one round with candidates is within the budget."""
        return budget is None or self._first_cost() + self._round_cost() <= budget

    @property
    def holds_all(self) -> bool:
        """Return whether every arm is a candidate."""
        return self.n_candidates == self._oracle.problem.n_source

    def _first_cost(self) -> int:
        return _FIRST_ROWS * (self._n_arms() + self._oracle.problem.n_source)

    def _round_cost(self) -> int:
        problem = self._oracle.problem
        return problem.n_target * (self._n_arms() + problem.n_source)

    def _n_arms(self) -> int:
        return self.n_candidates + self._k

    def single(self) -> tuple[float, float]:
        """Return the cost of the one prototype and of the best source row."""
        costs = self._sums(None, self._weights, None)
        return float(costs[self._prototypes[0]]), float(costs.min())

    def at_once(self) -> tuple[float, float]:
        table = dual_table(self._oracle, self._prototypes, self._sample)
        return table.cost, table.cost + solve_dual(self._oracle, table, self._k).bound

    def by_candidates(self, budget: int | None) -> tuple[float, float]:
        arms, best, prices = self._first_candidates(), -math.inf, None
        spent = self._first_cost()
        for _ in range(_MOST_ROUNDS):
            table = dual_table(self._oracle, self._prototypes, self._sample, arms)
            found = solve_dual(self._oracle, table, self._k, prices)
            prices = found.prices
            limits = prices + table.nearest
            worth = self._sums(limits, self._weights, None)
            largest = np.partition(worth, -self._k)[-self._k :]
            best = max(best, float(self._weights @ limits - largest.sum()))
            spent += self._round_cost()
            is_over = budget is not None and spent + self._round_cost() > budget
            if is_over or table.cost + found.bound - best <= _TOLERANCE * table.cost:
                break
            arms = self._candidates(worth, arms)
        return table.cost, min(best, table.cost)

    def _some_rows(self, n: int) -> DualSample:
        """Return about ``n`` rows that are spread over the target by weight."""
        drawn = rows_at_shares(np.cumsum(self._weights), (np.arange(n) + 0.5) / n)
        rows, counts = np.unique(drawn, return_counts=True)
        return DualSample(rows=rows, weights=counts / n, value=_gaps)

    def _first_candidates(self) -> Ids:
        """Return the arms that save most at prices tuned on some rows and some arms."""
        n_source, sample = self._oracle.problem.n_source, self._some_rows(_FIRST_ROWS)
        spread = np.arange(self.n_candidates) * n_source // self.n_candidates
        arms = np.union1d(spread, self._prototypes)
        if len(arms) == n_source:
            return arms
        table = dual_table(self._oracle, self._prototypes, sample, arms)
        prices = solve_dual(self._oracle, table, self._k).prices + table.nearest
        worth = self._sums(prices, sample.weights, sample.rows)
        return self._candidates(worth)

    def _candidates(self, worth: Doubles, earlier: Ids | None = None) -> Ids:
        """Return the arms that save most; half of them from ``earlier`` candidates.

        Prices were tuned on the earlier ones, so the others save more than they are worth.
        """
        n, parts = self.n_candidates, [self._prototypes]
        if earlier is not None:
            n -= n // 2
            parts.append(earlier[smallest(-worth[earlier], self.n_candidates // 2)])
            worth = worth.copy()
            worth[earlier] = 0
        parts.append(smallest(-worth, n))
        return np.unique(np.concatenate(parts))

    def _sums(
        self,
        prices: Doubles | None,
        weights: Doubles,
        rows: Ids | None,
    ) -> Doubles:
        """Return for each source row the weighted sum of max(price - distance, 0).

        Without prices, return the weighted sum of its distances. Cost: |S| evaluations per row.
        """
        total = _OrderedSum(self._oracle.problem.n_source)

        def visit(block: Floats, cut: slice) -> None:
            part = np.empty(len(block))
            if prices is None:
                part[:] = block.astype(np.float64) @ weights[cut]
            else:
                block_savings(block, prices[cut], weights[cut], part)
            total.add(part, cut)

        self._oracle.each_chunk(np.arange(self._oracle.problem.n_source), visit, rows)
        return total.total


class _OrderedSum:
    """A sum of arrays in the order of their slices, whichever thread brings them first."""

    def __init__(self, n: int) -> None:
        self.total: Doubles = np.zeros(n)
        self._waiting: dict[int, tuple[Doubles, int]] = {}
        self._next = 0
        self._lock = Lock()

    def add(self, part: Doubles, cut: slice) -> None:
        with self._lock:
            self._waiting[cut.start] = part, cut.stop
            while self._next in self._waiting:
                part, self._next = self._waiting.pop(self._next)
                self.total += part


def _gaps(gaps: Doubles, cut: slice) -> Doubles:
    return gaps
