"""The medoid silhouette; what else prototypes answer is tested with the selection."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit import InvalidInput, NotAvailable, Selection


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
def test_the_silhouette_is_that_of_its_definition(seed, k):
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


def test_rows_at_two_prototypes_at_once_are_as_clear_as_can_be():
    rows = np.array([[0.0], [0.0], [0.0], [5.0]])
    two = pb.select(rows, k=4).silhouette()
    assert two.mean == pytest.approx(1.0)


def test_a_silhouette_counts_what_it_took():
    metric = brute.CountedPairs()
    selection = pb.select(brute.whole(8), k=3, metric=metric)
    metric.calls = 0
    assert selection.silhouette().evaluations == metric.calls == 24


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_threads_make_no_difference(n_jobs):
    rows = brute.normal(5000, columns=16, dtype=np.float32)
    selection = pb.select(rows[:300], rows, k=4, method="random", random_state=0)
    one, other = selection.silhouette(n_jobs=1), selection.silhouette(n_jobs=n_jobs)
    assert one.mean == other.mean
    assert one.by_prototype.tobytes() == other.by_prototype.tobytes()


def test_one_prototype_has_no_second_nearest():
    with pytest.raises(InvalidInput, match=r"needs 2 prototypes or more, not 1"):
        pb.select(brute.whole(5), k=1).silhouette()


def test_a_loaded_selection_has_no_target():
    loaded = Selection.from_json(pb.select(brute.whole(5), k=2).to_json())
    with pytest.raises(NotAvailable, match=r"Ask before it is saved"):
        loaded.silhouette()
