"""What is proven about prototypes that no single swap improves.

Theory of operation
-------------------
M are k prototypes and M* a best set of k source rows. Arya et al. (2004) choose k swaps, each of a
prototype for a row of M*, such that every row of M* enters once and no prototype leaves more than
twice. Where distances obey the triangle inequality, the changes of the cost by these k swaps sum to
at most 5 cost(M*) - cost(M). The proof only uses distances between target rows and source rows, so
the source may differ from the target. It divides the weight of a target row as it divides target
rows, so weights may differ too.

If no single swap lowers the cost by more than the share g of it, the sum is at least
-k g cost(M). So

    cost(M)  <=  5 cost(M*) / (1 - k g).

Every swap must be allowed, so nothing is stated under constraints.

Reference: Arya, Garg, Khandekar, Meyerson, Munagala, Pandit (2004), Local search heuristics for
k-median and facility location problems, theorem 3.3 and the remark on small improvements.
"""

from __future__ import annotations

from dataclasses import replace

from protobandit.problem.guarantee import Guarantee, factor_guarantee
from protobandit.search.methods.method import Outcome

LOCALITY_GAP = 5.0


def with_locality(built: Guarantee | None, method: str, outcome: Outcome) -> Guarantee | None:
    """Return the guarantee of the start, with the factor of the cost that the swaps prove."""
    factor = locality_factor(outcome)
    if factor is None:
        return built
    local = factor_guarantee(method, factor)
    if built is None:
        return local
    statement = f"{local.statement} and {built.statement}"
    return replace(built, statement=statement, cost_factor=factor)


def locality_factor(outcome: Outcome) -> float | None:
    """Return the factor within which the cost is proven to be of the best one, or None."""
    gain = None if outcome.passes is None else outcome.passes.gain_bound
    has_theorem = outcome.problem.metric.obeys_triangle and outcome.feasibility.is_free
    if gain is None or not has_theorem or outcome.k * gain >= 1:
        return None
    return LOCALITY_GAP / (1 - outcome.k * gain)
