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
rows at thorough effort, where the user wants the cost more than the time.

A limit of evaluations is the other reason to race. Mean distances of 60,000 rows (Student t with
3 degrees of freedom x 5; clusters with Zipf sizes x 16), exact in float64, race and local search,
by the limit as a share of what local search plans (means of 2 seeds for k = 500, of 3 otherwise):

| data, k | 0.05 | 0.15 | 0.3 | 0.4 |
|---|---|---|---|---|
| t, 20 | 2.086, 2.056 | 2.061, 2.042 | 2.042, 2.036 | 2.046, 2.033 |
| t, 100 | 1.574, 1.563 | 1.558, 1.540 | 1.548, 1.533 | 1.542, 1.523 |
| t, 500 | 1.171, 1.195 | 1.153, 1.161 | 1.146, 1.155 | 1.139, 1.153 |
| clusters, 20 | 9.602, 9.647 | 9.477, 9.517 | 9.422, 9.466 | 9.420, 9.451 |
| clusters, 100 | 6.747, 6.539 | 6.560, 6.422 | 6.410, 6.371 | 6.355, 6.308 |
| clusters, 500 | 4.829, 4.982 | 4.483, 4.777 | 4.324, 4.745 | 4.389, 4.737 |

| data, k | 0.5 | 0.7 | 0.9 |
|---|---|---|---|
| t, 20 | 2.039, 2.033 | 2.040, 2.031 | 2.040, 2.029 |
| t, 100 | 1.537, 1.523 | 1.531, 1.516 | 1.531, 1.513 |
| t, 500 | 1.135, 1.120 | 1.129, 1.107 | 1.126, 1.099 |
| clusters, 20 | 9.416, 9.441 | 9.417, 9.428 | 9.417, 9.416 |
| clusters, 100 | 6.342, 6.299 | 6.323, 6.292 | 6.323, 6.289 |
| clusters, 500 | 4.312, 4.316 | 4.210, 4.132 | 4.152, 4.093 |

From half of the plan on local search is better, by up to 2.5 %, or at most 0.3 % worse. Below it
the race is up to 10 % better for many prototypes, and about 3 % worse at most for few. Where the
limit is too low for a race, local search runs.
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
_LIMIT_SHARE = 0.5  # of what local search plans: with a lower limit of evaluations the race is used


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """The race or local search, whichever suits the problem.

    Local search is chosen for cheap built-in metrics if |S||T| is more than 2^24, the race
    otherwise. The race is also chosen if ``Limits(evaluations=…)`` allows less than half of what
    local search plans, and for thorough effort if rows are long (1 KB), k is at most 200 and |S| k
    at most 10^7. If the limit is too low for a race, local search is chosen in any case.

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
        race, local = LazyBandit(effort=self.effort), LocalSearch(effort=self.effort)
        most = None if limits is None else limits.evaluations
        if most is not None and most < race.least_evaluations(problem):
            return local
        metric = problem.metric
        is_small = len(problem.source) * len(problem.target) <= AT_ONCE
        if is_small or metric.is_expensive or metric.name == "precomputed":
            return race
        # At this effort the cost matters more than the time.
        is_long = row_bytes(problem.target) >= _LONG_ROW and len(problem.source) * problem.k <= _FEW
        if (
            is_long
            and problem.k <= _FEW_PROTOTYPES
            and as_level(self.effort) >= EFFORTS["thorough"]
        ):
            return race
        if most is None:
            return local
        planned = local.schedule(problem, Limits()).evaluations
        return race if most < _LIMIT_SHARE * planned else local
