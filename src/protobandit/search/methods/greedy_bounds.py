"""What is proven about greedy selection, and the sizes and ranges that the proofs need."""

from __future__ import annotations

import math
from typing import Any

from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.problem import Problem

GREEDY_SHARE = 1 - 1 / math.e  # the share of the best f that greedy selection reaches


def exact_guarantee(name: str, feasibility: Feasibility) -> Guarantee | None:
    """Return what is proven about greedy selection on exact gains under these constraints."""
    if feasibility.prices is None:
        share = "f*/2" if feasibility.has_quotas else "(1 - 1/e) f*"
        return Guarantee(
            method=name, statement=f"f >= {share}", conditions=conditions_of(feasibility)
        )
    if feasibility.has_quotas:
        return None
    return Guarantee(
        method=name,
        statement="f >= (1 - 1/e)/2 f*",
        conditions=(
            *conditions_of(feasibility),
            "C is at least twice the cost of the worst single row",
        ),
    )


def conditions_of(feasibility: Feasibility) -> tuple[str, ...]:
    """Return the conditions that constraints add to a guarantee."""
    return () if feasibility.is_free else ("f* is the best f within the constraints",)


def subset_size(problem: Problem, epsilon: float) -> int:
    """Return the number of arms that an iteration of stochastic greedy reads."""
    n_chosen = max(1, problem.k - len(problem.feasibility.fixed))
    return math.ceil(len(problem.source) / n_chosen * -math.log(epsilon))


def require_epsilon(epsilon: Any) -> None:
    """Raise unless ``epsilon`` can be subtracted from the share that greedy reaches."""
    if not (is_number(epsilon) and 0 < epsilon < GREEDY_SHARE):
        raise InvalidInput(
            f"epsilon={epsilon!r:.60} is not allowed. Pass a number > 0 and < 1 - 1/e = "
            f"{GREEDY_SHARE:.3f}."
        )
