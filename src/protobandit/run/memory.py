"""Whether a plan fits into memory, and what the user should know about a plan that was reduced.

The plan of a search follows from the problem and the limits. The available memory decides only
whether a call is refused, so that a call that is not refused gives the same result everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.memory import available_memory, shown_apart, shown_bytes
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.methods.method import SOURCE_ROWS, Method, Schedule

_STEPS = (0.9, 0.7, 0.5)  # of the available memory, to look for a plan that fits


def require_available(method: Method, problem: Problem, limits: Limits, schedule: Schedule) -> None:
    """Raise if a plan needs more than the available memory, unless the user set a limit.

    The message names a limit with which the call works, if there is one.
    """
    available = available_memory()
    if limits.memory is not None or schedule.memory <= available:
        return
    smaller = _smaller_limit(method, problem, limits, available)
    if smaller is not None:
        instead = f"Pass limits=Limits(memory={smaller}), with which a smaller plan works"
    elif method.name != "lazybandit":
        instead = "Use method='lazybandit', which needs less"
    else:
        instead = "Pass fewer rows"
    needed, free = shown_apart(schedule.memory, available)
    raise InvalidInput(
        f"method={method.name!r} needs about {needed} of memory for this "
        f"problem, but {free} are available. {instead}; or pass "
        f"limits=Limits(memory={schedule.memory}) to try it nevertheless."
    )


def _smaller_limit(method: Method, problem: Problem, limits: Limits, available: int) -> int | None:
    """Return a limit whose plan fits into the available memory, two digits long, or None."""
    for step in _STEPS:
        memory = int(float(f"{step * available:.1e}"))
        try:
            plan = method.schedule(problem, replace(limits, memory=max(memory, 1)))
        except InvalidInput:
            continue
        if plan.memory <= available:
            return memory
    return None


def plan_warnings(schedule: Schedule, limits: Limits) -> Iterator[RunWarning]:
    """Yield what the user should know about a plan that a limit has reduced."""
    limit = _shown(limits)
    for each in schedule.reductions:
        if each.of == SOURCE_ROWS:
            yield RunWarning(
                WarningKind.ROWS_LEFT_OUT,
                f"{limit} left out {each.wanted - each.planned:,} of {each.wanted:,} source rows: "
                f"{each.planned:,} random ones took part. Allow more, or lower k or the effort.",
            )
        else:
            yield RunWarning(
                WarningKind.SMALLER_PLAN,
                f"{limit} reduced the plan to {each.planned:,} of {each.wanted:,} {each.of}.",
            )
    if limits.memory is not None and schedule.memory > limits.memory:
        yield RunWarning(
            WarningKind.MEMORY,
            f"The smallest plan needs about {shown_bytes(schedule.memory)}, more than "
            f"Limits(memory={limits.memory}).",
        )


def _shown(limits: Limits) -> str:
    """Return the limits that can reduce a plan, as the user passed them."""
    names = ("evaluations", "memory")
    given = [f"{name}={getattr(limits, name)}" for name in names if getattr(limits, name)]
    if not given:
        budget = shown_bytes(limits.memory_budget)
        return f"The memory budget of {budget} (Limits(memory=…) changes it)"
    return f"Limits({', '.join(given)})"
