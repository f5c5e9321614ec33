from __future__ import annotations

import math

import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.aggressive_elimination import AggressiveElimination
from protobandit.search.arms.kl_lucb import KLLUCB
from protobandit.search.arms.median_elimination import MedianElimination
from protobandit.search.arms.pac import hoeffding_rows
from protobandit.search.arms.uniform import Uniform

PROMISING = [Uniform, AggressiveElimination, MedianElimination, KLLUCB]


@pytest.mark.parametrize("strategy", PROMISING)
@pytest.mark.parametrize("nu", [0, -0.1, math.nan, math.inf, 1e-200])
def test_invalid_nu(strategy, nu):
    with pytest.raises(InvalidInput, match="nu="):
        strategy(nu=nu, delta=0.1)


@pytest.mark.parametrize("strategy", PROMISING)
@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan])
def test_invalid_delta(strategy, delta):
    with pytest.raises(InvalidInput, match="delta="):
        strategy(nu=0.1, delta=delta)


@pytest.mark.parametrize("strategy", PROMISING)
@pytest.mark.parametrize(("nu", "delta"), [(1e-100, 0.1), (0.1, 1e-300), (2.0, 0.999)])
def test_the_ends_of_the_allowed_values(strategy, nu, delta):
    made = strategy(nu=nu, delta=delta)
    assert (made.nu, made.delta) == (nu, delta)


@pytest.mark.parametrize("tolerance", [0.5, 0.1, 0.013])
def test_one_row_fewer_is_not_enough(tolerance):
    m = hoeffding_rows(tolerance, 40)
    assert math.exp(-m * tolerance**2 / 2) <= 1 / 40 < math.exp(-(m - 1) * tolerance**2 / 2)
