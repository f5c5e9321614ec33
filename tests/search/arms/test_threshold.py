from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.threshold import Level, Threshold
from search.arms.fakes import Bandit, beta, play


def flat(gains):
    """Return a bandit in which all rewards of an arm equal its gain."""
    return Bandit.of(np.repeat(np.asarray(gains, dtype=float)[:, None], 4, axis=1))


def begun(gains, epsilon=0.1):
    """Return the bounds after the first round on arms with these gains."""
    return play(Threshold(epsilon=epsilon), flat(gains)).choice.bounds


def test_the_first_round_pulls_all_and_takes_the_first_of_the_best():
    bandit = flat([0.2, 0.9, 0.5, 0.9])
    played = play(Threshold(epsilon=0.1), bandit)
    assert played.choice.arms == bandit.ids[1]
    assert [pull.arms.tolist() for pull in played.pulls] == [bandit.ids.tolist()]
    bounds = played.choice.bounds
    assert isinstance(bounds, Level)
    assert (bounds.largest, bounds.power) == (0.9, 0)
    assert bounds.least == pytest.approx(0.1 / 4 * 0.9)
    assert bounds.upper[bandit.ids].tolist() == [0.2, 0.9, 0.5, 0.9]


def test_bounds_of_another_strategy_are_ignored():
    bandit = flat([0.2, 0.9])
    played = play(Threshold(epsilon=0.1), bandit, bounds=Bounds(np.zeros(20)))
    assert played.choice.arms == bandit.ids[1]
    assert played.n_pulls == bandit.rewards.size


def test_the_first_arm_above_the_threshold_is_taken_not_the_best():
    """Both reach 0.9 * (1 - 0.1), and the better arm is the second."""
    before = flat([0.82, 0.9, 0.88])
    now = flat([0.82, 0.0, 0.88])
    left = before.ids[[0, 2]]
    bounds = begun([0.82, 0.9, 0.88])
    played = play(Threshold(epsilon=0.1), now, arms=left, bounds=bounds)
    assert played.choice.arms == before.ids[0]
    assert played.choice.bounds.power == 1


def test_only_arms_whose_last_gain_reaches_the_threshold_are_pulled():
    gains = [0.9, 0.88, 0.5, 0.1]
    bandit = flat(gains)
    played = play(Threshold(epsilon=0.1), bandit, arms=bandit.ids[1:], bounds=begun(gains))
    assert [pull.arms.tolist() for pull in played.pulls] == [[int(bandit.ids[1])]]
    assert played.choice.means == 0.88


def test_an_arm_below_the_threshold_is_not_pulled_before_it_falls():
    bounds = begun([0.9, 0.88, 0.5])
    bandit = flat([0.0, 0.3, 0.5])
    played = play(Threshold(epsilon=0.1), bandit, arms=bandit.ids[1:], bounds=bounds)
    assert [pull.arms.tolist() for pull in played.pulls] == [
        [int(bandit.ids[1])],
        [int(bandit.ids[2])],
    ]
    assert played.choice.arms == bandit.ids[2]
    level = 0.9 * 0.9**played.choice.bounds.power
    assert level <= 0.5 < level / 0.9
    assert played.choice.bounds.upper[bandit.ids[1]] == 0.3


def test_below_the_least_threshold_arms_are_chosen_by_their_last_gain():
    gains = [0.9, 1e-4, 3e-4, 2e-4]
    bandit = flat(gains)
    bounds = begun(gains, epsilon=0.3)
    assert bounds.least > 3e-4
    played = play(Threshold(epsilon=0.3), bandit, arms=bandit.ids[1:], bounds=bounds)
    assert played.pulls == []
    assert played.choice.arms == bandit.ids[2]
    assert np.isnan(played.choice.means).all()


def test_a_bound_of_zero_is_a_gain_of_zero():
    gains = [0.9, 0.0, 0.0]
    bandit = flat(gains)
    played = play(Threshold(epsilon=0.3), bandit, arms=bandit.ids[1:], bounds=begun(gains))
    assert played.pulls == []
    assert played.choice.means == 0.0


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
def test_the_batch_does_not_change_the_choice(epsilon):
    before, now = beta(np.linspace(0.1, 0.9, 60), 50, 0), beta(np.linspace(0.1, 0.7, 60), 50, 1)
    now = Bandit(np.minimum(before.rewards, now.rewards), before.ids)
    bounds = begun(before.truth, epsilon)
    chosen = [
        play(Threshold(epsilon=epsilon, batch=b), now, bounds=bounds).choice for b in (1, 7, 1000)
    ]
    assert len({int(choice.arms[0]) for choice in chosen}) == 1
    assert len({choice.bounds.power for choice in chosen}) == 1


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(10))
def test_the_gain_is_at_least_one_minus_epsilon_of_the_best(epsilon, seed):
    random = np.random.default_rng(seed)
    before = random.uniform(0.2, 1, size=30)
    now = before * random.uniform(0.3, 1, size=30)
    bandit = flat(now)
    choice = play(Threshold(epsilon=epsilon), bandit, bounds=begun(before, epsilon)).choice
    assert bandit.means_of(choice.arms)[0] >= (1 - epsilon) * now.max()


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -1, float("nan")])
def test_invalid_epsilon(epsilon):
    with pytest.raises(InvalidInput, match="epsilon="):
        Threshold(epsilon=epsilon)


def test_invalid_batch():
    with pytest.raises(InvalidInput, match="batch=0"):
        Threshold(epsilon=0.1, batch=0)


def test_several_picks_are_not_supported():
    with pytest.raises(InvalidInput, match="r=2"):
        play(Threshold(epsilon=0.1), flat([0.1, 0.2, 0.3]), picks=2)
