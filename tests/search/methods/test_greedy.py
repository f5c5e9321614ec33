"""Greedy methods; threshold greedy against its definition and its guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import LazyGreedy, SpotGreedy, ThresholdGreedy

GREEDY = 1 - 1 / math.e
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])
epsilons = pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 0.6])


def threshold_greedy(d, weights, k, epsilon):
    """Return the picks as in the paper, after the best single row; None ends them."""
    chosen = brute.greedy(d, weights, 1)
    largest = max(brute.gains(d, weights, chosen))
    n = d.shape[1] - 1
    power = 0
    while len(chosen) < k and (level := largest * (1 - epsilon) ** power) >= epsilon / n * largest:
        for i in range(d.shape[1]):
            if len(chosen) < k and i not in chosen and brute.gains(d, weights, chosen)[i] >= level:
                chosen.append(i)
        power += 1
    return chosen


def instance(seed, n_source=14, n_target=25, is_weighted=False):
    source, target = brute.normal(n_source, seed=seed), brute.normal(n_target, seed=seed + 100)
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    weights = np.random.default_rng(seed).integers(0, 5, size=n_target).astype(float)
    weights[0] = 1
    return source, target, d, weights if is_weighted else brute.even(n_target)


@weighted
@epsilons
@pytest.mark.parametrize("seed", range(4))
def test_picks_equal_the_definition(epsilon, seed, is_weighted):
    source, target, d, weights = instance(seed, is_weighted=is_weighted)
    expected = threshold_greedy(d, weights, 9, epsilon)
    assert len(expected) >= 6
    for memoize in (True, False):
        method = ThresholdGreedy(epsilon=epsilon, memoize=memoize)
        selection = pb.select(source, target, k=9, weights=weights, method=method, random_state=0)
        assert selection.indices[: len(expected)].tolist() == expected
        assert len(set(selection.indices.tolist())) == 9


def test_the_picks_differ_from_greedy():
    differs = 0
    for seed in range(10):
        source, target, d, weights = instance(seed)
        picks = pb.select(source, target, k=6, method=ThresholdGreedy(epsilon=0.3)).indices
        differs += picks.tolist() != brute.greedy(d, weights, 6)
    assert differs >= 5


def test_a_tiny_epsilon_gives_the_picks_of_greedy():
    source, target, d, weights = instance(1)
    method = ThresholdGreedy(epsilon=1e-9)
    selection = pb.select(source, target, k=8, method=method)
    assert selection.indices.tolist() == brute.greedy(d, weights, 8)


@weighted
@epsilons
@pytest.mark.parametrize("seed", range(5))
def test_the_guarantee_holds_on_enumerable_instances(epsilon, seed, is_weighted):
    source, target, d, weights = instance(seed, 9, 14, is_weighted)
    for k in (1, 2, 3, 4):
        method = ThresholdGreedy(epsilon=epsilon)
        selection = pb.select(source, target, k=k, weights=weights, method=method, random_state=0)
        best = brute.best_cost(d, weights, k)
        assert selection.cost >= best - 1e-12
        # The guarantee holds for every C >= the largest distance, where it is strongest.
        assert d.max() - selection.cost >= (GREEDY - epsilon) * (d.max() - best) - 1e-12
    statement = f"f >= (1 - 1/e - {epsilon:g}) f*"
    assert selection.guarantee.statement == statement
    assert selection.guarantee.epsilon == epsilon


@epsilons
def test_each_gain_is_nearly_the_largest(epsilon):
    """Random covers, for which the threshold picks worse rows than greedy."""
    random = np.random.default_rng(0)
    d = random.uniform(size=(60, 30)) ** 0.2
    method = ThresholdGreedy(epsilon=epsilon)
    selection = pb.select(d, k=12, metric="precomputed", method=method)
    worst = 1.0
    for n in range(1, 12):
        gains = brute.gains(d, brute.even(60), selection.indices[:n].tolist())
        worst = min(worst, gains[selection.indices[n]] / gains.max())
    assert 1 - epsilon - 1e-9 <= worst
    if epsilon >= 0.3:
        assert worst < 1 - 0.3 * epsilon, "or nothing was put to the test"


def test_rows_below_the_last_threshold_are_picked_by_their_old_gains():
    """One row has a large gain; the tiny gains of the others are not computed again."""
    d = np.full((6, 6), 100.0)
    d[:, 0] = [1, 1, 1, 99, 99, 99]
    d[:, 1] = [99, 99, 99, 1, 1, 1]
    for i, little in enumerate((0.1, 0.3, 0.2, 0.4), start=2):
        d[i - 2, i] = d[i - 2, :2].min() - little
    method = ThresholdGreedy(epsilon=0.6)
    selection = pb.select(d, k=5, metric="precomputed", method=method, random_state=0)
    assert sorted(selection.indices[:2].tolist()) == [0, 1]
    assert selection.indices[2:].tolist() == [5, 3, 4]


def test_without_memory_evaluations_are_far_below_those_of_greedy():
    source, target = brute.normal(120, seed=3), brute.normal(60, seed=4)
    by_threshold = pb.select(source, target, k=12, method=ThresholdGreedy(memoize=False))
    by_scan = pb.select(source, target, k=12, method=pb.methods.SpotGreedy(memoize=False))
    assert by_threshold.evaluations < 0.6 * by_scan.evaluations
    assert by_threshold.cost < 1.05 * by_scan.cost
    kept = pb.select(source, target, k=12, method=ThresholdGreedy(memoize=True))
    assert (
        kept.evaluations
        == 120 * 60
        == pb.plan(source, target, k=12, method=kept.method).evaluations
    )


def test_fixed_rows_and_quotas_hold():
    rows = brute.normal(40)
    groups = np.arange(40) % 4
    feasibility = pb.Constraints(fixed=[5, 9], groups=groups, at_most={1: 2}, at_least={3: 3})
    selection = pb.select(
        rows, k=8, method="thresholdgreedy", constraints=feasibility, random_state=0
    )
    counts = np.bincount(groups[selection.indices], minlength=4)
    assert selection.indices[:2].tolist() == [5, 9]
    assert counts[1] <= 2
    assert counts[3] >= 3
    assert selection.guarantee is None
    fixed = pb.select(rows, k=4, method="thresholdgreedy", constraints=pb.Constraints(fixed=[5, 9]))
    assert "within the constraints" in str(fixed.guarantee)


@pytest.mark.parametrize("epsilon", [0, -0.1, 0.7, float("nan"), "0.1", True])
def test_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(pb.InvalidInput, match="epsilon="):
        ThresholdGreedy(epsilon=epsilon)


# -- other greedy methods --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SpotGreedy, LazyGreedy])
def test_memoize_auto_respects_the_limit(kind):
    rows = brute.normal(30)
    kept = pb.select(rows, k=3, method=kind())
    limits = pb.Limits(memory=1000)
    computed = pb.select(rows, k=3, method=kind(), limits=limits)
    assert kept.lookups > 0 == computed.lookups
    assert computed.indices.tolist() == kept.indices.tolist()
    with pytest.raises(pb.InvalidInput, match=r"memoize=True needs 7,200 bytes .*memory=1000"):
        pb.select(rows, k=3, method=kind(memoize=True), limits=limits)


def test_the_guarantee_of_stochasticgreedy_if_few_rows_have_a_gain():
    matrix = np.ones((50, 2000))
    matrix[np.arange(50), np.arange(50)] = 0
    f = [
        1
        - pb.select(
            matrix, k=50, metric="precomputed", method="stochasticgreedy", random_state=seed
        ).cost
        for seed in range(20)
    ]
    assert np.mean(f) >= 1 - 1 / np.e - 0.1
