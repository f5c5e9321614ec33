"""Queries of a selection: assign, distances, members, silhouette, barycentres and accuracies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import brute
import protobandit as pb
from protobandit import InvalidInput, NotAvailable, Selection


@pytest.fixture
def rows():
    return brute.normal(30, 3)


@pytest.fixture
def selection(rows):
    return pb.select(rows, brute.normal(50, 3, seed=1), k=4, weights=np.arange(1, 51))


@pytest.mark.parametrize("form", [np.array, list, tuple])
def test_a_single_row_is_one_row(rows, selection, form):
    one, alone = form(rows[7].tolist()), rows[7:8]
    assert selection.assign(one).labels.tolist() == selection.assign(alone).labels.tolist()
    np.testing.assert_array_equal(selection.distances(one), selection.distances(alone))
    assert selection.explain(one).indices.shape == (1, 3)


def test_a_single_row_of_a_frame_and_of_prepared_rows(rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    for preparation in (None, pb.Preparation(pca=2)):
        chosen = pb.select(frame, k=4, preparation=preparation)
        label = chosen.assign(frame).labels[7]
        assert chosen.assign(rows[7]).labels.tolist() == [label]
        assert chosen.assign(frame[["c", "a", "b"]].iloc[7]).labels.tolist() == [label]


def test_other_rows_of_one_dimension_raise(selection):
    for wrong in (np.arange(2.0), np.arange(30.0), []):
        with pytest.raises(InvalidInput, match="rows do not fit this selection"):
            selection.assign(wrong)
    column = pb.select(np.arange(9.0)[:, None], k=2)
    with pytest.raises(InvalidInput, match="1 dimension"):
        column.assign(np.arange(3.0))


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


# -- barycentres and accuracies -------------------------------------------------------------------


def cell_means(rows, labels, weights, k):
    """Return the mean of each cell, by its definition; NaN for a cell without weight."""
    means = np.full((k, rows.shape[1]), np.nan)
    for i in range(k):
        own = np.flatnonzero((labels == i) & (weights > 0))
        if len(own):
            means[i] = sum(weights[j] * rows[j] for j in own) / sum(weights[own])
    return means


def accuracy(distances, labels, true, weights):
    """Return the share of weight whose row has the label of its nearest column."""
    nearest = distances.argmin(axis=1)
    right = [w for i, w, label in zip(nearest, weights, true, strict=True) if labels[i] == label]
    return sum(right) / sum(weights)


@pytest.mark.parametrize("weights", [None, np.arange(60.0) % 7])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", brute.skewed])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_barycentres_and_accuracies_agree_with_the_definition(metric, weights, dtype):
    source, target = brute.normal(20, dtype=dtype), brute.normal(60, seed=1, dtype=dtype)
    ours, theirs = np.arange(20) % 3, np.arange(60) % 4  # a class that no prototype can have
    chosen = pb.select(source, target, k=5, metric=metric, weights=weights, random_state=0)
    share = np.ones(60) if weights is None else weights
    define = metric if callable(metric) else brute.DEFINITIONS[metric]
    d = brute.distances(define, target.astype(float), source[chosen.indices].astype(float))
    means = cell_means(target.astype(float), d.argmin(axis=1), share, 5)
    found = chosen.barycentres()
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, means, rtol=1e-12)
    labels = ours[chosen.indices]
    assert chosen.nearest_accuracy(ours, theirs) == pytest.approx(
        accuracy(d, labels, theirs, share)
    )
    to_means = brute.distances(define, target.astype(float), means)
    expected = accuracy(to_means, labels, theirs, share)
    assert chosen.barycentric_accuracy(ours, theirs) == pytest.approx(expected)


def test_a_prototype_without_rows_has_no_barycentre_and_no_say():
    source, target = [[0.0], [10.0], [99.0]], [[1.0], [4.0], [6.0], [9.0], [14.0]]
    fixed = pb.Constraints(fixed=[2, 0, 1])
    chosen = pb.select(source, target, k=3, constraints=fixed, method="lazygreedy")
    np.testing.assert_allclose(chosen.barycentres(), [[np.nan], [2.5], [29 / 3]])
    labels = [0, 1, 7]
    assert chosen.nearest_accuracy(labels, [0, 1, 1, 1, 1]) == pytest.approx(4 / 5)
    assert chosen.barycentric_accuracy(labels, [0, 1, 1, 1, 1]) == pytest.approx(3 / 5)


def test_barycentres_of_sparse_rows_stay_sparse():
    source = np.array([[0.0, 1, 0], [0, 0, 9], [50, 0, 0]])
    target = np.array([[0.0, 2, 0], [0, 3, 0], [0, 0, 8]])
    constraints = pb.Constraints(fixed=[2, 0, 1])
    options = {"k": 3, "constraints": constraints, "method": "lazygreedy"}
    found = pb.select(sparse.csr_matrix(source), sparse.csr_array(target), **options).barycentres()
    assert sparse.issparse(found)
    expected = [[np.nan] * 3, [0, 2.5, 0], [0, 0, 8]]
    np.testing.assert_allclose(found.toarray(), expected)
    dense = pb.select(source, target, **options)
    scattered = pb.select(sparse.csr_matrix(source), sparse.csr_matrix(target), **options)
    labels = ["a", "b", "c"], ["a", "b", "b"]
    assert scattered.barycentric_accuracy(*labels) == dense.barycentric_accuracy(*labels)
    assert dense.barycentric_accuracy(*labels) == pytest.approx(2 / 3)


def test_barycentres_of_many_rows_and_large_numbers():
    target = 1e240 * (1 + brute.whole(20_000, 2))  # more rows than one block
    chosen = pb.select(target[:50], target, k=3, metric="chebyshev", random_state=0)
    labels = chosen.assign(target).labels
    means = [1e240 * (target[labels == i] / 1e240).mean(axis=0) for i in range(3)]
    np.testing.assert_allclose(chosen.barycentres(n_jobs=1), means, rtol=1e-9)
    assert (chosen.barycentres(n_jobs=1) == chosen.barycentres(n_jobs=2)).all()


def test_barycentres_are_means_of_prepared_rows(rows):
    chosen = pb.select(1000 * rows + 7, k=3, preparation=pb.Preparation(standardize=True))
    prepared = chosen.preparation.transform(1000 * rows + 7)
    labels = chosen.assign(1000 * rows + 7).labels
    means = [prepared[labels == i].mean(axis=0) for i in range(3)]
    np.testing.assert_allclose(chosen.barycentres(), means, atol=1e-12)
    np.testing.assert_allclose(chosen.barycentres(1000 * rows + 7), means, atol=1e-12)


def test_labels_of_the_source_serve_if_the_source_is_the_target(rows):
    chosen = pb.select(rows, k=4)
    labels = np.array(list("xyz"))[np.arange(30) % 3]
    assert chosen.nearest_accuracy(labels) == chosen.nearest_accuracy(labels, labels)
    assert chosen.nearest_accuracy(list(labels)) == chosen.nearest_accuracy(labels)
    assert chosen.barycentric_accuracy(labels) == chosen.barycentric_accuracy(labels, labels)
    some = [label if i in chosen.indices else None for i, label in enumerate(labels)]
    assert chosen.nearest_accuracy(some, labels) == chosen.nearest_accuracy(labels)


def test_other_rows_have_their_own_weights(selection):
    new, share = brute.normal(40, 3, seed=8), np.arange(40.0)
    ours, theirs = np.arange(30) % 2, np.arange(40) % 2
    labels = selection.assign(new).labels
    means = cell_means(new, labels, share, 4)
    np.testing.assert_allclose(selection.barycentres(new, weights=share), means)
    right = ours[selection.indices][labels] == theirs
    for weights in (None, share):
        found = selection.nearest_accuracy(ours, theirs, rows=new, weights=weights)
        assert found == pytest.approx(np.average(right, weights=weights))


def test_a_loaded_selection_needs_rows(rows):
    chosen = pb.select(rows, k=4)
    loaded = Selection.from_json(chosen.to_json())
    labels = np.arange(30) % 2
    for ask in (
        lambda: loaded.barycentres(),
        lambda: loaded.nearest_accuracy(labels, labels),
        lambda: loaded.barycentric_accuracy(labels, labels),
    ):
        with pytest.raises(NotAvailable, match=r"does not hold the target rows. Pass them as rows"):
            ask()
    np.testing.assert_allclose(loaded.barycentres(rows), chosen.barycentres())
    for name in ("nearest_accuracy", "barycentric_accuracy"):
        expected = getattr(chosen, name)(labels)
        assert getattr(loaded, name)(labels, labels, rows=rows) == expected
        assert getattr(loaded.attached(rows), name)(labels) == expected
    with pytest.raises(InvalidInput, match="target_labels are missing"):
        loaded.nearest_accuracy(labels, rows=rows)


def test_texts_and_matrices_have_an_accuracy_but_no_barycentres():
    words = ["a", "b", "zzzz", "zzzy"]
    texts = pb.select(words, k=2, metric=brute.edits)
    assert texts.nearest_accuracy([0, 0, 1, 1]) == 1.0
    matrix = pb.select(brute.whole(6, 4), k=2, metric="precomputed")
    assert 0 <= matrix.nearest_accuracy([0, 1, 0, 1], [0, 1] * 3) <= 1
    for chosen, held in ((texts, "objects"), (matrix, "dissimilarities")):
        with pytest.raises(InvalidInput, match=f"rows of numbers, but the target holds {held}"):
            chosen.barycentres()
        with pytest.raises(InvalidInput, match="rows of numbers"):
            chosen.barycentric_accuracy([0, 1, 0, 1], [0, 1])


def test_a_class_without_a_prototype_is_never_right():
    chosen = pb.select([[0.0], [1.0], [50.0]], [[0.1], [0.2]], k=1)
    assert chosen.nearest_accuracy([0, 0, 1], [1, 1]) == 0.0
    assert chosen.barycentric_accuracy([0, 0, 1], [1, 1]) == 0.0


BAD_LABELS = {
    "too few": (([0] * 29, [0] * 50), "source_labels has 29 rows but the source has 30"),
    "too few of the target": (([0] * 30, [0] * 49), "target_labels has 49 labels for 50 rows"),
    "none": ((None, [0] * 50), "source_labels=None is not a sequence"),
    "none of the target": (([0] * 30, None), "target_labels are missing"),
    "a text": (("x" * 30, [0] * 50), "is not a sequence"),
    "a generator": (((0 for _ in range(30)), [0] * 50), "is not a sequence"),
    "missing": (([None] * 30, [0] * 50), r"source_labels\[\d+\]=None is missing"),
    "NaN": (([0] * 30, [np.nan, *[0] * 49]), r"target_labels\[0\]=nan is missing"),
    "columns": (([0] * 30, np.zeros((50, 2))), "cannot be hashed"),
    "other types": ((["5"] * 30, [5] * 50), "such as 5 and .* such as '5' have none in common"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
@pytest.mark.parametrize("name", ["nearest_accuracy", "barycentric_accuracy"])
def test_bad_labels_raise(selection, name, labels, message):
    with pytest.raises(InvalidInput, match=message):
        getattr(selection, name)(*labels)


def test_bad_rows_and_weights_raise(selection):
    new = brute.normal(4, 3)
    with pytest.raises(InvalidInput, match="weights are given without rows"):
        selection.barycentres(weights=np.ones(50))
    with pytest.raises(InvalidInput, match=r"weights have shape \(3,\)"):
        selection.barycentres(new, weights=np.ones(3))
    with pytest.raises(InvalidInput, match=r"weights\[1\]=nan"):
        selection.barycentres(new, weights=[1, np.nan, 1, 1])
    with pytest.raises(InvalidInput, match="target contains nan"):
        selection.barycentres(np.full((4, 3), np.nan))
    with pytest.raises(InvalidInput, match="2 columns"):
        selection.barycentres(new[:, :2])


def test_accuracies_compute_as_many_dissimilarities_as_documented():
    counted = brute.CountedPairs()
    chosen = pb.select(brute.normal(8), brute.normal(15, seed=1), k=3, metric=counted)
    labels = np.zeros(8), np.zeros(15)
    for ask, expected in (
        (lambda: chosen.barycentres(), 3 * 15),
        (lambda: chosen.nearest_accuracy(*labels), 3 * 15),
        (lambda: chosen.barycentric_accuracy(*labels), 2 * 3 * 15),
    ):
        counted.calls = 0
        ask()
        assert counted.calls == expected


def test_a_dict_of_values_is_one_row():
    table = [{"x": float(i), "kind": "ab"[i % 2]} for i in range(20)]
    numbers = pb.select([{"x": each["x"]} for each in table], k=2, random_state=0)
    assert numbers.assign({"x": 19.0}).labels.tolist() == numbers.assign([[19.0]]).labels.tolist()
    preparation = pb.Preparation(categories="one-hot")
    mixed = pb.select(table, k=2, preparation=preparation, random_state=0)
    assert mixed.assign(table[7]).labels.tolist() == mixed.assign(table).labels[[7]].tolist()
