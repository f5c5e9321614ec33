"""Farthest-first traversal against its definition and the best radius of any k rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import KCenter

METRIC = brute.DEFINITIONS["euclidean"]


def farthest_first(d, k, *, is_same=False, counts=None, first=()):
    """Return the picks, until no source row is nearer to any target row."""
    n_target = len(d)
    counts = np.ones(n_target) if counts is None else counts
    chosen = list(first)
    homes = range(n_target) if is_same else [int(np.argmin(row)) for row in d]
    while len(chosen) < k:
        served = [min((d[j, i] for i in chosen), default=np.inf) for j in range(n_target)]
        open_rows = [
            j for j in range(n_target) if counts[j] > 0 and homes[j] not in chosen and served[j] > 0
        ]
        if not open_rows:
            break
        chosen.append(homes[max(open_rows, key=lambda j: (served[j], -j))])
    return chosen


def radius(d, chosen):
    return max(min(d[j, i] for i in chosen) for j in range(len(d)))


@pytest.mark.parametrize("seed", range(6))
def test_picks_equal_the_definition_on_the_source_itself(seed):
    """Integers have many ties."""
    rows = brute.whole(30, 2, seed=seed, top=12)
    d = brute.distances(brute.DEFINITIONS["manhattan"], rows, rows)
    expected = farthest_first(d, 9, is_same=True)
    selection = pb.select(rows, k=9, metric="manhattan", method="kcenter", random_state=seed)
    assert len(expected) == 9
    assert expected[0] == 0
    assert selection.indices.tolist() == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n_source", "n_target"), [(20, 40), (40, 15), (8, 300)])
def test_picks_equal_the_definition_if_the_source_is_not_the_target(seed, n_source, n_target):
    source = brute.whole(n_source, 2, seed=seed, top=12)
    target = brute.whole(n_target, 2, seed=seed + 50, top=40)
    d = brute.distances(brute.DEFINITIONS["manhattan"], target, source)
    expected = farthest_first(d, 8)
    selection = pb.select(
        source, target, k=8, metric="manhattan", method="kcenter", random_state=seed
    )
    assert selection.indices[: len(expected)].tolist() == expected
    assert len(set(selection.indices.tolist())) == 8


def test_rows_without_weight_are_ignored():
    source, target = brute.normal(15, seed=1), brute.normal(30, seed=2)
    target[7] = 50
    weights = np.random.default_rng(0).integers(0, 3, size=30).astype(float)
    weights[7] = 0
    weights[0] = 0
    d = brute.distances(METRIC, target, source)
    selection = pb.select(source, target, k=5, weights=weights, method="kcenter", random_state=0)
    assert selection.indices.tolist() == farthest_first(d, 5, counts=weights)
    counted = d[weights > 0]
    said = f"The farthest target row is {radius(counted, selection.indices):.6g} from its prototype"
    assert said in selection.status
    assert radius(d, selection.indices) > radius(counted, selection.indices)
    heavier = pb.select(source, target, k=5, weights=9 * weights**2, method="kcenter")
    assert heavier.indices.tolist() == selection.indices.tolist()


def test_outliers_and_rows_that_no_other_source_row_is_nearer_to():
    """Two far target rows have the same nearest source row, which is picked once."""
    source = np.array([[0.0], [1.0], [2.0], [10.0]])
    target = np.array([[0.1], [30.0], [31.0], [1.1], [2.3]])
    selection = pb.select(source, target, k=3, method="kcenter", random_state=0)
    assert selection.indices.tolist() == [0, 3, 2]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("is_same", [True, False])
def test_the_radius_is_within_its_factor_of_the_best(seed, is_same):
    source = brute.normal(10, 2, seed=seed)
    target = source if is_same else 2 * brute.normal(12, 2, seed=seed + 100)
    d = brute.distances(METRIC, target, source)
    factor = 2 if is_same else 3
    for k in (1, 2, 3, 4):
        selection = pb.select(source, target, k=k, method="kcenter", random_state=0)
        best = min(radius(d, chosen) for chosen in combinations(range(10), k))
        assert best - 1e-9 <= radius(d, selection.indices) <= factor * best + 1e-9
        assert f"at most {factor} times the least possible" in str(selection.guarantee)
        assert "triangle inequality" in str(selection.guarantee)


def test_the_radius_is_below_that_of_methods_for_the_mean():
    rows = np.random.default_rng(0).standard_t(2, size=(400, 3))
    reached = {
        name: pb.select(rows, k=8, method=name, random_state=0)
        for name in ("kcenter", "lazygreedy")
    }
    radii = {name: s.assign(rows).distances.max() for name, s in reached.items()}
    assert radii["kcenter"] < 0.8 * radii["lazygreedy"]
    assert reached["kcenter"].cost > reached["lazygreedy"].cost


def test_evaluations_are_one_pass_per_prototype():
    rows = brute.normal(60)
    own = pb.select(rows, k=7, method="kcenter")
    assert own.evaluations_by_phase == {"build": 0, "swap": 0, "assign": 7 * 60, "certify": 0}
    assert own.evaluations == pb.plan(rows, k=7, method="kcenter").evaluations
    apart = pb.select(rows, rows + 1e-3, k=7, method="kcenter")
    assert apart.evaluations_by_phase["build"] == 7 * 60, "every home is another one"
    other = pb.select(rows, brute.normal(90, seed=5), k=7, method="kcenter")
    assert other.evaluations_by_phase["assign"] == 7 * 90
    assert other.evaluations_by_phase["build"] % 60 == 0
    assert 7 * 60 <= other.evaluations_by_phase["build"] <= 90 * 60


def test_no_nearest_source_row_is_computed_twice():
    """Every source row is nearest to many target rows, so most of these are skipped."""
    source, target = brute.normal(40), brute.normal(3000, seed=5)
    selection = pb.select(source, target, k=40, method="kcenter", random_state=0)
    assert selection.evaluations_by_phase["build"] <= 40 * 3000
    assert sorted(selection.indices.tolist()) == list(range(40))


def test_fixed_rows_come_first_and_stay():
    rows = brute.normal(40)
    d = brute.distances(METRIC, rows, rows)
    kept = pb.Constraints(fixed=[17, 3])
    selection = pb.select(rows, k=6, method="kcenter", constraints=kept)
    assert selection.indices.tolist() == farthest_first(d, 6, is_same=True, first=[17, 3])
    assert selection.guarantee is None
    only = pb.select(rows, k=2, method=KCenter(), constraints=kept)
    assert only.indices.tolist() == [17, 3]
    assert f"{radius(d, [17, 3]):.6g}" in only.status


def test_equal_rows_are_drawn_at_random():
    rows = np.repeat(brute.whole(3, top=50), 5, axis=0)
    drawn = {
        tuple(pb.select(rows, k=6, method="kcenter", random_state=seed).indices.tolist())
        for seed in range(5)
    }
    assert len({picks[:3] for picks in drawn}) == 1
    assert len(drawn) > 1


def test_an_overflow_is_reported():
    rows, metric = brute.normal(30), pb.metric("seuclidean", {"V": [1e-320] * 3})
    with pytest.raises(pb.InvalidInput, match="overflows float64"):
        pb.select(rows, k=1, metric=metric, method="kcenter")
