from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Moments, Terms
from protobandit.search.arms.successive_elimination import SuccessiveElimination
from search.arms.fakes import Bandit, apart, bernoulli, beta, play

N_BANDITS = 120


def first_turn(means, spreads, *, batch=100, population=10_000, delta=0.01):
    """Send the moments of a first batch; return the next pull, or the choice at the end."""
    arms = np.arange(len(means)) * 2
    strategy = SuccessiveElimination(delta=delta, batch=batch)
    search = strategy.identify(arms, Terms(population))
    assert next(search).arms.tolist() == arms.tolist()
    try:
        return search.send(_seen(batch, means, spreads))
    except StopIteration as end:
        return end.value


def _seen(count, means, spreads):
    counts = np.broadcast_to(count, len(means)).astype(np.int64)
    return Moments(counts, np.array(means, dtype=float), np.array(spreads, dtype=float))


# -- the interval ----------------------------------------------------------------------------------


@pytest.mark.parametrize("population", [200, 10**9])
def test_an_arm_is_dropped_if_the_intervals_are_disjoint(population):
    """Two arms with the variances 4 and 1, at delta / 2 each: the radii are 2 r and r."""
    r = math.sqrt(2 * math.log(2 / 0.01) * (1 / 100 - 1 / population))
    close = first_turn([3 * r * 0.999, 0.0], [4.0, 1.0], population=population)
    far = first_turn([3 * r * 1.001, 0.0], [4.0, 1.0], population=population)
    assert close.arms.tolist() == [0, 2]
    assert far.arms.tolist() == [0]
    assert far.means == pytest.approx(3 * r * 1.001)
    assert not far.is_proven


def test_each_arm_has_its_own_variance():
    """The second mean equals the third, but its interval is wider."""
    pull = first_turn([0.0, -0.3, -0.3], [0.01, 1.0, 0.01])
    assert pull.arms.tolist() == [0, 2]


def test_the_variance_is_that_of_the_first_batch():
    arms = np.array([3, 4])
    search = SuccessiveElimination(batch=100).identify(arms, Terms(10_000))
    next(search)
    search.send(_seen(100, [1.0, 0.0], [9.0, 9.0]))
    pull = search.send(
        _seen(200, [1.0, 0.0], [0.0, 0.0])
    )  # with a variance of 0 they would be separated
    assert pull.arms.tolist() == [3, 4]


def test_the_probability_of_error_is_divided_among_the_arms():
    """Two arms are separated alone, but not among a thousand arms that are far below."""
    gap, none = 1.0, -1000.0
    assert first_turn([gap, 0.0], [2.0, 2.0], delta=0.1).arms.tolist() == [0]
    crowd = first_turn([gap, 0.0, *[none] * 998], [2.0, 2.0, *[0.0] * 998], delta=0.1)
    assert crowd.arms.tolist() == [0, 2]


def test_an_infinite_variance_separates_nothing():
    pull = first_turn([5.0, -5.0], [np.inf, np.inf])
    assert pull.arms.tolist() == [0, 2]


def test_exact_arms_are_not_pulled_again():
    """One arm is exact at once; the others are pulled until they are below it."""
    search = SuccessiveElimination(batch=10).identify(np.array([0, 1, 2]), Terms(1000))
    next(search)
    pull = search.send(_seen([1000, 10, 10], [0.5, 0.5, -9.0], [0.0, 1.0, 1.0]))
    assert pull.arms.tolist() == [1]
    with pytest.raises(StopIteration) as end:
        search.send(_seen(1000, [0.4], [1.0]))
    assert end.value.value.arms.tolist() == [0]
    assert not end.value.value.is_proven  # the third was dropped after ten rows


