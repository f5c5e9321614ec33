"""The method "auto": it chooses the engine that suits a problem.

The race (`LazyBandit`) keeps every dissimilarity it computes and computes few; local search
(`LocalSearch`) keeps none and computes them fast. So the race is chosen where a dissimilarity is
expensive, and where so few are needed that all are computed. Measured on two cores, euclidean,
CPU seconds and mean distance, |S| = |T| = n (Gaussian clusters with Zipf sizes, and MNIST; two
seeds, the range of the costs):

| data | k | effort | race | local search |
|---|---|---|---|---|
| clusters, 100,000 x 64 | 5 | balanced | 2.3, 10.413-10.416 | 0.6, 10.413-10.416 |
| clusters, 100,000 x 64 | 20 | balanced | 1.2, 8.671-8.673 | 0.8, 8.665-8.670 |
| clusters, 100,000 x 64 | 100 | thorough | 7.2, 6.923-6.926 | 1.3, 6.923-6.925 |
| clusters, 100,000 x 50 | 200 | thorough | 16.7, 5.734 | 1.9, 5.736 |
| MNIST, 60,000 x 784 | 20 | balanced | 4.3, 6.919-6.921 | 3.1, 6.922-6.935 |
| MNIST, 60,000 x 784 | 100 | balanced | 4.0, 6.054-6.057 | 4.4, 6.043-6.048 |
| MNIST, 60,000 x 784 | 20 | thorough | 11.3, 6.909-6.915 | 5.4, 6.911-6.918 |
| MNIST, 60,000 x 784 | 100 | thorough | 15.2, 6.029-6.031 | 7.7, 6.035-6.037 |

Up to `lazybandit.AT_ONCE` pairs the race computes all dissimilarities, swaps on the full table and
tries other starts; its results are the better ones there. So they are for few prototypes of long
rows at thorough effort, where the user wants the cost more than the time. And they are where a
limit of evaluations is less than local search plans: 5.86 against 6.56 (20,000 rows, k = 20, limit
200,000), 2.354 against 2.419 (k = 300, limit 10^7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protobandit.problem.limits import Limits
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
    otherwise. The race is also chosen if ``Limits(evaluations=…)`` allows less than local search
    plans, and for thorough effort if rows are long (1 KB), k is at most 200 and |S| k at most 10^7.

    Parameters
    ----------
    effort
        "fast" (1), "balanced" (2.5), "thorough" (6), or a number: that of the engine chosen.
    """

    name: ClassVar[str] = "auto"
    effort: str | float = "balanced"

    def __post_init__(self) -> None:
        as_level(self.effort)

    def engine(self, problem: Problem | None, limits: Limits | None = None) -> Method:
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
        local = LocalSearch(effort=self.effort)
        most = None if limits is None else limits.evaluations
        if most is not None and most < local.schedule(problem, Limits()).evaluations:
            return LazyBandit(effort=self.effort)
        return local
