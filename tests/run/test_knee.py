"""The number of prototypes by the knee: curves, pruning, and known numbers of clusters."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit import Constraints
from protobandit.run.knee import find_knee, prune, ranked


def blobs(seed, *, n_blobs, columns, apart=6.0, is_uneven=False):
    """Return normal clusters whose centres are ``apart`` times their radius from each other."""
    random = np.random.default_rng([seed, n_blobs, columns])
    apart *= np.sqrt(columns)
    box, centres = apart * 1.3 * n_blobs ** (1 / columns) * 1.5, []
    while len(centres) < n_blobs:
        centre = random.uniform(0, box, size=columns)
        if all(np.linalg.norm(centre - other) >= apart for other in centres):
            centres.append(centre)
        box *= 1.001
    shares = random.dirichlet(np.full(n_blobs, 3.0)) if is_uneven else np.full(n_blobs, 1 / n_blobs)
    sizes = np.maximum(8, np.round(shares * 20 * n_blobs).astype(int))
    owners = np.repeat(np.arange(n_blobs), sizes)
    return np.array(centres)[owners] + random.normal(size=(len(owners), columns)), owners


def cases(n_seeds):
    for columns in (2, 10, 50):
        for seed in range(n_seeds):
            n_blobs = int(np.random.default_rng([7, seed, columns]).integers(3, 31))
            yield seed, n_blobs, columns


@pytest.mark.parametrize("is_uneven", [False, True], ids=["even", "uneven"])
def test_the_number_of_clusters_is_found(is_uneven):
    found, clear = [], []
    for seed, n_blobs, columns in cases(10):
        rows, owners = blobs(seed, n_blobs=n_blobs, columns=columns, is_uneven=is_uneven)
        selection = pb.select(rows, k="auto", random_state=0)
        is_right = selection.k == n_blobs
        found.append(is_right)
        if is_right:
            clear.append("The knee of the curve" in selection.status)
            assert len(set(owners[selection.indices])) == n_blobs
    assert np.mean(found) >= (0.8 if is_uneven else 0.95)
    assert np.mean(clear) >= 0.9


@pytest.mark.parametrize("columns", [1, 2, 10, 50])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_rows_without_structure_have_no_knee(columns, kind):
    for seed in range(4):
        rows = getattr(np.random.default_rng([seed, columns]), kind)(size=(300, columns))
        selection = pb.select(rows, k="auto", random_state=0)
        assert "has no clear knee" in selection.status
        assert 2 <= selection.k <= 50


def test_the_curve_is_kept_and_is_that_of_pruned_prototypes():
    rows, _ = blobs(0, n_blobs=6, columns=2)
    selection = pb.select(rows, k="auto", method="lazygreedy", random_state=0)
    assert selection.curve.shape == (100,)
    assert (np.diff(selection.curve) <= 1e-12).all()
    built = pb.select(rows, k=100, method="lazygreedy", random_state=0)
    assert selection.curve[-1] == pytest.approx(built.cost)
    assert selection.cost <= built.costs[selection.k - 1] + 1e-12
    d = brute.distances(brute.DEFINITIONS["euclidean"], rows, rows)
    np.testing.assert_allclose(
        selection.costs, brute.costs(d, brute.even(len(rows)), selection.indices)
    )
    assert selection.guarantee.statement == "f >= (1 - 1/e) f*"
    assert selection.gains[1:] == pytest.approx([s.gain for s in selection.steps[1:]])


def test_the_result_costs_no_more_than_greedy_and_no_more_than_pruning():
    is_greedy = []
    for seed in range(20):
        rows = np.random.default_rng(seed).uniform(size=(40, 3))
        selection = pb.select(rows, k="auto")
        greedy = pb.select(rows, k=40, method="lazygreedy").costs[selection.k - 1]
        pruned = selection.curve[selection.k - 1]
        assert selection.cost == pytest.approx(min(greedy, pruned))
        is_greedy.append(greedy < pruned)
    assert 0 < sum(is_greedy) < 20


@pytest.mark.parametrize("memoize", [True, False])
def test_evaluations_of_a_knee_are_counted(memoize):
    metric = brute.CountedBlocks(brute.DEFINITIONS["manhattan"])
    rows, _ = blobs(1, n_blobs=3, columns=2)
    method = pb.methods.LazyGreedy(memoize=memoize)
    selection = pb.select(rows, k="auto", metric=pb.block_metric(metric), method=method)
    assert selection.k == 3
    assert selection.evaluations == metric.calls


def test_fixed_rows_stay_even_if_the_knee_is_elsewhere():
    rows, _ = blobs(2, n_blobs=4, columns=2)
    for fixed in ([5, 6, 7], list(range(9))):
        selection = pb.select(rows, k="auto", constraints=Constraints(fixed=fixed))
        assert selection.indices[: len(fixed)].tolist() == fixed
        assert selection.k >= len(fixed)


def test_weights_move_the_knee():
    """A cluster without weight does not count."""
    rows, owners = blobs(3, n_blobs=5, columns=2)
    weights = np.where(owners == 2, 0.0, 1.0)
    assert pb.select(rows, k="auto").k == 5
    assert pb.select(rows, k="auto", weights=weights).k == 4


def test_a_large_target_is_sampled_for_the_curve():
    rows, _ = blobs(4, n_blobs=4, columns=2)
    target = np.repeat(rows, 300, axis=0)
    assert len(target) > 1 << 14
    selection = pb.select(rows, target, k="auto", random_state=0)
    assert selection.k == 4
    assert selection.cost_error == 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_have_no_knee(n):
    selection = pb.select(brute.normal(n), k="auto")
    assert 1 <= selection.k <= n
    assert "no clear knee" in selection.status


def test_a_few_distinct_rows_are_counted():
    rows = np.repeat([[0.0], [10.0], [25.0]], 9, axis=0)
    selection = pb.select(rows, k="auto")
    assert selection.k == 3
    assert "The knee of the curve" in selection.status


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_identical_rows_need_one_prototype(value):
    rows = np.full((50, 3), value)
    selection = pb.select(rows, k="auto")
    assert selection.k == 1
    assert selection.cost == 0
    assert selection.mass.tolist() == [1.0]
    assert "More prototypes do not lower the cost; the curve of costs of 1 to" in selection.status
    fixed = pb.select(rows, k="auto", constraints=Constraints(fixed=[3, 4, 5]))
    assert fixed.indices.tolist() == [3, 4, 5]


# -- the parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_fixed", [0, 1, 3])
def test_pruning_removes_the_prototype_that_costs_least(seed, n_fixed):
    random = np.random.default_rng(seed)
    distances = random.integers(0, 30, size=(7, 12)).astype(float)
    weights = random.integers(0, 3, size=12).astype(float)
    weights[0] = 1
    pruned = prune(distances, weights, n_fixed=n_fixed)
    left = list(range(7))
    assert sorted(pruned.order) == left
    for n_left in range(7, 0, -1):
        assert sorted(pruned.order[:n_left]) == sorted(left)
        assert pruned.costs[n_left - 1] == pytest.approx(brute.cost(distances.T, weights, left))
        if n_left == 1:
            break
        free = [i for i in left if i >= n_fixed] or left[-1:]
        gone = int(pruned.order[n_left - 1])
        costs = {i: brute.cost(distances.T, weights, [m for m in left if m != i]) for i in free}
        assert costs[gone] == pytest.approx(min(costs.values()))
        left.remove(gone)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_those_of_greedy(seed):
    distances = np.random.default_rng(seed).uniform(size=(6, 20))
    expected = brute.greedy(distances.T, brute.even(20), 6)
    assert ranked(distances, brute.even(20))[: len(expected)].tolist() == expected
    assert ranked(distances, brute.even(20), n_fixed=2)[:2].tolist() == [0, 1]


def test_the_knee_is_where_the_gain_falls_most():
    # Gains of 4, 4, 4 and then of 0.1 each: the fourth prototype is the last with a large gain.
    costs = np.concatenate([[20, 16, 12, 8], 8 - 0.1 * np.arange(1, 20)])
    assert find_knee(costs) == find_knee(costs, least=4)
    assert (find_knee(costs).k, find_knee(costs).is_clear) == (4, True)
    assert not find_knee(1 / np.arange(1, 60)).is_clear
    assert not find_knee(np.arange(1, 60) ** -0.1).is_clear
    assert find_knee(costs, least=6).k >= 6
    assert find_knee(np.array([1.0])).k == 1


@pytest.mark.parametrize("level", [-3.0, 0.0, 2.0])
def test_no_knee_lies_after_the_last_gain(level):
    assert find_knee(np.full(9, level)).k == 1
    assert find_knee(np.full(9, level), least=4).k == 4
    assert find_knee(level + np.array([4.0, 1.0, *[0.0] * 8])).k <= 3
