from __future__ import annotations

import numpy as np
import pytest

from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.exhaustive import Exhaustive
from search.arms.fakes import FAKES, Bandit, play


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize("picks", [1, 3])
def test_finds_the_best(fake, picks):
    bandit = FAKES[fake](0)
    played = play(Exhaustive(), bandit, picks=picks)
    best = np.sort(bandit.truth)[::-1][:picks]
    np.testing.assert_allclose(played.choice.means, best)
    np.testing.assert_allclose(bandit.means_of(played.choice.arms), best)
    assert played.n_pulls == bandit.rewards.size


def test_bounds_are_gains_by_source_row():
    bandit = FAKES["easy beta"](1)
    upper = play(Exhaustive(), bandit).choice.bounds.upper
    assert len(upper) == bandit.ids.max() + 1
    np.testing.assert_allclose(upper[bandit.ids], bandit.truth)
    assert np.isinf(np.delete(upper, bandit.ids)).all()


def test_bounds_of_other_rows_are_kept():
    bandit = FAKES["easy beta"](1)
    old = Bounds(np.full(100, 0.25))
    upper = play(Exhaustive(), bandit, bounds=old).choice.bounds.upper
    np.testing.assert_allclose(upper[bandit.ids], bandit.truth)
    assert (np.delete(upper, bandit.ids) == 0.25).all()
    assert (old.upper == 0.25).all()


def test_rewards_may_be_negative():
    played = play(Exhaustive(), Bandit.of(np.array([[-2.0, -1.0], [-1.0, -1.0], [-3.0, 0.0]])))
    assert played.choice.arms.tolist() == [8]
    assert played.choice.means.tolist() == [-1.0]
