"""Extend an earlier selection by more prototypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import independent_generator
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.posing import DRAWS_OF_STREAM, as_count, rows_of_stream
from protobandit.problem.problem import Problem
from protobandit.run.outcome import SearchResult, Step
from protobandit.run.search import chosen_method, search
from protobandit.run.settings import RunSettings
from protobandit.search.methods.greedy import LazyGreedy
from protobandit.search.methods.method import Method
from protobandit.search.methods.table import METHODS

_STREAM_KEY = 0xE87E


class Earlier(Protocol):
    """What is needed of an earlier selection."""

    @property
    def indices(self) -> Ids: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def method(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def guarantee(self) -> Guarantee | None: ...


def extend(
    earlier: Earlier, problem: Problem, k: Any, method: Any, settings: RunSettings
) -> SearchResult:
    """Return the result with ``k`` rows that begins with those of an earlier selection."""
    if k is None or isinstance(k, (str, list, tuple)):
        raise InvalidInput(
            f"k={k!r:.40} is not a number of prototypes. Pass an int from "
            f"{len(earlier.indices) + 1} to {len(problem.source)}, or a fraction."
        )
    whole = replace(_of_kept_rows(problem), k=as_count(k, len(problem.source)), goal=None)
    _require_more(earlier, whole)
    rest = replace(whole, feasibility=replace(problem.feasibility, fixed=earlier.indices))
    rest.feasibility.require_feasible(rest.k)
    chosen, remark = _chosen(earlier, rest, method)
    # Guarantees of sampled searches need rows that had no part in the choice of the prototypes.
    random = independent_generator(settings.random, _STREAM_KEY, len(earlier.indices))
    own = replace(settings, random=random)
    result = search(rest, chosen, own, remark=remark, start=earlier.steps)
    is_same = (result.method, result.parameters) == (earlier.method, earlier.parameters)
    has_minima = problem.feasibility.least.any()
    found = earlier.guarantee
    is_greedy = found is not None and found.nu == 0 and found.cost_factor is None
    if is_same and result.guarantee and is_greedy and not has_minima:
        # A greedy search that paused is still greedy; but minima of groups depend on k, and so does
        # the sum of the tolerances of sampled searches. Swaps do not reach the prototypes that were
        # there.
        result = replace(result, guarantee=found)
    return replace(result, problem=whole)


def _of_kept_rows(problem: Problem) -> Problem:
    """Return the problem with the rows of a stream that were kept as an ordinary target.

    The first prototypes were chosen by these rows, among which are those that judged them. So none
    of them is a new draw for another search.
    """
    if DRAWS_OF_STREAM not in problem.conditions:
        return problem
    condition = rows_of_stream(len(problem.target))
    remark = f"{condition[0].upper()}{condition[1:]} for the first prototypes. {problem.remark}"
    return replace(problem, fresh=None, conditions=(condition,), remark=remark)


def _require_more(earlier: Earlier, problem: Problem) -> None:
    n = len(earlier.indices)
    if problem.feasibility.budget is not None:
        raise InvalidInput(
            f"This selection was ended by budget={problem.feasibility.budget:g}, not by a number "
            f"of rows. Select with a larger budget and Constraints(fixed=selection)."
        )
    if problem.k <= n:
        raise InvalidInput(
            f"k={problem.k} is not more than the {n} prototypes there are. Pass k > {n}, or use "
            f"at(k) for fewer."
        )


def _chosen(earlier: Earlier, problem: Problem, method: Any) -> tuple[Method, str]:
    if method is not None:
        return chosen_method(method, problem)
    maker = METHODS[earlier.method]
    if problem.needs <= maker.supports:
        return maker(**earlier.parameters), ""
    other = LazyGreedy()
    return other, f"{earlier.method} cannot extend given prototypes: {other.name} did."
