from __future__ import annotations

import math

import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.elimination import EliminationStage, planned_pulls
from protobandit.search.arms.uniform import Uniform

# Every size up to a few thousand, then round ones, and those just above the size at which one more
# stage is needed, which cost most.
SIZES = [*range(2, 3000), 36667, 36668, *(10**e // d for e in (4, 5, 6) for d in (1, 2, 3))]


def largest_cost(nu, delta):
    strategy = AggressiveElimination(nu=nu, delta=delta)
    bound = 18 / nu**2 * math.log(1 / delta)
    return max(planned_pulls(strategy.plan(n)) / (n * bound) for n in SIZES)


@pytest.mark.parametrize("nu", [0.5, 0.05])
@pytest.mark.parametrize("delta", [0.05, 0.001])
def test_cost_is_below_the_bound_of_the_paper(nu, delta):
    assert largest_cost(nu, delta) <= 0.89


def test_cost_is_above_the_bound_of_the_paper_for_large_delta():
    assert largest_cost(0.1, delta=0.1) > 1


def test_sums_of_errors_and_tolerances():
    strategy = AggressiveElimination(nu=0.2, delta=0.05)
    nu = delta = 0.0
    for s, stage in enumerate(strategy.plan(10**6), start=1):
        tolerance, error = 0.65 * 0.35 ** (s - 1) * 0.2, 0.05 / 2**s
        p = math.exp(-stage.n_rows * tolerance**2 / 2)
        odds = stage.n_arms if stage.n_keep == 1 else 1 + stage.n_arms / stage.n_keep
        assert p * odds <= error
        nu, delta = nu + tolerance, delta + error
    assert nu < 0.2
    assert delta < 0.05


def test_plan():
    plan = AggressiveElimination(nu=0.5, delta=0.1, alpha=0.5, keep=0.1).plan(95)
    rows = [math.ceil(32 * math.log(11 / 0.05)), math.ceil(128 * math.log(11 / 0.025))]
    assert plan == [EliminationStage(95, rows[0], 10), EliminationStage(10, rows[1], 1)]
    rows = [math.ceil(32 * math.log(9 / 0.05))]
    assert AggressiveElimination(nu=0.5, delta=0.1, alpha=0.5, keep=0.1).plan(9) == [
        EliminationStage(9, rows[0], 1)
    ]


@pytest.mark.parametrize("delta", [0.05, 0.001])
@pytest.mark.parametrize("n_arms", [2, 10, 100, 10**4, 10**6])
def test_uniform_is_cheaper(delta, n_arms):
    aggressive = AggressiveElimination(nu=0.1, delta=delta)
    uniform = Uniform(nu=0.1, delta=delta)
    assert uniform.n_rows(n_arms) * n_arms < planned_pulls(aggressive.plan(n_arms))


@pytest.mark.parametrize("alpha", [0, 1, math.nan])
def test_invalid_alpha(alpha):
    with pytest.raises(InvalidInput, match="alpha="):
        AggressiveElimination(nu=0.1, delta=0.1, alpha=alpha)


@pytest.mark.parametrize("keep", [0, 0.6, math.nan])
def test_invalid_keep(keep):
    with pytest.raises(InvalidInput, match="keep="):
        AggressiveElimination(nu=0.1, delta=0.1, keep=keep)
