"""The order of the fits, and which fits are left out.

Each round has one seed and visits all problems. All contestants fit a problem one after the other,
and each round starts with a different contestant, so that a disturbance of the machine affects all
of them. Left out are:

- fits that are in the results already;
- after the first round: contestants that draw no random numbers, fits that failed, and fits that
  took longer than ``once``;
- fits at least as large as one that exceeded the limit, which are recorded as skipped; if
  ``is_by_data``, only fits of the same data are compared in size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.comparison.contestants import Contestant
from benchmarks.comparison.problems import Problem, data_of
from benchmarks.comparison.results import LIMIT, MISSING, SKIPPED, Result

Fit = Callable[[Problem, Contestant, Result], Result]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Problems, contestants, number of rounds, limits in seconds, and the first seed."""

    problems: tuple[Problem, ...]
    contestants: tuple[Contestant, ...]
    seeds: int
    limit: float
    once: float
    first_seed: int = 0
    is_by_data: bool = False

    def fits(self) -> Iterator[tuple[Problem, Contestant, Result]]:
        """Yield all possible fits in their order, each with a blank result."""
        for turn in range(self.seeds):
            seed = self.first_seed + turn
            for problem in self.problems:
                for k in problem.ks:
                    for contestant in _rotated(self.contestants, turn):
                        if contestant.is_tried(problem, k):
                            yield problem, contestant, _blank(problem, contestant, k, seed)


def run_plan(plan: Plan, kept: list[Result], fit: Fit) -> Iterator[list[Result]]:
    """Yield all results after each fit, those of earlier runs first."""
    results = [result for result in kept if not _is_outdated(result, plan)]
    seen = {(*result.cell, result.seed) for result in results}
    for problem, contestant, blank in plan.fits():
        if (*blank.cell, blank.seed) in seen or _is_settled(blank, contestant, results, plan):
            continue
        skipped = _skipped(blank, results, plan)
        results.append(skipped if skipped is not None else fit(problem, contestant, blank))
        yield results


def _is_outdated(result: Result, plan: Plan) -> bool:
    """Return whether to repeat a result: the limit is higher now, or a package was missing."""
    had_less_time = result.status in (LIMIT, SKIPPED) and result.limit < plan.limit
    return had_less_time or result.status == MISSING


def _is_settled(blank: Result, contestant: Contestant, results: list[Result], plan: Plan) -> bool:
    """Return whether the results of earlier rounds are sufficient."""
    if blank.seed == plan.first_seed:
        return False
    if not contestant.has_seed:
        return True
    before = [result for result in results if result.cell == blank.cell]
    return any(not r.is_done or (r.seconds or 0.0) > plan.once for r in before)


def _skipped(blank: Result, results: list[Result], plan: Plan) -> Result | None:
    """Return a skipped result if a fit that is no larger exceeded the limit."""
    for result in results:
        if plan.is_by_data and data_of(result.problem) != data_of(blank.problem):
            continue
        is_late = result.status == LIMIT and result.contestant == blank.contestant
        if is_late and blank.is_no_smaller(result):
            reason = f"not tried: over {result.limit:g} s at {result.problem}, k = {result.k}"
            return replace(blank, status=SKIPPED, reason=reason, limit=result.limit)
    return None


def _rotated(contestants: tuple[Contestant, ...], turn: int) -> tuple[Contestant, ...]:
    start = turn * len(contestants) // 3 % len(contestants)
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
