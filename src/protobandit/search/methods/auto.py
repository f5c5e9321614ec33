"""The method "auto": it chooses the engine that suits a problem.

The race (`LazyBandit`) keeps every dissimilarity it computes and computes few; local search
(`LocalSearch`) keeps none and computes them fast. So the race is chosen where a dissimilarity is
expensive, and where so few are needed that all are computed. Measured on two cores, balanced
effort, CPU seconds and mean distance (Gaussian clusters with Zipf sizes, one seed, |S| = |T| = n):

| metric, columns | n | k | race | local search |
|---|---|---|---|---|
| euclidean, 64 | 5,000 | 20 | 0.12, 8.815 | 0.07, 8.831 |
| euclidean, 64 | 20,000 | 5 | 0.65, 10.598 | 0.19, 10.595 |
| euclidean, 64 | 20,000 | 20 | 0.39, 8.749 | 0.17, 8.751 |
| euclidean, 64 | 100,000 | 20 | 2.17, 8.648 | 0.86, 8.663 |
| euclidean, 64 | 100,000 | 100 | 1.88, 6.938 | 0.85, 6.937 |
| manhattan, 20 | 20,000 | 200 | 0.72, 11.790 | 0.31, 11.785 |
| manhattan, 20 | 100,000 | 1,000 | 16.27, 10.306 | 2.85, 10.307 |

Up to `lazybandit.AT_ONCE` pairs the race computes all dissimilarities, swaps on the full table and
tries other starts; its results are the better ones there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protobandit.problem.problem import Problem
from protobandit.search.methods.effort import EFFORTS, as_level
from protobandit.search.methods.lazybandit import AT_ONCE, LazyBandit
from protobandit.search.methods.localsearch import LocalSearch
from protobandit.search.methods.memory import row_bytes
from protobandit.search.methods.method import Method

_LONG_ROW = 1024  # bytes
_FEW_PROTOTYPES, _FEW = 200, 10_000_000  # k, and |S| k


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """The race or local search, whichever suits the problem.

    Local search is chosen for cheap built-in metrics if |S||T| is more than 2^24, the race
    otherwise. The race is also chosen for thorough effort if rows are long (1 KB), k is at most 200
    and |S| k at most 10^7.

    Parameters
    ----------
    effort
        "fast" (1), "balanced" (2.5), "thorough" (6), or a number: that of the engine chosen.
    """

    name: ClassVar[str] = "auto"
    effort: str | float = "balanced"

    def __post_init__(self) -> None:
        as_level(self.effort)

    def engine(self, problem: Problem | None) -> Method:
        """Return the method for a problem, or for a stream that is still to be read (None)."""
        if problem is None or problem.fresh is not None or problem.stream is not None:
            return LazyBandit(effort=self.effort)
        metric = problem.metric
        is_small = len(problem.source) * len(problem.target) <= AT_ONCE
        if is_small or metric.is_expensive or metric.name == "precomputed":
            return LazyBandit(effort=self.effort)
        # At this effort the cost matters more than the time.
        is_long = row_bytes(problem.target) >= _LONG_ROW and len(problem.source) * problem.k <= _FEW
        if (
            is_long
            and problem.k <= _FEW_PROTOTYPES
            and as_level(self.effort) >= EFFORTS["thorough"]
        ):
            return LazyBandit(effort=self.effort)
        return LocalSearch(effort=self.effort)
