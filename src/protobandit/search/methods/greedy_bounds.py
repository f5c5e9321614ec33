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
    if feasibility.min_distance is not None:  # rows that are far apart are not a matroid
        return None
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


def bandit_share(epsilon: float, r: int) -> float:
    """Return the share of f* - k nu_step that stochastic greedy on sampled gains reaches.

    It is 1 - 1/e - epsilon for one row per iteration (r = 1), as in the paper, and
    1 - exp(-(1 - epsilon) / r) for r > 1: E[f] >= share (f* - k nu_step) - delta, f in units of C.

    Proof. Let k rows be chosen from n, O be the best set (with the fixed rows) and f* = f(O). In an
    iteration with the prototypes A, let X be the x <= k rows of O that are not in A. The subset R
    has n / k ln(1 / epsilon) random rows, so it contains a row of X with probability at least
    1 - epsilon**(x / k) >= (1 - epsilon) x / k. If so, a random row of X in R is a uniform element
    of X, and because f is monotone and submodular its expected gain is at least (f* - f(A)) / x.
    The search chooses a row, or among r rows one, whose gain is at most nu_step
    below the best gain in R; further rows of the iteration do not lower f, and no gain is negative.
    So the expected gain of an iteration is at least (1 - epsilon) / k (f* - k nu_step - f(A)), also
    where this is negative. After k / r iterations or more,
    E[f] >= (1 - (1 - (1 - epsilon) / k)**(k / r)) (f* - k nu_step), or f* < k nu_step and nothing
    is claimed; the factor is at least 1 - exp(-(1 - epsilon) / r). For r = 1 it is at least
    1 - 1/e - epsilon, because exp(epsilon) <= 1 + e epsilon. With probability at most delta some
    search fails, which lowers E[f] by at most delta, because f <= 1.

    The share falls with r for a reason: the r best rows of an iteration may all serve the same
    target rows, so that only one of them counts. If every row exists r times, k picks have the f of
    k / r distinct rows.
    """
    return GREEDY_SHARE - epsilon if r == 1 else 1 - math.exp(-(1 - epsilon) / r)


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
