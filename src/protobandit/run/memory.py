"""Whether a plan fits into memory, and what the user should know about a plan that was reduced.

The plan of a search follows from the problem and the limits. The available memory decides only
whether a call is refused, so that plans do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.memory import available_memory, shown_apart, shown_bytes
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.problem.limits import WORKING_BYTES, Limits
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


def require_within_limit(
    method: Method, problem: Problem, limits: Limits, schedule: Schedule
) -> None:
    """Raise if the smallest plan needs more than ``Limits(memory)`` and a few working blocks.

    The message names a limit with which the call works.
    """
    if limits.memory is None or schedule.memory <= limits.memory + WORKING_BYTES:
        return
    enough = schedule.memory
    while (more := _with_memory(method, problem, limits, enough)) > enough + WORKING_BYTES:
        enough = more
    is_engine = method.name in ("lazybandit", "localsearch")
    other = "" if is_engine else ", or use method='auto'"
    raise InvalidInput(
        f"method={method.name!r} needs at least {shown_bytes(enough)} of memory for this problem, "
        f"more than Limits(memory={limits.memory}) allows. Pass Limits(memory={enough}) or more, "
        f"or a smaller k{other}."
    )


def _with_memory(method: Method, problem: Problem, limits: Limits, memory: int) -> int:
    """Return the memory of the plan under another limit."""
    return method.schedule(problem, replace(limits, memory=memory)).memory


def _smaller_limit(method: Method, problem: Problem, limits: Limits, available: int) -> int | None:
    """Return a limit whose plan fits into the available memory, two digits long, or None."""
    for step in _STEPS:
        memory = int(float(f"{step * available:.1e}"))
        if _with_memory(method, problem, limits, max(memory, 1)) <= available:
            return memory
    return None


def plan_warnings(
    schedule: Schedule, limits: Limits, whole: Limits | None = None
) -> Iterator[RunWarning]:
    """Yield what the user should know about a plan that a limit has reduced.

    ``whole`` are the limits that the user passed, if ``limits`` are the share of one search.
    """
    limit = _shown(limits, limits if whole is None else whole)
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
                f"{limit} reduced the plan from {each.wanted:,} to {each.planned:,} {each.of}.",
            )


def _shown(limits: Limits, whole: Limits) -> str:
    """Return the limits that can reduce a plan, as the user passed them.

    If a search has a share of the evaluations, the share is added.
    """
    names = ("evaluations", "memory")
    given = [f"{name}={getattr(whole, name)}" for name in names if getattr(whole, name)]
    if not given:
        budget = shown_bytes(whole.memory_budget)
        return f"The memory budget of {budget} (Limits(memory=…) changes it)"
    share = ""
    if limits.evaluations is not None and limits.evaluations != whole.evaluations:
        share = f", of which one search has {limits.evaluations:,} evaluations,"
    return f"Limits({', '.join(given)}){share}"
