"""ProtoBandit: its guarantee and its evaluations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import brute
import protobandit as pb
from protobandit.methods import METHODS, SEARCHES, ProtoBandit, SpotGreedy
from protobandit.search.arms import kl_lucb
from protobandit.search.methods.greedy_bounds import bandit_share

GREEDY = 1 - 1 / math.e

searches = pytest.mark.parametrize("search", sorted(SEARCHES))
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def run(method, *, metric="cosine", n_target=300, k=4, seed=0):
    source, target = brute.normal(25, seed=1), brute.normal(n_target, seed=2)
    return pb.select(source, target, k=k, metric=metric, method=method, random_state=seed)


# -- the guarantee ---------------------------------------------------------------------------------


@searches
def test_every_search_has_a_guarantee(search):
    guarantee = run(ProtoBandit(search=search, nu=0.1)).guarantee
    assert guarantee is not None
    assert guarantee.method == "protobandit"
    assert guarantee.statement == "E[f] >= (1 - 1/e - 0.2) f* - 0.1 - 0.05, f in units of C"


def test_the_default_has_a_guarantee():
    guarantee = run("protobandit", n_target=3000).guarantee
    assert guarantee.statement == "E[f] >= (1 - 1/e - 0.2) f* - 0.08643 - 0.05, f in units of C"
    assert 0.08642 < guarantee.nu < 0.08643  # the statement does not claim more
    assert not guarantee.vacuous


def test_an_early_stop_has_no_guarantee():
    """With 2,000 arms the union over arms, which the early stop lacks, doubles the rate."""
    source, target = brute.normal(2000, seed=1), brute.normal(20_000, seed=2)
    early, proven = (
        pb.select(source, target, k=2, metric="cosine", method=method, random_state=0)
        for method in (
            ProtoBandit(nu_step=0.1, first_batch=32, early_stop=True),
            ProtoBandit(nu_step=0.1, first_batch=32),
        )
    )
    assert early.guarantee is None
    assert proven.guarantee is not None
    assert early.evaluations < proven.evaluations


def test_an_early_stop_that_never_ends_a_search_has_no_guarantee_either():
    """A mean over runs that were selected by their own draws is not the mean of the theorem."""
    assert run(ProtoBandit(nu=1e-9), n_target=3).guarantee is not None
    assert run(ProtoBandit(nu=1e-9, early_stop=True), n_target=3).guarantee is None


@pytest.mark.parametrize("search", ["kl-lucb", "uniform"])
def test_several_rows_per_iteration_have_a_smaller_share(search):
    selection = run(ProtoBandit(search=search, nu=0.05, r=2), k=5)
    share = 1 - math.exp(-0.4)
    guarantee = selection.guarantee
    assert guarantee.statement == "E[f] >= (1 - exp(-0.4)) f* - 0.05 - 0.05, f in units of C"
    assert guarantee.nu_step == pytest.approx(0.05 / (5 * share))
    assert not guarantee.vacuous
    assert len(set(selection.indices.tolist())) == 5


@pytest.mark.parametrize("r", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [1e-9, 0.2, 0.6])
def test_shares_follow_from_the_last_step_of_the_proof(epsilon, r):
    for k in (r, 2 * r + 1, 100):
        proven = 1 - (1 - (1 - epsilon) / k) ** (k / r)
        assert bandit_share(epsilon, r) <= proven + 1e-12


@pytest.mark.parametrize("search", ["kl-lucb", "uniform"])
def test_one_of_several_rows_has_almost_the_best_gain(search):
    """Every row exists twice, so two picks per iteration have the f of half as many rows."""
    d = np.repeat(two_good_rows_of_many(), 2, axis=1)
    method = ProtoBandit(search=search, nu_step=0.1, epsilon=1e-9, scale=1.0, r=2)
    selection = pb.select(d, k=4, metric="precomputed", method=method, random_state=0)
    assert set((selection.indices // 2).tolist()) == {7, 31}
    three = pb.select(d, k=2, metric="precomputed", method=method, random_state=0)
    assert len(set((three.indices // 2).tolist())) == 1


def test_quotas_have_no_guarantee():
    rows = brute.normal(30)
    selection = pb.select(
        rows,
        k=4,
        metric="cosine",
        method=ProtoBandit(nu=0.1),
        constraints=pb.Constraints(groups=["a", "b"] * 15, at_least={"a": 2}),
        random_state=0,
    )
    assert selection.guarantee is None


@pytest.mark.parametrize("name", sorted(METHODS))
def test_guarantees_of_the_table(name):
    statements = {
        "spotgreedy": "f >= (1 - 1/e) f*",
        "lazygreedy": "f >= (1 - 1/e) f*",
        "stochasticgreedy": "E[f] >= (1 - 1/e - 0.1) f*",
    }
    guarantee = run(name).guarantee
    if name in statements:
        assert guarantee.statement == statements[name]
        assert not guarantee.vacuous
        assert str(guarantee) == statements[name]
    if name == "random":
        assert guarantee is None


# -- the constants of the guarantee ----------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 0.4])
@pytest.mark.parametrize("k", [1, 4])
def test_the_tolerance_of_a_run_and_of_an_iteration(epsilon, k):
    whole = run(ProtoBandit(nu=0.2, epsilon=epsilon), k=k).guarantee
    assert whole.nu == 0.2
    assert whole.nu_step == pytest.approx(0.2 / (k * (GREEDY - epsilon)))
    step = run(ProtoBandit(nu_step=0.03, epsilon=epsilon), k=k).guarantee
    assert step.nu_step == 0.03
    assert step.nu == pytest.approx(0.03 * k * (GREEDY - epsilon))
    assert (whole.epsilon, whole.delta) == (epsilon, 0.05)


def test_nu_and_nu_step_give_the_same_run():
    nu = 0.03 * 4 * (GREEDY - 0.2)
    whole, step = run(ProtoBandit(nu=nu)), run(ProtoBandit(nu_step=0.03))
    assert whole.indices.tolist() == step.indices.tolist()
    assert whole.evaluations == step.evaluations


def test_the_default_tolerance_is_that_of_the_paper():
    by_default, by_hand = run(ProtoBandit()), run(ProtoBandit(nu_step=0.05))
    assert by_default.guarantee.nu_step == 0.05
    assert by_default.evaluations == by_hand.evaluations


# -- vacuous guarantees ----------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "nu_step", "is_vacuous"), [(20, 0.05, True), (4, 0.01, False)])
def test_vacuous_if_the_tolerances_sum_to_one(k, nu_step, is_vacuous):
    guarantee = run(ProtoBandit(nu_step=nu_step), k=k).guarantee
    assert guarantee.vacuous is is_vacuous
    assert ("vacuous" in str(guarantee)) is is_vacuous


@pytest.mark.parametrize(
    ("nu", "delta", "is_vacuous"), [(0.3, 0.05, True), (0.22, 0.05, True), (0.1, 0.05, False)]
)
def test_vacuous_if_the_bound_is_not_positive(nu, delta, is_vacuous):
    """Cosine has C = 2, and the cost of random directions is near 1, so f is near a half."""
    source, target = brute.normal(25, 40), brute.normal(300, 40, seed=1)
    method = ProtoBandit(nu=nu, delta=delta, search="uniform")
    selection = pb.select(source, target, k=2, metric="cosine", method=method, random_state=0)
    reached = 1 - selection.cost / 2
    assert 2 * selection.guarantee.nu_step < 1
    assert ((GREEDY - 0.2) * reached - nu - delta <= 0) is is_vacuous
    assert selection.guarantee.vacuous is is_vacuous


# -- conditions ------------------------------------------------------------------------------------


def test_a_bounded_metric_adds_no_condition():
    guarantee = run(ProtoBandit(nu=0.1)).guarantee
    assert guarantee.scale == 2.0
    assert guarantee.conditions == ()


def test_a_sampled_scale_is_a_condition():
    guarantee = run(ProtoBandit(nu=0.1), metric="euclidean").guarantee
    (condition,) = guarantee.conditions
    assert f"d above C = {guarantee.scale:.6g} counts as C" in condition
    assert "pulls were clipped" in condition
    assert f"provided that {condition}" in str(guarantee)


def clipped(guarantee):
    (condition,) = guarantee.conditions
    return int(condition.split("(")[1].split()[0])


@weighted
@searches
def test_pulls_clipped_by_too_small_a_scale_are_counted(search, is_weighted):
    source, target = brute.normal(15), brute.normal(60, seed=1)
    weights = np.arange(1, 61) if is_weighted else None
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)

    def clips(scale):
        method = ProtoBandit(nu=0.1, search=search, scale=scale)
        selection = pb.select(source, target, k=3, weights=weights, method=method, random_state=0)
        assert selection.guarantee.scale == scale
        return clipped(selection.guarantee)

    assert clips(1.01 * d.max()) == 0
    assert 0 < clips(0.7 * d.max()) < clips(0.3 * d.max())


def test_the_guarantee_is_about_clipped_distances():
    """One row in 50 is far from every source row: it cannot be covered, and C does not reach it."""
    d = two_good_rows_of_many()
    d[::50] = 1000.0
    method = ProtoBandit(nu=0.1, scale=1.0)
    runs = [
        pb.select(d, k=2, metric="precomputed", method=method, random_state=seed)
        for seed in range(10)
    ]
    reached = np.mean([1 - np.minimum(d[:, s.indices].min(axis=1), 1).mean() for s in runs])
    best = 1 - np.minimum(d[:, [7, 31]].min(axis=1), 1).mean()
    promised = (GREEDY - 0.2) * best - 0.1 - 0.05
    assert reached > promised > 0 > np.mean([1 - s.cost for s in runs])
    assert all(clipped(s.guarantee) > 0 for s in runs)
    assert "d above C = 1 counts as C" in str(runs[0].guarantee)


def test_a_scale_below_the_bound_of_the_metric_is_a_condition():
    assert clipped(run(ProtoBandit(nu=0.1, scale=0.5)).guarantee) > 0
    assert run(ProtoBandit(nu=0.1, scale=2.0)).guarantee.conditions == ()


def test_a_scale_is_in_the_unit_of_the_metric():
    rows = brute.normal(30)
    for unit in (1.0, 1024.0):
        method = ProtoBandit(nu=0.1, scale=9 * unit)
        selection = pb.select(rows * unit, k=3, method=method, random_state=0)
        assert selection.guarantee.scale == 9 * unit
        assert clipped(selection.guarantee) == 0


def test_identical_rows_need_no_scale():
    selection = pb.select(np.ones((20, 2)), k=3, method=ProtoBandit(nu=0.1), random_state=0)
    assert selection.guarantee.scale == 1.0
    assert selection.cost == 0.0


# -- the guarantee on examples ---------------------------------------------------------------------


def two_good_rows_of_many(n_target=4000, n_bad=40):
    """Return dissimilarities in [0, 1] of which two columns each cover half of the target."""
    random = np.random.default_rng(0)
    d = random.uniform(0.8, 1.0, size=(n_target, n_bad + 2))
    half = n_target // 2
    d[:half, 7] = random.uniform(0, 0.1, size=half)
    d[half:, 31] = random.uniform(0, 0.1, size=n_target - half)
    return d


@searches
def test_the_mean_of_f_satisfies_the_guarantee(search):
    """Random rows would violate it, so the test can fail."""
    d = two_good_rows_of_many()
    method = ProtoBandit(search=search, nu=0.1, delta=0.05, epsilon=0.2, scale=1.0)

    def reached(method):
        runs = [
            pb.select(d, k=2, metric="precomputed", method=method, random_state=seed).indices
            for seed in range(15)
        ]
        return np.mean([1 - d[:, chosen].min(axis=1).mean() for chosen in runs])

    best = 1 - d[:, [7, 31]].min(axis=1).mean()
    promised = (GREEDY - 0.2) * best - 0.1 - 0.05
    assert reached("random") < promised < reached(method)


@searches
@weighted
@pytest.mark.parametrize("seed", range(3))
def test_the_guarantee_holds_on_enumerable_instances(search, is_weighted, seed):
    random = np.random.default_rng(seed)
    d = random.uniform(size=(12, 8)) ** 0.3
    weights = random.integers(1, 5, size=12) if is_weighted else brute.even(12)
    method = ProtoBandit(search=search, nu=0.05, delta=0.05, epsilon=0.05, scale=1.0)
    reached = [
        1
        - pb.select(
            d, k=3, weights=weights, metric="precomputed", method=method, random_state=s
        ).cost
        for s in range(10)
    ]
    best = 1 - brute.best_cost(d, weights, 3)
    assert np.mean(reached) >= (GREEDY - 0.05) * best - 0.05 - 0.05
    assert max(reached) <= best + 1e-12


@pytest.mark.parametrize("search", ["kl-lucb", "uniform"])
@weighted
@pytest.mark.parametrize("r", [2, 3])
def test_several_picks_with_a_tiny_tolerance_are_exact(search, is_weighted, r):
    source, target = brute.normal(18, seed=4), brute.normal(40, seed=5)
    weights = np.random.default_rng(1).integers(1, 5, size=40) if is_weighted else None
    method = ProtoBandit(search=search, nu_step=1e-9, epsilon=1e-9, r=r)
    sampled, exact = (
        pb.select(source, target, k=7, weights=weights, method=m, random_state=0)
        for m in (method, SpotGreedy(r=r))
    )
    assert sampled.indices.tolist() == exact.indices.tolist()


# -- wrong choices are rare, on hostile problems ---------------------------------------------------

DELTA = 0.2
NU_STEP = 0.03
N_RUNS = 60
N_TARGET = 3000


def near(random, n_source=8):
    """Return dissimilarities whose columns are almost equally good."""
    return random.uniform(0.15, 0.2, size=(N_TARGET, n_source))


def far_pocket(random):
    """6 % of the target rows are far from every source row but the last."""
    d = near(random)
    d[random.permutation(N_TARGET)[:180], :-1] = 0.95
    return d, None


def heavy_weight(random):
    """The same 6 % as weight of a single target row, beside weights of all sizes."""
    d, weights = near(random), random.pareto(1.5, size=N_TARGET) + 0.01
    at = random.integers(N_TARGET)
    d[at, :-1] = 0.95
    weights[at] = 0
    weights[at] = 0.06 / 0.94 * weights.sum()
    return d, weights


def heavy_tails(random):
    """All source rows but the last are far from a few target rows, by distances of all sizes."""
    tails = np.minimum(random.pareto(1.0, size=(N_TARGET, 1)) / 100, 0.75)
    return near(random) + tails * (np.arange(8) < 7), None


def repeated_rows(random):
    """Every target row exists 100 times, and every source row twice."""
    d = near(random, 4)[:30]
    d[:2, :-1] = 0.95
    return np.repeat(np.repeat(d, N_TARGET // 30, axis=0), 2, axis=1), None


FAMILIES = {f.__name__: f for f in (far_pocket, heavy_weight, heavy_tails, repeated_rows)}


def gap(d, weights, index):
    """Return how much less a row adds to the first source row than the best row adds."""
    shares = np.full(len(d), 1 / len(d)) if weights is None else weights / weights.sum()
    gains = shares @ np.maximum(d[:, :1] - d, 0)
    return gains.max() - gains[index]


def refute(family, method):
    """Raise AssertionError if more runs fail than a probability of ``DELTA`` explains.

    The first source row is given, and the subset is the whole source (epsilon is tiny), so that the
    best gain of the only search is known.
    """
    n_failures = 0
    for seed in range(N_RUNS):
        d, weights = FAMILIES[family](np.random.default_rng([seed, 17]))
        selection = pb.select(
            d,
            k=2,
            weights=weights,
            metric="precomputed",
            method=method,
            constraints=pb.Constraints(fixed=[0]),
            random_state=seed,
        )
        assert selection.guarantee is not None
        assert selection.evaluations_by_phase["build"] < 0.9 * d.size, "exact: nothing is tested"
        n_failures += gap(d, weights, selection.indices[1]) > NU_STEP
    assert n_failures <= binom.ppf(0.9999, N_RUNS, DELTA), f"{n_failures} failures"


def referee(**parameters):
    """Return a method whose only search has the probability of error ``DELTA``: k = 2 of them."""
    return ProtoBandit(nu_step=NU_STEP, delta=2 * DELTA, epsilon=1e-9, scale=1.0, **parameters)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("first_batch", [None, 1])
def test_wrong_choices_are_rare_on_hostile_problems(family, first_batch):
    refute(family, referee(first_batch=first_batch))


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_that_are_too_narrow_are_refuted(family, monkeypatch):
    """The same method, which says that it is proven, with a thousandth of its rates."""
    rates = kl_lucb.exploration_rates
    monkeypatch.setattr(kl_lucb, "exploration_rates", lambda *given: 0.001 * rates(*given))
    with pytest.raises(AssertionError, match="failures"):
        refute(family, referee(first_batch=1))


# -- evaluations -----------------------------------------------------------------------------------


def exact_evaluations(n_source, n_target, k, epsilon):
    """Return the evaluations of scanning every subset, updating every D_j, and the scale."""
    size = math.ceil(n_source / k * math.log(1 / epsilon))
    subsets = [min(size, n_source - picked) for picked in range(k)]
    pulled = sum(subset for subset in subsets if subset > 1)
    return (pulled + k - 1) * n_target + min(n_source, 256) * min(n_target, 256)


@searches
@weighted
@pytest.mark.parametrize("nu_step", [0.5, 0.05, 1e-3, 1e-9])
def test_never_more_evaluations_than_the_exact_scan(search, is_weighted, nu_step):
    source, target = brute.normal(40), brute.normal(500, seed=1)
    weights = np.random.default_rng(1).integers(1, 5, size=500) if is_weighted else None
    method = ProtoBandit(search=search, nu_step=nu_step, epsilon=0.1)
    selection = pb.select(source, target, k=5, weights=weights, method=method, random_state=0)
    assert selection.evaluations_by_phase["build"] <= exact_evaluations(40, 500, 5, 0.1)
    assert selection.evaluations_by_phase["assign"] == 5 * 500


@weighted
def test_a_tiny_tolerance_needs_the_evaluations_of_the_exact_scan(is_weighted):
    source, target = brute.normal(40), brute.normal(300, seed=1)
    weights = np.random.default_rng(1).integers(1, 5, size=300) if is_weighted else None
    method = ProtoBandit(search="uniform", nu_step=1e-9, epsilon=0.1)
    selection = pb.select(source, target, k=5, weights=weights, method=method, random_state=0)
    assert selection.evaluations_by_phase["build"] == exact_evaluations(40, 300, 5, 0.1)


@pytest.mark.parametrize("delta", [0.05, 0.4])
def test_delta_is_divided_among_the_iterations(delta):
    """The rows of uniform search are known; the second iteration also computes their D_j."""
    source, target = brute.normal(20), brute.normal(20_000, seed=1)
    method = ProtoBandit(search="uniform", nu_step=0.2, delta=delta, epsilon=0.2)
    selection = pb.select(source, target, k=2, metric="cosine", method=method, random_state=0)
    n_arms = math.ceil(20 / 2 * math.log(1 / 0.2))
    n_rows = math.ceil(2 / 0.2**2 * math.log((n_arms - 1) / (delta / 2)))
    assert selection.evaluations_by_phase["build"] == 2 * n_arms * n_rows + n_rows


def test_a_subset_of_one_row_needs_no_pull():
    """k = |S| with ln(1 / epsilon) <= 1: every subset is one row; only the scale is computed."""
    method = ProtoBandit(epsilon=0.5)
    selection = pb.select(brute.normal(10), brute.normal(50, seed=1), k=10, method=method)
    assert selection.evaluations_by_phase["build"] == 10 * 50


def test_a_larger_tolerance_needs_fewer_evaluations():
    spent = [run(ProtoBandit(nu_step=nu), n_target=3000).evaluations for nu in (0.2, 0.05, 0.01)]
    assert spent == sorted(spent)
    assert spent[0] < spent[-1] / 2


def test_far_fewer_evaluations_than_greedy_on_a_large_target():
    source, target = brute.normal(100), brute.normal(20_000, seed=1)
    bandit = pb.select(source, target, k=8, method="protobandit", random_state=0)
    greedy = sum(100 - picked for picked in range(8)) * 20_000
    assert bandit.evaluations < greedy / 50
    exact = pb.select(source, target, k=8, method="lazygreedy")
    assert bandit.assign(target).distances.mean() < 1.15 * exact.cost


# -- the first batch -------------------------------------------------------------------------------


@pytest.mark.parametrize("first_batch", [1, 100, 4000])
def test_every_arm_reads_the_first_batch(first_batch):
    """At a tolerance above 1 nothing more is read, and one iteration needs no D_j."""
    source, target = brute.normal(20), brute.normal(300, seed=1)
    method = ProtoBandit(nu_step=1.01, first_batch=first_batch, scale=1e6)
    counted = brute.CountedBlocks(brute.DEFINITIONS["euclidean"])
    selection = pb.select(
        source, target, k=1, metric=pb.block_metric(counted), method=method, random_state=0
    )
    assert selection.evaluations_by_phase["build"] == 20 * min(first_batch, 300)
    assert selection.evaluations == counted.calls


def test_the_first_batch_of_other_searches_is_refused():
    with pytest.raises(pb.InvalidInput, match=r"first_batch=64 .* search='uniform'.*kl-lucb"):
        ProtoBandit(search="uniform", first_batch=64)


@pytest.mark.parametrize("first_batch", [0, -3, 2.5, "64", True])
def test_invalid_first_batches_are_refused(first_batch):
    with pytest.raises(pb.InvalidInput, match="first_batch"):
        ProtoBandit(first_batch=first_batch)
