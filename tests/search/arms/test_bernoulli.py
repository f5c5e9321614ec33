from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import kl_div

from protobandit.search.arms.bernoulli import divergence, upper_bound

MEANS = [0, 1e-12, 1e-6, 1e-3, 0.02, 0.3, 0.5, 0.8, 0.97, 0.999, 1 - 1e-6, 1 - 1e-12, 1]
LEVELS = [1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1, 3, 10, 50]
ALMOST_ONE = 1 - 2**-53


def kl(p, q):
    return kl_div(p, q) + kl_div(1 - p, 1 - q)


def root(mean, level):
    if mean == 1 or kl(mean, ALMOST_ONE) <= level:
        return 1.0
    return brentq(lambda q: kl(mean, q) - level, max(mean, 1e-300), ALMOST_ONE, xtol=1e-14)


@pytest.mark.parametrize("level", LEVELS)
def test_bounds_are_the_roots_or_slightly_above(level):
    means = np.array(MEANS, dtype=float)
    roots = np.array([root(mean, level) for mean in means])
    bounds = upper_bound(means, np.full(len(means), level))
    assert (bounds >= roots - 1e-12).all()
    assert (bounds <= roots + 1e-7).all()


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1e-9, 100)), min_size=1, max_size=30))
def test_bounds_do_not_depend_on_other_arms(pairs):
    means, levels = np.array(pairs).T
    bounds = upper_bound(means, levels)
    assert ((means <= bounds) & (bounds <= 1)).all()
    alone = [upper_bound(means[i : i + 1], levels[i : i + 1])[0] for i in range(len(means))]
    np.testing.assert_allclose(bounds, alone, rtol=0, atol=2e-7)


def test_bounds_grow_with_mean_and_level():
    means, levels = np.linspace(0, 1, 50), np.geomspace(1e-6, 5, 40)
    grid = np.array([upper_bound(means, np.full(50, level)) for level in levels])
    assert (np.diff(grid, axis=0) >= -1e-7).all()
    assert (np.diff(grid, axis=1) >= -1e-7).all()


def test_divergence():
    p, q = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0.01, 0.99, 15))
    np.testing.assert_allclose(divergence(p, q), kl(p, q), atol=1e-14)
