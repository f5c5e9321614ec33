"""The behaviour that users of scikit-learn-extra's KMedoids expect."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

import protobandit as pb

INITS = ["random", "heuristic", "build", "k-medoids++"]

methods = pytest.mark.parametrize("method", ["alternate", "pam"])
inits = pytest.mark.parametrize("init", INITS)


@pytest.fixture(name="blobs")
def two_blobs():
    rows, _ = make_blobs(
        100, centers=[[-1, -1], [1, 1]], cluster_std=0.2, shuffle=False, random_state=0
    )
    return rows


@pytest.fixture(name="X")
def table():
    return np.random.default_rng(0).normal(size=(60, 4))


def is_split(labels, at=50):
    """Return whether the first rows have one label and the others another."""
    return set(labels[:at]) != set(labels[at:]) and len(set(labels[:at])) == 1


# -- parameters ------------------------------------------------------------------------------------


@methods
@inits
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clusters_are_found_with_every_init(blobs, method, init, dtype):
    rows = blobs.astype(dtype)
    model = pb.KMedoids(2, method=method, init=init, random_state=0).fit(rows)
    assert is_split(model.labels_)
    assert model.cluster_centers_.dtype == model.transform(rows).dtype == dtype
    np.testing.assert_array_equal(rows[model.medoid_indices_], model.cluster_centers_)


@methods
@inits
def test_all_medoids_are_distinct(blobs, method, init):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = pb.KMedoids(50, method=method, init=init, max_iter=1, random_state=0).fit(blobs)
    assert len(set(model.medoid_indices_.tolist())) == 50


def test_parameters_have_the_positions_of_scikit_learn_extra():
    model = pb.KMedoids(3, "manhattan", "pam", "random", 20, 7)
    assert model.get_params() == {
        "n_clusters": 3,
        "metric": "manhattan",
        "method": "pam",
        "init": "random",
        "max_iter": 20,
        "random_state": 7,
        "n_jobs": None,
    }


@pytest.mark.parametrize("name", sorted(pb.methods.METHODS))
def test_every_method(blobs, name):
    model = pb.KMedoids(2, method=name, random_state=0).fit(blobs)
    assert model.selection_.method == name
    assert model.labels_.shape == (100,)
    assert model.n_iter_ >= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": None}, "n_clusters=None"),
        ({"n_clusters": 61}, "n_clusters=61 exceeds"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"max_iter": None}, "max_iter=None"),
        ({"max_iter": 1.5, "method": "pam"}, "max_iter=1.5"),
        ({"method": "invalid"}, "method='invalid'"),
        ({"init": "invalid"}, "init needs to be one of"),
        ({"init": None}, r"init needs to be one of the following: .*random.*heuristic.*-medoids\+"),
        ({"init": 5, "method": "pam"}, "init needs to be one of"),
        (
            {"init": "build", "method": "lazybandit"},
            r"method='lazybandit' does not support init='build'",
        ),
        (
            {"init": "build", "method": pb.methods.PAM()},
            r"method=PAM.* does not support init=.* by name",
        ),
        ({"init": [0, 99], "n_clusters": 2}, "init names row 99, which is missing from X"),
        ({"init": [0, 0], "n_clusters": 2}, "init names row 0 more than once"),
        ({"init": np.ones((2, 4)), "n_clusters": 2}, "which is not a row of X"),
        ({"init": np.ones((2, 3)), "n_clusters": 2}, "which is not a row of X"),
        ({"init": csc_array(np.eye(2, 4)), "n_clusters": 2}, "init needs to be one of"),
    ],
)
def test_invalid_parameters(X, given, message):
    with pytest.raises(ValueError, match=message):
        pb.KMedoids(**given).fit(X)


# -- init ------------------------------------------------------------------------------------------


def test_the_default_method_depends_on_init(X):
    assert pb.KMedoids(3, init="heuristic").fit(X).selection_.method == "fasterpam"
    assert pb.KMedoids(3).fit(X).selection_.method == "lazybandit"
    chosen = pb.KMedoids(3, method="alternate", init="heuristic", max_iter=9).fit(X).selection_
    assert chosen.parameters == {"init": "heuristic", "max_iter": 9}


@methods
def test_heuristic_init_does_not_depend_on_the_seed(X, method):
    runs = [
        pb.KMedoids(5, method=method, init="heuristic", random_state=seed).fit(X) for seed in (1, 2)
    ]
    np.testing.assert_array_equal(runs[0].medoid_indices_, runs[1].medoid_indices_)


@pytest.mark.parametrize("max_iter", [0, 300])
def test_rows_as_init(blobs, max_iter):
    start = blobs[[0, 50]]
    model = pb.KMedoids(2, method="alternate", init=start, max_iter=max_iter).fit(blobs)
    assert is_split(model.labels_)
    if max_iter == 0:
        assert sorted(model.medoid_indices_) == [0, 50]
        assert model.n_iter_ == 0
    by_number = pb.KMedoids(2, method="alternate", init=[0, 50], max_iter=max_iter).fit(blobs)
    np.testing.assert_array_equal(by_number.medoid_indices_, model.medoid_indices_)


def test_rows_as_init_replace_n_clusters(blobs):
    model = pb.KMedoids(4, method="alternate", init=blobs[[0, 50]])
    with pytest.warns(UserWarning, match="init holds 2 rows: n_clusters=4 is replaced by 2"):
        model.fit(blobs)
    assert len(model.cluster_centers_) == 2
    assert model.n_clusters == 4


def test_a_selection_as_init(X):
    first = pb.select(X, k=4, method="random", random_state=0)
    model = pb.KMedoids(4, method="pam", init=first, max_iter=0).fit(X)
    assert sorted(model.medoid_indices_) == sorted(first.indices)


def test_row_numbers_as_init_include_rows_of_zero_weight(X):
    weights = np.ones(60)
    weights[::2] = 0
    given = {"method": "fasterpam", "max_iter": 0}
    model = pb.KMedoids(3, init=[5, 1, 33], **given).fit(X, sample_weight=weights)
    assert sorted(model.medoid_indices_) == [1, 5, 33]
    by_rows = pb.KMedoids(3, init=X[[5, 1, 33]], **given).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(by_rows.medoid_indices_, model.medoid_indices_)
    with pytest.raises(
        pb.InvalidInput, match="row 2, which is missing from X or has zero sample_weight"
    ):
        pb.KMedoids(2, init=[2, 5], **given).fit(X, sample_weight=weights)


def test_a_clone_keeps_init(X):
    model = pb.KMedoids(2, method="pam", init=X[:2], max_iter=0)
    np.testing.assert_array_equal(clone(model).init, X[:2])
    assert sorted(clone(model).fit(X).medoid_indices_) == [0, 1]


def test_build_without_passes_equals_greedy(X):
    built = pb.KMedoids(10, "precomputed", init="build", max_iter=0).fit(cdist(X, X))
    assert len(set(built.labels_)) == 10
    greedy = pb.select(X, k=10, method="spotgreedy")
    assert built.inertia_ == pytest.approx(60 * greedy.cost)


# -- passes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["alternate", "pam", "fasterpam"])
def test_too_few_passes_issue_a_warning(method):
    rows = load_iris().data
    model = pb.KMedoids(10, method=method, init="random", max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration reached before"):
        model.fit(rows)
    assert model.n_iter_ == 1
    settled = clone(model).set_params(max_iter=300).fit(rows)
    assert 1 < settled.n_iter_ < 300
    assert settled.inertia_ < model.inertia_


def test_empty_clusters_issue_a_warning():
    with pytest.warns(UserWarning, match="Cluster 1 is empty!"):
        pb.KMedoids(2, method="alternate").fit([[1], [1], [1]])


@pytest.mark.parametrize("init", ["random", "heuristic", "k-medoids++"])
def test_iris(init):
    rows = load_iris().data
    means = KMeans(3, n_init=3, random_state=0).fit(rows).transform(rows).min(axis=1).mean()
    model = pb.KMedoids(3, method="alternate", init=init, random_state=0).fit(rows)
    assert model.n_iter_ < 15
    mean = model.inertia_ / len(rows)
    assert cdist(rows, rows).mean() > 2 * mean
    assert mean == pytest.approx(means, rel=0.1)


# -- rows ------------------------------------------------------------------------------------------


@methods
def test_a_matrix_of_distances(method):
    rows = np.array([[1.0, 0.0], [1.1, 0.0], [0.0, 1.0], [0.0, 1.1]])
    new = np.array([[1.1, 0.0], [0.0, 0.9]])
    model = pb.KMedoids(2, "precomputed", method, "heuristic").fit(cdist(rows, rows))
    assert model.inertia_ == pytest.approx(0.2)
    assert sorted(model.medoid_indices_ // 2) == [0, 1]
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.cluster_centers_ is None
    distances = cdist(new, rows)
    np.testing.assert_array_equal(model.predict(distances), model.labels_[[0, 2]])
    np.testing.assert_array_equal(model.transform(distances), distances[:, model.medoid_indices_])


@methods
def test_as_many_clusters_as_rows(method):
    rows = np.eye(3)
    model = pb.KMedoids(3, method=method).fit(rows)
    np.testing.assert_array_equal(model.cluster_centers_, rows)
    np.testing.assert_array_equal(model.labels_, [0, 1, 2])
    assert model.inertia_ == 0
    np.testing.assert_array_equal(np.diag(model.transform(rows)), 0)
    assert np.count_nonzero(model.transform(rows)) == 6


@methods
def test_an_outlier_is_not_a_cluster(method):
    rows = [[-11, 0], [-10, 0], [-9, 0], [0, 0], [1, 0], [2, 0], [1000, 0]]
    assert is_split(pb.KMedoids(2, method=method).fit(rows).labels_, at=3)


@methods
def test_sparse_rows_by_column(method):
    rows = csc_array(([1, 1], ([1, 0], [0, 4])), shape=(2, 5))
    model = pb.KMedoids(2, method=method)
    np.testing.assert_array_equal(model.fit_predict(rows), model.labels_)
    assert sorted(model.labels_) == [0, 1]


@methods
def test_a_callable_metric(X, method):
    def euclidean(a, b):
        return np.sqrt(((a - b) ** 2).sum())

    model = pb.KMedoids(4, euclidean, method, "heuristic").fit(X)
    plain = pb.KMedoids(4, "euclidean", method, "heuristic").fit(X)
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_seuclidean():
    """Variances must be passed: those of new rows would differ from those of the medoids."""
    rows = np.array([[0.0], [0.0], [0.0], [1.0]])
    with pytest.raises(pb.InvalidInput, match=r"metric=protobandit.metric\('seuclidean', {'V'"):
        pb.KMedoids(2, metric="seuclidean", method="pam").fit(rows)
    metric = pb.metric("seuclidean", {"V": rows.var(axis=0, ddof=1)})
    model = pb.KMedoids(2, metric=metric, method="pam").fit(rows)
    assert len(set(model.predict(rows))) == 2
    np.testing.assert_allclose(model.transform(rows)[0].max(), 2)
