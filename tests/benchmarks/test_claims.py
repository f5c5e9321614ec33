"""The parts of benchmarks/claims, each tested against a definition or a known result."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from benchmarks.claims import optimum
from benchmarks.claims.build import instances, is_build, textbook_build
from benchmarks.claims.instances import FAMILIES, Instance, best_cost, greedy_trap, hub_trap
from benchmarks.claims.measures import (
    by_seed,
    comparisons_bound,
    exponent,
    mixture,
    rows_of_mixture,
    run,
    scale_sentence,
    upper_scale,
)
from benchmarks.claims.target import mapped_target
from benchmarks.common.counting import FullReads

import brute
import protobandit as pb
from protobandit.methods import ProtoBandit

# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_enumeration_agrees_with_brute_force(family, seed):
    instance = FAMILIES[family](np.random.default_rng(seed))
    few = instance.distances[:: max(1, len(instance.distances) // 40)]
    every = combinations(range(few.shape[1]), instance.k)
    lowest = min(few[:, chosen].min(axis=1).mean() for chosen in map(list, every))
    assert best_cost(few, instance.k) == pytest.approx(lowest, rel=1e-12)


def test_enumeration_covers_every_subset():
    """There are more subsets than fit in one chunk, and the last one is the best."""
    distances = np.ones((3, 14))
    distances[[0, 1, 2], [11, 12, 13]] = 0
    assert best_cost(distances, 3) == 0
    assert best_cost(distances, 2) == pytest.approx(1 / 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_instances_depend_on_the_seed_and_are_small(family):
    first, again, other = (FAMILIES[family](np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first.distances, again.distances)
    assert first.distances.shape != other.distances.shape or (
        not np.array_equal(first.distances, other.distances)
    )
    assert 12 <= first.distances.shape[1] <= 16
    assert 2 <= first.k <= 4
    assert first.distances.min() >= 0


@pytest.mark.parametrize("seed", range(6))
def test_greedy_trap_is_tight_for_greedy(seed):
    """Greedy takes rows although columns are best, and so reaches about 1 - (1 - 1/k)^k."""
    instance = greedy_trap(np.random.default_rng(seed))
    k = instance.k
    columns = instance.cost(tuple(range(k)))
    assert best_cost(instance.distances, k) <= columns < 0.06
    rows = instance.f(instance.cost(tuple(range(k, 2 * k))))
    assert rows == pytest.approx(1 - (1 - 1 / k) ** k, abs=0.04)
    gains = np.maximum(instance.scale - instance.distances, 0).mean(axis=0)
    assert gains[k : 2 * k].max() > gains[:k].max()


@pytest.mark.parametrize("seed", range(6))
def test_hub_trap_misleads_greedy_but_not_swaps(seed):
    instance = hub_trap(np.random.default_rng(seed))
    table, hub = instance.distances, instance.distances.shape[1] - 1
    greedy = pb.select(table, k=instance.k, metric="precomputed", method="spotgreedy")
    swapped = pb.select(table, k=instance.k, metric="precomputed", method="lazybandit")
    assert greedy.indices[0] == hub
    assert hub not in swapped.indices
    best = best_cost(table, instance.k)
    assert swapped.cost == pytest.approx(best)
    assert greedy.cost > 3 * best


def test_ratios_to_the_optimum_and_to_the_guarantee():
    instance = Instance(np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [1.0, 0.8, 1.0]]), 1)
    greedy, bandit = optimum._VARIANTS[:2]
    row = optimum._ratios(instance, greedy, "spotgreedy", best_cost(instance.distances, 1), 0)
    assert row["f_ratio"] == row["cost_ratio"] == 1
    assert row["best"] == 1
    assert row["promised"] == pytest.approx(1 - 1 / np.e)
    worse = optimum._ratios(instance, greedy, pb.methods.KCenter(), 0.1, 0)
    assert worse["cost_ratio"] > 5
    assert worse["below"] == 1
    method = bandit.make(instance.scale)
    row = optimum._ratios(instance, bandit, method, best_cost(instance.distances, 1), 0)
    share = 1 - 1 / np.e - 0.2
    assert row["promised"] * 0.4 == pytest.approx(share * 0.4 - 0.05 * share)


# -- BUILD ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["T = S", "S, T and weights", "r rows at a time"])
def test_textbook_build_is_greedy(kind):
    for case in instances(kind, 4):
        weights = np.ones(len(case.distances)) if case.weights is None else case.weights
        picks, gap = textbook_build(case.distances, case.k, case.weights, case.r)
        assert gap > 1e-12
        assert picks == brute.greedy(case.distances, weights, case.k, case.r)
        method = pb.methods.SpotGreedy(r=case.r)
        found = pb.select(
            case.source,
            case.target,
            k=case.k,
            weights=case.weights,
            metric=case.metric,
            method=method,
        )
        assert found.indices.tolist() == picks


def test_two_rows_nearest_only_to_each_other_are_a_tie():
    """The gap is 0; either row is a valid pick, and any other row is not."""
    rows = np.array([[0.0], [0.2], [-0.2], [5.0], [6.0]])
    distances = abs(rows - rows.T)
    picks, gap = textbook_build(distances, 2)
    assert gap == pytest.approx(0, abs=1e-12)
    assert picks[0] == 1
    assert is_build(distances, [1, 3])
    assert is_build(distances, [1, 4])
    assert not is_build(distances, [1, 0])
    assert not is_build(distances, [3, 1])


# -- growth ---------------------------------------------------------------------------------------


def test_exponent_of_a_power_law():
    x = [10, 20, 40, 80]
    exact = exponent(x, [[3 * value**1.7 for value in x]])
    assert exact.fit == pytest.approx(1.7)
    assert exact.local == pytest.approx((1.7, 1.7, 1.7))
    assert exact.spread == 0
    assert str(exact) == "1.70 (overall fit 1.70)"
    two = exponent(x, [[value**2 for value in x], [5 * value for value in x]])
    assert two.fit == pytest.approx(1.5)
    assert two.spread == pytest.approx(np.std([2, 1], ddof=1))
    assert str(exponent(x, [[value**-0.001 for value in x]])) == "0.00 (overall fit 0.00)"


def test_exponent_of_a_broken_line_lists_its_range():
    """The local powers differ although all seeds agree."""
    broken = exponent([1, 2, 4, 8], [[1, 8, 64, 128], [2, 16, 128, 256]])
    assert broken.local == pytest.approx((3, 3, 1))
    assert broken.spread == pytest.approx(0)
    assert str(broken) == "between 1.00 and 3.00 (overall fit 2.40)"


def test_by_seed_returns_one_series_per_seed():
    rows = [
        {"seed": seed, "k": k, "n": 10 * k + seed, "method": method}
        for method in ("a", "b")
        for k in (4, 2)
        for seed in (1, 0)
    ]
    assert by_seed(rows, "k", "n", method="a") == ([2, 4], [[20, 40], [21, 41]])


def test_comparisons_bound_is_that_of_the_theorem():
    """9 k^3 |S| (nu / (1 - e - 1/e))^-2 log(1/e) log(k/d), for nu and for nu_step."""
    share = 1 - 1 / np.e - 0.2
    logs = np.log(5) * np.log(10 / 0.05)
    expected = 9 * 10**3 * 700 * (0.3 / share) ** -2 * logs
    assert comparisons_bound(700, ProtoBandit(nu=0.3), 10) == pytest.approx(expected)
    by_step = comparisons_bound(700, ProtoBandit(nu_step=0.05), 10)
    assert by_step == pytest.approx(9 * 10 * 700 * 0.05**-2 * logs)


def test_run_counts_by_both_rules():
    """Every arm reads the whole target, so both counts are known."""
    rows = np.random.default_rng(0).normal(size=(30, 3))
    found = run(rows[:12], rows, k=3, method=ProtoBandit(search="uniform", scale=10.0), seed=0)
    n_drawn = int(np.ceil(12 / 3 * np.log(5)))
    assert found.comparisons == sum(n_drawn * 30 * (n + 1) for n in range(3))
    assert found.evaluations == 3 * n_drawn * 30 + 2 * 30
    assert found.evaluations + 3 * 30 == found.selection.evaluations
    assert found.seconds > 0


def test_mixture_and_mapped_target_agree():
    assert np.array_equal(rows_of_mixture(70, 1), next(mixture(70, 1)))
    assert not np.array_equal(rows_of_mixture(70, 1), rows_of_mixture(70, 2))
    with mapped_target(70) as rows:
        assert np.array_equal(rows, rows_of_mixture(70, 3))
        path = rows.filename
    assert not path.exists()


# -- the scale and full reads ---------------------------------------------------------------------


def test_upper_scale_is_a_tight_upper_bound():
    random = np.random.default_rng(0)
    source, target = (random.normal(size=(n, 6)).astype(np.float32) for n in (40, 9000))
    target[8500] *= 5  # beyond the first block
    largest = float(np.sqrt(((target[:, None] - source) ** 2).sum(axis=2)).max())
    assert largest < upper_scale(source, target) < 1.0001 * largest


def test_scale_sentence():
    assert "is given C = 3.5, the largest distance" in scale_sentence([{"scale": 3.5}, {"k": 1}])
    assert "estimates C" in scale_sentence([{"k": 1}])


def test_full_reads_are_counted():
    """The uniform search reads all of a small target; kl-lucb reads part of a large one."""
    rows = np.random.default_rng(0).normal(size=(30, 3))
    found = run(rows[:12], rows, k=3, method=ProtoBandit(search="uniform", scale=10.0), seed=0)
    n_drawn = int(np.ceil(12 / 3 * np.log(5)))
    assert found.full_reads == FullReads(
        3 * n_drawn, 3 * n_drawn * 30, 3 * n_drawn, 3 * n_drawn * 30
    )
    assert found.full_reads.share_of_arms == found.full_reads.share_of_pulls == 1
    many = np.random.default_rng(0).normal(size=(20_000, 3))
    found = run(many[:200], many, k=3, method=ProtoBandit(scale=10.0), seed=0)
    assert found.full_reads.n_arms == 3 * int(np.ceil(200 / 3 * np.log(5)))
    assert found.full_reads.n_full == found.full_reads.share_of_pulls == 0


def test_full_reads_add_up_over_rounds():
    reads = FullReads()
    reads.add(np.array([0, 3, 10, 10, 7]), 10)
    reads.add(np.array([5, 0]), 10)
    assert (reads.n_arms, reads.n_pulls, reads.n_full, reads.n_full_pulls) == (5, 35, 2, 20)
    assert reads.share_of_arms == 0.4
    assert reads.share_of_pulls == pytest.approx(20 / 35)
    assert FullReads().share_of_arms == 0


# -- seeds ----------------------------------------------------------------------------------------


def test_random_methods_run_with_several_seeds():
    instance = FAMILIES["gaussian"](np.random.default_rng(0))
    n_runs = Counter(row["method"] for row in optimum._rows_of(instance, {}, 5))
    assert n_runs.pop("spotgreedy") == 1
    assert len(n_runs) == 7
    assert set(n_runs.values()) == {3}
