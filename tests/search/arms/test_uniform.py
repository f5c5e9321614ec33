from __future__ import annotations

import math

import numpy as np
import pytest

from protobandit.search.arms.uniform import Uniform
from search.arms.fakes import apart, bernoulli, beta, play


@pytest.mark.parametrize("picks", [1, 3])
def test_all_arms_are_pulled_on_the_proven_number_of_rows(picks):
    bandit = bernoulli(apart(20, 0.5), 2000, 0)
    (pull,) = play(Uniform(nu=0.2, delta=0.05), bandit, picks=picks).pulls
    assert pull.n == math.ceil(2 / 0.04 * math.log(picks * (20 - picks) / 0.05))
    assert np.array_equal(pull.arms, bandit.ids)


@pytest.mark.parametrize("nu", [0.01, 1e-50])
@pytest.mark.parametrize("picks", [1, 3])
def test_exact_at_one_pass(nu, picks):
    bandit = beta(np.linspace(0.4, 0.5, 30), 500, 0)
    played = play(Uniform(nu=nu, delta=0.1), bandit, picks=picks)
    np.testing.assert_allclose(played.choice.means, np.sort(bandit.truth)[::-1][:picks])
    assert bandit.is_within(played.choice, 0)
    assert played.n_pulls == bandit.rewards.size
