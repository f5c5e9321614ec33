"""Exact methods and their results, compared with brute force from the definition."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import LazyGreedy, SpotGreedy, StochasticGreedy

EXACT = (SpotGreedy, LazyGreedy)
MEMOIZE = (True, False)
WEIGHTS = np.random.default_rng(5).integers(1, 6, size=30).astype(np.float64)

exact = pytest.mark.parametrize("kind", EXACT, ids=lambda kind: kind.name)
memoized = pytest.mark.parametrize("memoize", MEMOIZE)


def whole_instance(n_source=17, n_target=30, seed=0):
    """Return rows of integers: sums are exact, so equal gains are equal to the last bit."""
    return brute.whole(n_source, seed=seed), brute.whole(n_target, seed=seed + 1)


@exact
@memoized
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_picks_equal_brute_force_including_ties(kind, memoize, seed, weights):
    source, target = whole_instance(seed=10 * seed)
    d = brute.distances(brute.DEFINITIONS["manhattan"], target, source)
    expected = brute.greedy(d, brute.even(30) if weights is None else weights, 12)
    selection = pb.select(
        source, target, k=12, weights=weights, metric="manhattan", method=kind(memoize=memoize)
    )
    assert len(expected) >= 8, "the instance must not be trivial"
    assert selection.indices[: len(expected)].tolist() == expected


@exact
@memoized
def test_picks_equal_brute_force_with_the_source_as_target(kind, memoize):
    rows = brute.whole(25, columns=2, top=30, seed=3)
    d = brute.distances(brute.DEFINITIONS["chebyshev"], rows, rows)
    selection = pb.select(rows, k=9, metric="chebyshev", method=kind(memoize=memoize))
    assert selection.indices.tolist() == brute.greedy(d, brute.even(25), 9)


@exact
@memoized
def test_a_callable_receives_target_then_source(kind, memoize):
    source, target = whole_instance()
    d = brute.distances(brute.skewed, target, source)
    flipped = brute.distances(lambda t, s: brute.skewed(s, t), target, source)
    expected = brute.greedy(d, WEIGHTS, 8)
    assert expected != brute.greedy(flipped, WEIGHTS, 8), "the instance must be asymmetric"
    selection = pb.select(
        source, target, k=8, weights=WEIGHTS, metric=brute.skewed, method=kind(memoize=memoize)
    )
    assert selection.indices[: len(expected)].tolist() == expected


@exact
@memoized
@pytest.mark.parametrize("r", [2, 3, 5, 40])
def test_several_picks_per_iteration_equal_brute_force(kind, memoize, r):
    source, target = whole_instance(seed=7)
    d = brute.distances(brute.DEFINITIONS["manhattan"], target, source)
    expected = brute.greedy(d, WEIGHTS, 9, r=r)
    selection = pb.select(
        source,
        target,
        k=9,
        weights=WEIGHTS,
        metric="manhattan",
        method=kind(r=r, memoize=memoize),
        random_state=0,
    )
    assert selection.indices[: len(expected)].tolist() == expected
    assert len(set(selection.indices.tolist())) == 9


@exact
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memoization_changes_no_bit(kind, dtype):
    source, target = brute.normal(40, dtype=dtype), brute.normal(90, seed=1, dtype=dtype)
    memoized_run, plain_run = (
        pb.select(source, target, k=10, method=kind(memoize=memoize), random_state=0)
        for memoize in MEMOIZE
    )
    assert memoized_run.indices.tolist() == plain_run.indices.tolist()
    assert memoized_run.costs.tobytes() == plain_run.costs.tobytes()
    assert memoized_run.mass.tobytes() == plain_run.mass.tobytes()
    assert [s.gain for s in memoized_run.steps[1:]] == [s.gain for s in plain_run.steps[1:]]


def test_every_metric_of_the_table_has_a_definition():
    of_numbers = {name for name, metric in pb.METRICS.items() if "dense" in metric.kinds}
    assert set(brute.DEFINITIONS) == of_numbers - {"precomputed"}


@exact
@pytest.mark.parametrize("name", sorted(set(brute.DEFINITIONS) & set(pb.METRICS)))
def test_every_metric_gives_the_picks_of_its_definition(kind, name):
    source, target = brute.rows_for(name, 14, seed=1), brute.rows_for(name, 24, seed=2)
    d = brute.distances(brute.DEFINITIONS[name], target, source)
    selection = pb.select(source, target, k=6, metric=name, method=kind(), random_state=0)
    assert brute.regret(d, brute.even(24), selection.indices.tolist()) <= 1e-9
    sure = brute.decided(d, brute.even(24), 6)
    assert selection.indices[: len(sure)].tolist() == sure
    np.testing.assert_allclose(
        selection.costs, brute.costs(d, brute.even(24), selection.indices), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("metric", "definition"),
    [
        (pb.metric("minkowski", {"p": 3}), brute.minkowski(3)),
        (
            pb.metric("seuclidean", {"V": [1, 4, 9, 16]}),
            lambda t, s: np.sqrt(sum((t - s) ** 2 / [1, 4, 9, 16])),
        ),
        (
            pb.metric("mahalanobis", {"VI": np.diag([1.0, 2, 3, 4]) + 0.5}),
            lambda t, s: np.sqrt((t - s) @ (np.diag([1.0, 2, 3, 4]) + 0.5) @ (t - s)),
        ),
    ],
    ids=["minkowski", "seuclidean", "mahalanobis"],
)
def test_metrics_with_parameters_give_the_picks_of_their_definition(metric, definition):
    source, target = brute.normal(14, 4), brute.normal(24, 4, seed=2)
    d = brute.distances(definition, target, source)
    selection = pb.select(source, target, k=6, metric=metric, method="lazygreedy")
    assert selection.indices.tolist() == brute.decided(d, brute.even(24), 6)
    np.testing.assert_allclose(
        selection.costs, brute.costs(d, brute.even(24), selection.indices), rtol=1e-9
    )


@exact
@memoized
@pytest.mark.parametrize("name", sorted(set(brute.DEFINITIONS) & set(pb.METRICS)))
def test_float32_picks_are_within_1e_6_of_the_best(kind, memoize, name):
    source = brute.rows_for(name, 14, seed=3).astype(np.float32)
    target = brute.rows_for(name, 24, seed=4).astype(np.float32)
    wide = source.astype(np.float64), target.astype(np.float64)
    d = brute.distances(brute.DEFINITIONS[name], wide[1], wide[0])
    selection = pb.select(
        source, target, k=6, metric=name, method=kind(memoize=memoize), random_state=0
    )
    assert brute.regret(d, brute.even(24), selection.indices.tolist()) <= 1e-6
    sure = brute.decided(d, brute.even(24), 6, gap=1e-6)
    assert selection.indices[: len(sure)].tolist() == sure


# -- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", brute.variants(), ids=brute.name_of)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_costs_gains_mass_and_steps_equal_brute_force(method, weights):
    source, target = brute.normal(20, seed=8), brute.normal(30, seed=9)
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    q = brute.even(30) if weights is None else weights
    selection = pb.select(source, target, k=7, weights=weights, method=method, random_state=1)
    chosen = selection.indices.tolist()
    np.testing.assert_allclose(selection.costs, brute.costs(d, q, chosen), rtol=1e-12)
    np.testing.assert_allclose(selection.mass, brute.mass(d, q, chosen), rtol=1e-12)
    assert selection.cost == selection.costs[-1]
    assert selection.cost_error == 0.0
    assert np.isnan(selection.gains[0])
    np.testing.assert_allclose(selection.gains[1:], -np.diff(selection.costs))
    assert [step.index for step in selection.steps] == chosen
    spent = [step.evaluations for step in selection.steps]
    assert spent == sorted(spent)
    assert spent[-1] <= selection.evaluations
    assert np.isnan(selection.steps[0].gain)


@exact
@memoized
def test_the_gain_of_a_step_is_the_decrease_of_the_cost(kind, memoize):
    source, target = brute.normal(20, seed=8), brute.normal(30, seed=9)
    method = kind(memoize=memoize)
    selection = pb.select(source, target, k=7, weights=WEIGHTS, method=method)
    seen = [step.gain for step in selection.steps[1:]]
    np.testing.assert_allclose(seen, selection.gains[1:], rtol=1e-9)


def test_gains_of_the_first_iteration_are_unknown():
    selection = pb.select(brute.normal(20), k=5, method=SpotGreedy(r=3))
    seen = np.array([step.gain for step in selection.steps])
    assert np.isnan(seen[:3]).all()
    assert (seen[3:] > 0).all()


def test_sampled_costs_and_mass_are_within_their_error():
    source, target = brute.normal(30), brute.normal(6000, seed=1)
    selection = pb.select(source, target, k=6, method="protobandit", random_state=0)
    labels, distances = selection.assign(target)
    assert selection.cost_error > 0
    assert abs(selection.cost - distances.mean()) <= 4 * selection.cost_error
    share = np.bincount(labels, minlength=6) / 6000
    np.testing.assert_allclose(selection.mass, share, atol=0.04)
    assert "4096 fresh" in selection.status


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(17, 30), (40, 9)], ids=["tall", "wide"])
def test_memoized_spotgreedy_computes_each_dissimilarity_once(shape):
    source, target = brute.normal(shape[0]), brute.normal(shape[1], seed=1)
    selection = pb.select(source, target, k=6, method=SpotGreedy(memoize=True))
    assert selection.evaluations == shape[0] * shape[1]
    free = sum(shape[0] - n for n in range(1, 6))
    assert selection.lookups == (free + 6) * shape[1], "five more scans, six assignments"


@pytest.mark.parametrize("r", [1, 2, 4])
def test_spotgreedy_without_memoization_counts_every_scan(r):
    source, target = brute.normal(20), brute.normal(50, seed=1)
    selection = pb.select(source, target, k=6, method=SpotGreedy(memoize=False, r=r))
    scans = [20 - n for n in range(0, 6, r)]
    assert selection.evaluations_by_phase == {
        "build": sum(scans) * 50,
        "swap": 0,
        "assign": 6 * 50,
        "certify": 0,
    }
    assert selection.lookups == 0


@pytest.mark.parametrize("seed", range(3))
def test_lazygreedy_computes_less_than_spotgreedy(seed):
    source, target = brute.normal(120, seed=seed), brute.normal(60, seed=seed + 50)
    lazy, full = (
        pb.select(source, target, k=8, method=kind(memoize=False))
        for kind in (LazyGreedy, SpotGreedy)
    )
    assert lazy.indices.tolist() == full.indices.tolist()
    assert lazy.evaluations < 0.8 * full.evaluations
    assert lazy.evaluations_by_phase["assign"] == full.evaluations_by_phase["assign"]
    memoized_run = pb.select(source, target, k=8, method=LazyGreedy(memoize=True))
    assert memoized_run.evaluations == 120 * 60


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.6])
def test_stochasticgreedy_counts_its_subsets(epsilon):
    n, k, n_target = 40, 8, 25
    method = StochasticGreedy(epsilon=epsilon, memoize=False)
    selection = pb.select(
        brute.normal(n), brute.normal(n_target, seed=1), k=k, method=method, random_state=0
    )
    size = int(np.ceil(n / k * np.log(1 / epsilon)))
    subsets = [min(size, n - picked) for picked in range(k)]
    assert selection.evaluations_by_phase["build"] == n_target * sum(subsets)
    assert selection.evaluations_by_phase["assign"] == n_target * k


def test_stochasticgreedy_with_every_row_in_the_subset_is_greedy():
    source, target = brute.normal(18), brute.normal(30, seed=1)
    method = StochasticGreedy(epsilon=1e-9)
    selection = pb.select(source, target, k=5, method=method, random_state=3)
    expected = pb.select(source, target, k=5, method="spotgreedy")
    assert selection.indices.tolist() == expected.indices.tolist()


def test_stochasticgreedy_picks_the_best_of_its_subset():
    """With subsets of two rows the worst source row is never picked; others are."""
    source = np.arange(12.0).reshape(-1, 1)
    method = StochasticGreedy(epsilon=0.63)
    firsts = {
        int(pb.select(source, [[0.0]], k=3, method=method, random_state=seed).indices[0])
        for seed in range(60)
    }
    assert 11 not in firsts
    assert len(firsts) > 3


def test_random_draws_distinct_rows_uniformly():
    n, k, runs = 6, 3, 600
    source = np.arange(float(n)).reshape(-1, 1)
    drawn = np.array(
        [pb.select(source, k=k, method="random", random_state=seed).indices for seed in range(runs)]
    )
    assert all(len(set(row)) == k for row in drawn.tolist())
    for position in range(k):
        counts = np.bincount(drawn[:, position], minlength=n)
        chi_square = ((counts - runs / n) ** 2 / (runs / n)).sum()
        assert chi_square < 20.5, "0.999 quantile of five degrees of freedom"


# -- approximation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_greedy_reaches_its_share_of_the_optimum(seed):
    source, target = brute.normal(9, 2, seed=seed), brute.normal(12, 2, seed=seed + 100)
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    for k in (2, 3, 4):
        reached = d.max() - pb.select(source, target, k=k, method="spotgreedy").cost
        best = d.max() - brute.best_cost(d, brute.even(12), k)
        assert (1 - 1 / np.e) * best <= reached <= best + 1e-12
