"""The order of a race: round after round over all, and what is left out.

Each round has one seed and lets all contestants fit every problem, one after the other, starting
with another one each time, so that whatever disturbs the machine hits all alike. Left out are:

- cells that are in the results already;
- after the first round, contestants that draw no random numbers, cells that failed, and cells that
  took longer than ``once``;
- fits as large as one that did not end in time, which are recorded as not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.comparison._contestants import Contestant
from benchmarks.comparison._problems import Problem
from benchmarks.comparison._results import LIMIT, MISSING, SKIPPED, Result

Fit = Callable[[Problem, Contestant, Result], Result]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who races on what, how often, and within which limits."""

    problems: tuple[Problem, ...]
    contestants: tuple[Contestant, ...]
    seeds: int
    limit: float
    once: float

    def cells(self) -> Iterator[tuple[Problem, Contestant, Result]]:
        """Yield all that could be run, in the order of the race, with a blank result for each."""
        for seed in range(self.seeds):
            for problem in self.problems:
                for k in problem.ks:
                    for contestant in _turned(self.contestants, seed):
                        if contestant.takes_target or not problem.has_target:
                            yield problem, contestant, _blank(problem, contestant, k, seed)


def race(plan: Plan, kept: list[Result], fit: Fit) -> Iterator[list[Result]]:
    """Yield the results after each fit, those kept first."""
    results = [result for result in kept if not _is_stale(result, plan)]
    seen = {(*result.cell, result.seed) for result in results}
    for problem, contestant, blank in plan.cells():
        if (*blank.cell, blank.seed) in seen or _is_settled(blank, contestant, results, plan):
            continue
        larger = _in_vain(blank, results)
        results.append(larger if larger is not None else fit(problem, contestant, blank))
        yield results


def _is_stale(result: Result, plan: Plan) -> bool:
    """Return whether a kept result is to be tried again: there may be more time, or a rival."""
    is_short = result.status in (LIMIT, SKIPPED) and result.limit < plan.limit
    return is_short or result.status == MISSING


def _is_settled(blank: Result, contestant: Contestant, results: list[Result], plan: Plan) -> bool:
    """Return whether earlier rounds say enough."""
    if blank.seed == 0:
        return False
    if not contestant.has_seed:
        return True
    before = [result for result in results if result.cell == blank.cell]
    return any(not r.is_done or (r.seconds or 0.0) > plan.once for r in before)


def _in_vain(blank: Result, results: list[Result]) -> Result | None:
    for result in results:
        is_late = result.status == LIMIT and result.contestant == blank.contestant
        if is_late and blank.is_no_smaller(result):
            reason = f"not tried: over {result.limit:g} s at {result.problem}, k = {result.k}"
            return replace(blank, status=SKIPPED, reason=reason, limit=result.limit)
    return None


def _turned(contestants: tuple[Contestant, ...], seed: int) -> tuple[Contestant, ...]:
    start = seed * len(contestants) // 3 % len(contestants)
    return contestants[start:] + contestants[:start]


def _blank(problem: Problem, contestant: Contestant, k: int, seed: int) -> Result:
    return Result(
        problem=problem.name,
        n=problem.n,
        n_target=problem.n_target,
        d=problem.d,
        k=k,
        seed=seed,
        contestant=contestant.name,
        status=MISSING,
    )
