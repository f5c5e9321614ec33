from __future__ import annotations

import math

import pytest

from protobandit.search.arms.elimination import EliminationStage, planned_pulls
from protobandit.search.arms.median_elimination import MedianElimination


def test_plan():
    plan = MedianElimination(nu=0.4, delta=0.1).plan(5)
    tolerances, errors = [0.1, 0.075, 0.05625], [0.05, 0.025, 0.0125]
    rows = [math.ceil(4 / e**2 * math.log(3 / d)) for e, d in zip(tolerances, errors, strict=True)]
    assert plan == [
        EliminationStage(5, rows[0], 3),
        EliminationStage(3, rows[1], 2),
        EliminationStage(2, rows[2], 1),
    ]


@pytest.mark.parametrize("nu", [0.9, 0.3, 0.01])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-6])
def test_cost_is_below_its_bound(nu, delta):
    for n_arms in [*range(2, 300), 10**4, 10**5, 10**6]:
        n = 2 ** math.ceil(math.log2(n_arms))
        bound = n / nu**2 * (576 * math.log(3 / delta) + 3594) + 2 * n
        assert planned_pulls(MedianElimination(nu=nu, delta=delta).plan(n_arms)) <= bound
