from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import kl_div

from protobandit.foundation.endless import ENDLESS
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Moments, Terms
from protobandit.search.arms.kl_lucb import (
    KLLUCB,
    _allowed_counts,
    _next_counts,
    divergence,
    exploration_rates,
    upper_bound,
)
from protobandit.search.arms.uniform import Uniform
from search.arms.fakes import apart, bernoulli, beta, play


def strict(nu=0.05, delta=0.0005, **options):
    return KLLUCB(nu=nu, delta=delta, early_stop=False, **options)


def test_exploration_rates():
    harmonic = 1 + 1 / 2 + 1 / 3
    expected = [math.log(81 * place * harmonic / 0.01) for place in (1, 2, 3)]
    assert exploration_rates(81, 3, 0.01) == pytest.approx(expected)


@pytest.mark.parametrize("n_arms", [2, 81, 10**5])
@pytest.mark.parametrize("n_counts", [1, 2, 40, 400])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_sum_of_errors_over_all_arms_and_counts(n_arms, n_counts, delta):
    """One event per arm and allowed count, as in the proof."""
    total = n_arms * np.exp(-exploration_rates(n_arms, n_counts, delta)).sum()
    assert total == pytest.approx(delta, rel=1e-9)


def test_rates_of_the_docstring():
    rates = exploration_rates(81, 42, 0.0005)
    assert rates[[0, -1]] == pytest.approx([13.5, 17.2], abs=0.05)
    counts = [len(_allowed_counts(384, size)) for size in (10**5, 10**18)]
    small, large = (exploration_rates(81, n, 0.0005) for n in counts)
    assert large[: len(small)] - small == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize("picks", [1, 3])
@pytest.mark.parametrize("batch", [None, 1, 7])
def test_every_count_is_an_allowed_count(picks, batch):
    """The bounds are proven at these counts only."""
    strategy = strict(nu=0.03, delta=0.1, batch=batch)
    for seed in range(5):
        bandit = beta(np.linspace(0.1, 0.5, 30), 3000, seed)
        allowed = _allowed_counts(strategy.first_batch(30), 3000)
        rows = np.zeros(bandit.ids.max() + 1, dtype=np.int64)
        for pull in play(strategy, bandit, picks=picks, seed=seed).pulls:
            assert not pull.new_order
            rows[pull.arms] += pull.n
            assert np.isin(rows[bandit.ids], [0, *allowed]).all()


@pytest.mark.parametrize("picks", [1, 3])
def test_all_bounds_are_separated_at_the_end(picks):
    """Step 3 of the proof, with bounds that are computed here from the rows that were read."""
    nu, delta, n_arms, population = 0.05, 0.1, 30, 3000
    strategy = strict(nu=nu, delta=delta)
    bandit = beta(np.linspace(0.1, 0.5, n_arms), population, 0)
    played = play(strategy, bandit, picks=picks)
    order = np.random.default_rng([0, 1]).permutation(population)
    allowed = _allowed_counts(strategy.first_batch(n_arms), population).tolist()
    harmonic = sum(1 / place for place in range(1, len(allowed) + 1))
    rows = np.zeros(bandit.ids.max() + 1, dtype=np.int64)
    for pull in played.pulls:
        rows[pull.arms] += pull.n
    lower, upper = {}, {}
    for arm, rewards in zip(bandit.ids.tolist(), bandit.rewards, strict=True):
        count, mean = int(rows[arm]), rewards[order[: rows[arm]]].mean()
        level = math.log(n_arms * (allowed.index(count) + 1) * harmonic / delta) / count
        is_exact = count == population
        upper[arm] = mean if is_exact else root(mean, level)
        lower[arm] = mean if is_exact else 1 - root(1 - mean, level)
    leaders = set(played.choice.arms.tolist())
    highest = max(upper[arm] for arm in upper if arm not in leaders)
    assert highest - min(lower[arm] for arm in leaders) < nu + 1e-9
    assert min(rows[bandit.ids]) < population


@pytest.mark.parametrize("n_arms", [2, 81, 2000])
def test_few_pulls_if_rewards_are_rare(n_arms):
    """The first batch is enough, with a proof."""
    bandit = beta(np.linspace(0.0005, 0.0015, n_arms), 20000 if n_arms < 100 else 2000, 0)
    played = play(strict(), bandit)
    assert played.choice.is_proven
    assert played.n_pulls < 1.1 * n_arms * strict().first_batch(n_arms)
    assert played.n_pulls >= n_arms * strict().rows_to_prove(n_arms)


