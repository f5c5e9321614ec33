"""Queries of a selection: assign, distances, explain, members and the medoid silhouette."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit import InvalidInput, NotAvailable, Selection


@pytest.fixture
def rows():
    return brute.normal(30, 3)


@pytest.fixture
def selection(rows):
    return pb.select(rows, brute.normal(50, 3, seed=1), k=4, weights=np.arange(1, 51))


@pytest.mark.parametrize("metric", sorted(set(pb.METRICS) & set(brute.DEFINITIONS)))
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_assign_and_explain_agree_with_the_definition(metric, n_jobs):
    source, new = brute.rows_for(metric, 20), brute.rows_for(metric, 13, seed=5)
    chosen = pb.select(source, k=4, metric=metric, random_state=0)
    d = brute.distances(brute.DEFINITIONS[metric], new, source[chosen.indices])
    np.testing.assert_allclose(chosen.distances(new, n_jobs=n_jobs), d, rtol=1e-7, atol=1e-7)
    labels, distances = chosen.assign(new, n_jobs=n_jobs)
    assert labels.dtype == np.int64
    np.testing.assert_allclose(distances, d.min(axis=1), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(d[np.arange(13), labels], d.min(axis=1), rtol=1e-7, atol=1e-7)
    prototypes, indices, near = chosen.explain(new, n=3, n_jobs=n_jobs)
    np.testing.assert_allclose(near, np.sort(d, axis=1)[:, :3], rtol=1e-7, atol=1e-7)
    assert (indices == chosen.indices[prototypes]).all()
    assert all(len(set(row)) == 3 for row in prototypes.tolist())


def test_assign_keeps_the_orientation_of_the_metric():
    source, new = brute.whole(12), brute.whole(9, seed=1)
    chosen = pb.select(source, k=3, metric=brute.skewed)
    d = brute.distances(brute.skewed, new, source[chosen.indices])
    assert (chosen.distances(new) == d).all()
    assert (d != brute.distances(brute.skewed, source[chosen.indices], new).T).any()


def test_the_first_of_equally_near_prototypes_is_the_label():
    chosen = pb.select([[0.0], [2.0], [9.0]], [[0.0], [2.0]], k=2)
    middle = chosen.assign([[1.0]])
    assert middle.labels.tolist() == [0]
    assert middle.distances.tolist() == [1.0]
    assert chosen.explain([[1.0]], n=2).prototypes.tolist() == [[0, 1]]


def test_explain_returns_the_requested_number(rows, selection):
    for n in (1, np.int64(2), 4):
        explained = selection.explain(rows, n=n)
        assert explained.prototypes.shape == explained.indices.shape == (30, n)
        assert (explained.prototypes[:, 0] == selection.assign(rows).labels).all()
    assert selection.explain(rows).prototypes.shape == (30, 3)


def test_the_cost_and_mass_are_those_of_the_assignment(selection):
    target, weights = brute.normal(50, 3, seed=1), np.arange(1, 51)
    labels, distances = selection.assign(target)
    assert selection.cost == pytest.approx(np.average(distances, weights=weights))
    np.testing.assert_allclose(
        selection.mass, np.bincount(labels, weights, minlength=4) / weights.sum()
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine", brute.skewed])
def test_members_partition_the_target_nearest_first(metric):
    source, target = brute.normal(20), brute.normal(60, seed=1)
    chosen = pb.select(source, target, k=4, metric=metric)
    labels, distances = chosen.assign(target)
    members = [chosen.members(i) for i in range(4)]
    assert sorted(np.concatenate(members).tolist()) == list(range(60))
    for i, own in enumerate(members):
        assert set(labels[own].tolist()) <= {i}
        assert (np.diff(distances[own]) >= 0).all()
    assert chosen.members(-1).tolist() == members[3].tolist()
    assert chosen.members(np.int64(2)).tolist() == members[2].tolist()


def test_members_of_a_precomputed_matrix():
    d = np.random.default_rng(0).uniform(size=(30, 12))
    chosen = pb.select(d, k=3, metric="precomputed")
    labels = d[:, chosen.indices].argmin(axis=1)
    assert sorted(chosen.members(0).tolist()) == np.flatnonzero(labels == 0).tolist()


def test_assign_does_not_change_the_evaluations(rows, selection):
    spent = selection.evaluations
    selection.assign(rows)
    assert selection.evaluations == spent


def test_prototypes_are_nearest_to_themselves(rows, selection):
    labels, distances = selection.assign(rows[selection.indices])
    assert labels.tolist() == [0, 1, 2, 3]
    assert distances.tolist() == [0, 0, 0, 0]


def test_rows_that_are_lists_stay_lists():
    """Even if the prototypes, or the new rows, could form a numeric array."""
    ragged = [[1], [1, 2], [3, 4], [9, 9], [9, 8]]

    def spread(target, source):
        assert isinstance(target, list)
        assert isinstance(source, list)
        return abs(len(target) - len(source)) + abs(sum(target) - sum(source))

    chosen = pb.select(ragged, k=2, metric=spread)
    assert {len(row) for row in chosen.prototypes} == {2}
    assert chosen.assign(ragged).labels.tolist() == [0, 0, 0, 1, 1]
    assert chosen.assign([[9, 7]]).labels.tolist() == [1]
    assert chosen.assign(([9, 7], [0])).labels.tolist() == [1, 0]
    assert len(chosen.members(0)) == 3


# -- silhouette ------------------------------------------------------------------------------------


def expected(d, weights, chosen):
    """Return the silhouette by its definition: the mean, and that of each chosen row."""
    values, owners = [], []
    for j in range(len(d)):
        near, second = sorted(d[j, i] for i in chosen)[:2]
        values.append(1.0 if second == 0 else 1 - near / second)
        owners.append(min(range(len(chosen)), key=lambda n: d[j, chosen[n]]))
    by = [
        np.average(
            [v for v, o in zip(values, owners, strict=True) if o == n],
            weights=[w for w, o in zip(weights, owners, strict=True) if o == n],
        )
        if sum(w for w, o in zip(weights, owners, strict=True) if o == n)
        else np.nan
        for n in range(len(chosen))
    ]
    return np.average(values, weights=weights), by


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 5])
def test_the_silhouette_agrees_with_its_definition(seed, k):
    source, target = brute.whole(9, seed=seed), brute.whole(15, seed=seed + 50)
    weights = np.random.default_rng(seed).integers(0, 3, size=15).astype(float)
    weights[0] = 1
    selection = pb.select(source, target, k=k, weights=weights, metric="manhattan")
    d = brute.distances(brute.DEFINITIONS["manhattan"], target, source)
    mean, by_prototype = expected(d, weights, selection.indices)
    found = selection.silhouette()
    assert isinstance(found, pb.Silhouette)
    assert found.mean == pytest.approx(mean)
    np.testing.assert_allclose(found.by_prototype, by_prototype)


def test_rows_at_two_prototypes_have_silhouette_1():
    rows = np.array([[0.0], [0.0], [0.0], [5.0]])
    two = pb.select(rows, k=4).silhouette()
    assert two.mean == pytest.approx(1.0)


def test_a_silhouette_counts_its_evaluations():
    metric = brute.CountedPairs()
    selection = pb.select(brute.whole(8), k=3, metric=metric)
    metric.calls = 0
    assert selection.silhouette().evaluations == metric.calls == 24


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_the_silhouette_does_not_depend_on_threads(n_jobs):
    rows = brute.normal(5000, columns=16, dtype=np.float32)
    selection = pb.select(rows[:300], rows, k=4, method="random", random_state=0)
    one, other = selection.silhouette(n_jobs=1), selection.silhouette(n_jobs=n_jobs)
    assert one.mean == other.mean
    assert one.by_prototype.tobytes() == other.by_prototype.tobytes()


def test_one_prototype_has_no_silhouette():
    with pytest.raises(InvalidInput, match=r"needs 2 prototypes or more, not 1"):
        pb.select(brute.whole(5), k=1).silhouette()


def test_a_loaded_selection_has_no_silhouette():
    loaded = Selection.from_json(pb.select(brute.whole(5), k=2).to_json())
    with pytest.raises(NotAvailable, match=r"Compute it before saving"):
        loaded.silhouette()
