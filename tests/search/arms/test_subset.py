from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.lazy import Lazy
from protobandit.search.arms.subset import Subset
from search.arms.fakes import FAKES, play

BANDIT = FAKES["many arms"](0)


def drawn(size, *, picks=1, seed=0):
    (pull,) = play(Subset(inner=Exhaustive(), size=size), BANDIT, picks=picks, seed=seed).pulls
    return pull.arms


def test_the_inner_strategy_chooses_among_the_drawn_arms():
    for seed in range(20):
        played = play(Subset(inner=Exhaustive(), size=6), BANDIT, seed=seed)
        (pull,) = played.pulls
        assert len(pull.arms) == 6
        assert (np.diff(pull.arms) > 0).all()
        assert played.choice.means == pytest.approx(BANDIT.means_of(pull.arms).max())


def test_every_arm_is_drawn_equally_often():
    n_draws, size = 1000, 9
    times = np.bincount(
        np.concatenate([drawn(size, seed=seed) for seed in range(n_draws)]),
        minlength=BANDIT.ids.max() + 1,
    )[BANDIT.ids]
    share = size / len(BANDIT.ids)
    deviation = (times - n_draws * share) / np.sqrt(n_draws * share * (1 - share))
    assert abs(deviation).max() < 4.5
    assert abs(deviation).max() > 1  # not the same arms in rotation


def test_all_arms_are_drawn_if_there_are_fewer_than_size():
    assert np.array_equal(drawn(90), BANDIT.ids)
    assert np.array_equal(drawn(1000), BANDIT.ids)


def test_no_pull_if_as_many_arms_are_drawn_as_picked():
    bounds = Bounds(np.ones(300))
    played = play(Subset(inner=Lazy(), size=2), BANDIT, picks=3, bounds=bounds)
    assert played.pulls == []
    assert len(played.choice.arms) == 3
    assert played.choice.bounds is bounds


def test_invalid_size():
    with pytest.raises(InvalidInput, match="size=0"):
        Subset(inner=Exhaustive(), size=0)
