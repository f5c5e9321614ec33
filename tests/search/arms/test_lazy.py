from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.exhaustive import Exhaustive
from protobandit.search.arms.lazy import Lazy, _heads
from search.arms.fakes import Bandit, play


def greedy(strategy, distances, k, *, picks=1, seed=0):
    """Choose k columns of ``distances`` greedily; return them and the pulls of each round."""
    nearest = np.full(len(distances), distances.max() + 1)
    ids = 2 * np.arange(distances.shape[1]) + 1
    left, chosen, n_pulls, bounds = ids, [], [], None
    while len(chosen) < k:
        bandit = Bandit(np.maximum(nearest[:, None] - distances, 0).T, ids)
        r = min(picks, k - len(chosen))
        played = play(strategy, bandit, arms=left, picks=r, bounds=bounds, seed=seed + len(chosen))
        bounds = played.choice.bounds
        n_pulls.append(played.n_pulls)
        chosen += played.choice.arms.tolist()
        left = np.setdiff1d(left, chosen)
        columns = np.searchsorted(ids, played.choice.arms)
        nearest = np.minimum(nearest, distances[:, columns].min(axis=1))
    return chosen, n_pulls


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_values=st.sampled_from([2, 3, 8, 1000]),
    n_source=st.integers(3, 40),
    n_target=st.integers(1, 30),
    picks=st.integers(1, 4),
    batch=st.integers(1, 9),
)
def test_same_choice_as_exhaustive_including_ties(seed, n_values, n_source, n_target, picks, batch):
    random = np.random.default_rng(seed)
    distances = random.integers(n_values, size=(n_target, n_source)).astype(float)
    k = min(8, n_source)
    exact, all_pulls = greedy(Exhaustive(), distances, k, picks=picks)
    lazy, pulls = greedy(Lazy(batch=batch), distances, k, picks=picks)
    assert lazy == exact
    assert all(few <= many for few, many in zip(pulls, all_pulls, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_rounding_does_not_hide_a_tie(seed):
    random = np.random.default_rng(seed)
    distances = np.repeat(random.random((300, 25)), 3, axis=1)
    exact, _ = greedy(Exhaustive(), distances, 20, seed=seed)
    lazy, _ = greedy(Lazy(batch=2), distances, 20, seed=seed)
    assert lazy == exact


def test_pulls_few_arms():
    random = np.random.default_rng(0)
    source, target = random.normal(size=(300, 2)), random.normal(size=(400, 2))
    distances = np.linalg.norm(target[:, None] - source, axis=2)
    exact, all_pulls = greedy(Exhaustive(), distances, 25)
    lazy, pulls = greedy(Lazy(), distances, 25)
    assert lazy == exact
    assert pulls[0] == all_pulls[0]
    assert (
        sum(pulls[2:]) < sum(all_pulls[2:]) / 5
    )  # bounds from before the first prototype are loose


def test_arms_without_a_bound_are_always_pulled():
    bandit = Bandit(np.array([[0.2], [0.3], [0.9]]), np.array([0, 1, 2]))
    played = play(Lazy(batch=1), bandit, bounds=Bounds(np.array([0.8, 0.7])))
    assert played.choice.arms.tolist() == [2]
    assert played.n_pulls == 1
    assert played.choice.bounds.upper.tolist() == [0.8, 0.7, 0.9]


def test_bounds_never_grow():
    bandit = Bandit(np.array([[0.5], [0.4], [0.1]]), np.array([0, 1, 2]))
    old = Bounds(np.array([0.45, 0.42, 0.3]))
    played = play(Lazy(batch=2), bandit, bounds=old)
    assert played.choice.bounds.upper.tolist() == [0.45, 0.4, 0.3]
    assert old.upper.tolist() == [0.45, 0.42, 0.3]


def test_invalid_batch():
    with pytest.raises(InvalidInput, match="batch=0"):
        Lazy(batch=0)


@pytest.mark.parametrize("picks", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_pulls_beyond_the_head_if_many_bounds_are_large(seed, picks):
    """The bounds are so loose that the best arm is far down the order."""
    random = np.random.default_rng(seed)
    bandit = Bandit(random.random((1500, 4)), np.arange(1500))
    true = bandit.rewards.mean(axis=1)
    upper = 1 + random.permutation(1500) / 1500
    played = play(Lazy(), bandit, picks=picks, bounds=Bounds(upper))
    assert played.choice.arms.tolist() == np.argsort(-true, kind="stable")[:picks].tolist()


@pytest.mark.parametrize("n", [1, 2, 700, 2048, 5000])
@pytest.mark.parametrize("n_values", [1, 5, 10**6])
@pytest.mark.parametrize("n_head", [1, 256, 400, 3000])
def test_heads_are_the_largest_bounds_then_all(n, n_values, n_head):
    random = np.random.default_rng(n)
    stale = random.integers(n_values, size=n).astype(float)
    stale[random.random(n) < 0.01] = np.inf
    *heads, whole = _heads(stale, n_head)
    np.testing.assert_array_equal(whole, np.argsort(-stale, kind="stable"))
    assert len(heads) == (n_head < n // 2)
    for head in heads:
        np.testing.assert_array_equal(head, whole[: len(head)])
        assert len(head) > 0
        # No arm outside has a larger bound than one inside.
        assert stale[whole[len(head) :]].max(initial=-np.inf) < stale[head].min()
        if n_values > 5:
            assert n_head / 4 <= len(head) <= 4 * n_head + np.isinf(stale).sum()


@pytest.mark.parametrize("picks", [1, 4, 300])
@pytest.mark.parametrize("n_values", [3, 10**6])
def test_thousands_of_bounds_are_limited_by_a_sample(n_values, picks):
    """The choice is the same, including ties and arms without a bound."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        rewards = random.integers(n_values, size=(5000, 2)).astype(float)
        bandit = Bandit(rewards, np.arange(5000))
        upper = rewards.mean(axis=1) + n_values * random.exponential(0.05, size=5000)
        upper[random.random(5000) < 0.02] = np.inf
        lazy = play(Lazy(), bandit, picks=picks, bounds=Bounds(upper))
        exact = play(Exhaustive(), Bandit(rewards, np.arange(5000)), picks=picks)
        assert lazy.choice.arms.tolist() == exact.choice.arms.tolist()
        np.testing.assert_array_equal(lazy.choice.means, exact.choice.means)
        assert lazy.n_pulls < exact.n_pulls


@pytest.mark.parametrize("seed", range(3))
def test_same_choice_as_exhaustive_among_many_arms(seed):
    random = np.random.default_rng(seed)
    distances = random.normal(5, 1, size=(60, 1200))
    exact, _ = greedy(Exhaustive(), distances, 12)
    assert greedy(Lazy(), distances, 12)[0] == exact