@pytest.mark.parametrize("n_arms", [2, 81, 2000])
def test_rows_that_prove_a_choice_among_rare_rewards(n_arms):
    bandit = beta(np.linspace(0.0005, 0.0015, n_arms), 20000 if n_arms < 100 else 2000, 0)
    rows = math.ceil(strict().rows_to_prove(n_arms))
    assert n_arms * rows <= play(strict(batch=rows), bandit).n_pulls < 1.25 * n_arms * rows


def test_cheaper_than_uniform_on_easy_gaps():
    bandit = bernoulli(apart(40, 0.5), 20000, 0)
    uniform, racing = (play(s(nu=0.05, delta=0.01), bandit) for s in (Uniform, strict))
    assert racing.choice.arms == uniform.choice.arms
    assert racing.n_pulls < uniform.n_pulls / 20


@pytest.mark.parametrize("picks", [1, 4])
@pytest.mark.parametrize("nu", [1e-4, 1e-50])
def test_exact_at_one_pass(nu, picks):
    bandit = beta(np.linspace(0.4, 0.5, 30), 500, 0)
    played = play(strict(nu=nu, delta=0.1), bandit, picks=picks)
    assert bandit.is_within(played.choice, 0)
    np.testing.assert_allclose(played.choice.means, np.sort(bandit.truth)[::-1][:picks])
    assert played.choice.is_proven
    assert played.n_pulls <= bandit.rewards.size


@pytest.mark.parametrize("population", [3, 7, 49, 70])
def test_ends_if_exact_means_are_equal(population):
    for ones in range(population):
        bandit = bernoulli(np.full(3, ones / population), population, ones)
        played = play(strict(nu=1e-50, batch=2), bandit)
        assert played.choice.means == pytest.approx(ones / population, abs=1e-12)
        assert played.choice.is_proven


@pytest.mark.parametrize("picks", [1, 4])
def test_chosen_arms_are_within_nu_of_the_best(picks):
    for seed in range(10):
        bandit = beta(np.linspace(0.1, 0.5, 30), 3000, seed)
        played = play(strict(nu=0.05, delta=0.01), bandit, picks=picks, seed=seed)
        assert bandit.is_within(played.choice, 0.05)
        assert played.n_pulls < bandit.rewards.size


def test_separated_arms_are_not_pulled_again():
    means = np.r_[0.8, 0.78, np.full(30, 0.05)]
    played = play(strict(), bernoulli(means, 5000, 0))
    rows = np.zeros(200)
    for pull in played.pulls:
        rows[pull.arms] += pull.n
    by_arm = rows[5 : 5 + 3 * 32 : 3]
    assert by_arm[:2].min() > 5 * by_arm[2:].max()


def test_early_stop_costs_less_and_is_not_proven():
    bandit = beta(np.linspace(0.1, 0.5, 30), 20000, 0)
    early_stop = KLLUCB(nu=0.05, delta=0.0005, early_stop=True, early_factor=1.0, batch=32)
    proven, early = play(strict(batch=32), bandit), play(early_stop, bandit)
    assert early.n_pulls < 0.7 * proven.n_pulls
    assert (proven.choice.is_proven, early.choice.is_proven) == (True, False)


def test_early_stop_after_a_full_pass_is_proven():
    bandit = bernoulli([0.5, 0.4], 32, 0)
    assert play(KLLUCB(nu=0.05, delta=0.1, early_stop=True), bandit).choice.is_proven


def test_an_early_rate_above_the_proven_rate_has_no_effect():
    bandit = beta(np.linspace(0.1, 0.5, 30), 3000, 0)
    careful = KLLUCB(nu=0.05, delta=0.01, early_stop=True, early_factor=100)
    plays = [play(strategy, bandit) for strategy in (careful, strict(nu=0.05, delta=0.01))]
    assert plays[0].n_pulls == plays[1].n_pulls
    assert plays[0].choice.is_proven


def test_early_factor_scales_the_rate():
    rates = [KLLUCB(nu=0.1, delta=0.01, early_factor=f).early_rate for f in (1, 2.5)]
    assert rates == pytest.approx([math.log(100), 2.5 * math.log(100)])


@pytest.mark.parametrize("first", [1, 32, 50])
@pytest.mark.parametrize("population", [1, 31, 32, 33, 1000, 10**7])
def test_allowed_counts(first, population):
    allowed = _allowed_counts(first, population)
    assert allowed[0] == min(first, population)
    assert allowed[-1] == population
    assert (np.diff(allowed) > 0).all()
    assert (allowed[1:-1] % 32 == 0).all()
    assert len(allowed) < 120