# -- the schedule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 10, 64, 700])
@pytest.mark.parametrize("population", [1, 63, 1000, 10**7])
def test_steps(batch, population):
    strategy, count, steps = SuccessiveElimination(batch=batch), 0, 0
    while count < population:
        n = strategy.n_rows(count, population)
        assert n == population - count or n == max(batch, count // 4)
        count, steps = count + n, steps + 1
    assert count == population
    assert steps < 5 + math.log(max(population / batch, 1), 1.25) + 1


def test_every_search_uses_the_same_steps():
    strategy = SuccessiveElimination(batch=20)
    counts = []
    for seed in range(5):
        asked = play(strategy, beta(np.linspace(0.3, 0.5, 30), 1000, seed), seed=seed).pulls
        counts.append(np.cumsum([pull.n for pull in asked]).tolist())
    longest = max(counts, key=len)
    assert len(longest) > 5
    assert all(count == longest[: len(count)] for count in counts)


# -- the choice ------------------------------------------------------------------------------------


@pytest.mark.parametrize("picks", [1, 4])
@pytest.mark.parametrize("batch", [500, 5000])
def test_a_batch_of_all_rows_is_exact(picks, batch):
    bandit = beta(np.linspace(0.4, 0.5, 30), 500, 0)
    played = play(SuccessiveElimination(batch=batch), bandit, picks=picks)
    assert bandit.is_within(played.choice, 0)
    assert played.choice.is_proven
    assert played.n_pulls == bandit.rewards.size
    assert len(played.pulls) == 1


@pytest.mark.parametrize("picks", [1, 3])
def test_equal_arms_are_read_to_the_end(picks):
    """There are two arms of each mean, also of the best; only these are read to the end."""
    bandit = bernoulli(np.repeat([0.8, 0.5, 0.1], 5), 3000, 0)
    played = play(SuccessiveElimination(batch=50), bandit, picks=picks)
    assert bandit.is_within(played.choice, 0)
    assert played.choice.means == pytest.approx(0.8)
    assert 5 * 3000 <= played.n_pulls < 7 * 3000


@pytest.mark.parametrize("factor", [1024.0, 2.0**-30])
@pytest.mark.parametrize("shift", [0.0, -4.0])
def test_rewards_may_be_any_numbers(factor, shift):
    plain = beta(np.linspace(0.2, 0.5, 40), 2000, 0)
    moved = Bandit((plain.rewards + shift) * factor, plain.ids)
    plays = [play(SuccessiveElimination(batch=50), bandit) for bandit in (plain, moved)]
    assert plays[0].choice.arms == plays[1].choice.arms
    assert [p.arms.tolist() for p in plays[0].pulls] == [p.arms.tolist() for p in plays[1].pulls]


def test_few_pulls():
    bandit = bernoulli(apart(60, 0.4), 20_000, 0)
    played = play(SuccessiveElimination(), bandit)
    assert bandit.is_within(played.choice, 0)
    assert not played.choice.is_proven
    assert played.n_pulls < 0.05 * bandit.rewards.size


def failures(make, *, share=1, picks=1, batch=100):
    """Return the number of bandits in which an arm other than the good ones was chosen."""
    strategy, found = SuccessiveElimination(delta=0.01, batch=batch), 0
    for seed in range(N_BANDITS):
        bandit = make(apart(40, 0.3, picks), 3000, seed)
        played = play(strategy, bandit, picks=picks, seed=seed, share=share)
        assert played.n_pulls < 0.7 * bandit.rewards.size
        found += not bandit.is_within(played.choice, 0)
    return found


@pytest.mark.parametrize("make", [bernoulli, beta])
@pytest.mark.parametrize("picks", [1, 4])
def test_failures_are_rare(make, picks):
    assert failures(make, picks=picks) <= binom.ppf(0.999, N_BANDITS, 0.02)


def test_a_fiftieth_of_the_rows_fails_often():
    assert failures(bernoulli, share=50) > N_BANDITS / 4


def test_a_first_batch_without_rewards_can_drop_the_best_arm():
    """So this is a heuristic, and a batch must contain rows that an arm improves."""
    rewards = np.zeros((10, 4000))
    rewards[3, :40] = 1.0
    rewards[5:, :] = 0.002
    bandit = Bandit.of(rewards)
    lost = [
        play(SuccessiveElimination(batch=batch), bandit, seed=seed).choice.arms != bandit.ids[3]
        for batch in (50, 1000)
        for seed in range(20)
    ]
    assert sum(lost[:20]) > 3
    assert sum(lost[20:]) == 0


@pytest.mark.parametrize("options", [{"delta": 0}, {"delta": 1}, {"delta": math.nan}, {"batch": 0}])
def test_invalid_parameters(options):
    with pytest.raises(InvalidInput, match=next(iter(options))):
        SuccessiveElimination(**options)


@pytest.mark.parametrize("picks", [3, 4])
def test_as_many_picks_as_arms_need_no_pull(picks):
    search = SuccessiveElimination().identify(np.array([2, 5, 9]), Terms(100, picks=picks))
    with pytest.raises(StopIteration) as end:
        next(search)
    assert end.value.value.arms.tolist() == [2, 5, 9]


def test_the_defaults_are_those_of_the_paper():
    """Algorithm 1 of BanditPAM: batches of 100 rows, delta = 1 / (1000 n)."""
    made = SuccessiveElimination()
    assert (made.delta, made.batch) == (0.001, 100)


@pytest.mark.parametrize("counts", [[100, 50], [100, 50, 100], [100, 100, 100]])
def test_a_choice_is_proven_only_if_every_dropped_arm_was_read_to_the_end(counts):
    """The first arm is the best; the others are dropped at once."""
    search = SuccessiveElimination().identify(np.arange(len(counts)), Terms(100))
    next(search)
    means, spreads = [10.0, *[0.0] * (len(counts) - 1)], [1.0] * len(counts)
    with pytest.raises(StopIteration) as end:
        search.send(_seen(counts, means, spreads))
    assert end.value.value.arms.tolist() == [0]
    assert end.value.value.is_proven is (min(counts) == 100)


def test_a_choice_is_proven_only_if_every_chosen_arm_was_read_to_the_end():
    search = SuccessiveElimination().identify(np.arange(3), Terms(100, picks=2))
    next(search)
    with pytest.raises(StopIteration) as end:
        search.send(_seen([100, 50, 100], [10.0, 9.0, 0.0], [1e-6] * 3))
    assert end.value.value.arms.tolist() == [0, 1]
    assert not end.value.value.is_proven