def test_next_counts():
    allowed = np.array([32, 64, 96, 128, 160, 200])
    count = np.array([32, 32, 32, 96, 160])
    rows = np.array([1.0, 60.0, 500.0, 130.0, 500.0])
    assert _next_counts(allowed, count, rows).tolist() == [64, 64, 64, 160, 200]


@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_batch_is_the_first_pull(batch):
    bandit = bernoulli(apart(10, 0.6), 1000, 0)
    played = play(strict(nu=0.1, batch=batch), bandit)
    assert played.pulls[0].n == min(batch, 1000)
    assert bandit.is_within(played.choice, 0)


@pytest.mark.parametrize("options", [{"batch": 0}, {"early_factor": 0}, {"early_factor": math.nan}])
def test_invalid_parameters(options):
    with pytest.raises(InvalidInput, match=next(iter(options))):
        strict(**options)


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


# -- targets without end --------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.3, 0.05, 0.01])
@pytest.mark.parametrize("batch", [None, 1, 10**6])
def test_the_last_count_of_an_endless_target_separates_any_two_arms(nu, batch):
    strategy = strict(nu=nu, batch=batch)
    counts = strategy.allowed_counts(30, ENDLESS)
    assert (np.diff(counts) > 0).all()
    level = exploration_rates(30, len(counts), strategy.delta)[-1] / counts[-1]
    means = np.linspace(0, 1, 101)
    assert (upper_bound(means, np.full(101, level)) - means < nu / 2).all()
    if len(counts) > 1:
        assert counts[-2] <= 2 * exploration_rates(30, len(counts) - 1, 0.0005)[-1] / nu**2
    shorter = _allowed_counts(strategy.first_batch(30), int(counts[-1]))
    assert counts.tolist() == shorter.tolist()
    assert strategy.allowed_counts(30, 10**7).tolist() == (
        _allowed_counts(strategy.first_batch(30), 10**7).tolist()
    )


def test_a_tolerance_that_no_search_reaches_has_finite_counts():
    assert strict(nu=1e-80).allowed_counts(30, ENDLESS)[-1] < ENDLESS


@pytest.mark.parametrize("mean", [0.5, 0.02])
@pytest.mark.parametrize("picks", [1, 3])
def test_equal_arms_of_an_endless_target_are_not_pulled_beyond_the_last_count(mean, picks):
    """Without it, the leaders would be pulled at every iteration, far beyond the challengers."""
    strategy, random = strict(nu=0.06, delta=0.01), np.random.default_rng(0)
    count, total = np.zeros(40, dtype=np.int64), np.zeros(40)
    last = strategy.allowed_counts(40, ENDLESS)[-1]

    def answered():
        search = strategy.identify(np.arange(40), Terms(ENDLESS, picks=picks))
        pull = next(search)
        while True:
            assert pull.n > 0
            count[pull.arms] += pull.n
            total[pull.arms] += random.binomial(pull.n, mean, size=len(pull.arms))
            assert count.max() <= last
            means = total[pull.arms] / count[pull.arms]
            try:
                pull = search.send(Moments(count[pull.arms], means, means * (1 - means)))
            except StopIteration as end:
                return end.value

    choice = answered()
    assert choice.is_proven
    assert len(choice.arms) == picks


def test_the_defaults_carry_the_guarantee():
    """Without an early stop every choice is proven; the numbers are those of the documentation."""
    made = KLLUCB(nu=0.05, delta=0.1)
    assert (made.early_stop, made.early_factor, made.batch) == (False, 2.0, None)
    assert made.allowed_counts(50, 10**6)[0] <= 512
    assert KLLUCB(nu=1e-3, delta=0.1).allowed_counts(50, 10**6)[0] == 512


@pytest.mark.parametrize("picks", [2, 3])
def test_as_many_picks_as_arms_need_no_pull(picks):
    search = KLLUCB(nu=0.1, delta=0.1).identify(np.array([4, 6]), Terms(100, picks=picks))
    with pytest.raises(StopIteration) as end:
        next(search)
    assert end.value.value.arms.tolist() == [4, 6]


@pytest.mark.parametrize("options", [{"nu": 0, "delta": 0.1}, {"nu": 0.1, "delta": 1.0}])
def test_a_tolerance_of_nothing_is_refused(options):
    with pytest.raises(InvalidInput):
        KLLUCB(**options)
