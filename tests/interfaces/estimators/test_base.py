"""The scikit-learn contract, and the behaviour that both estimators share."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix, issparse
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import brute
import protobandit as pb

WORDS = ["kitten", "sitting", "mitten", "banana", "bananas", "cabana"]
MAKERS = {
    "PrototypeSelector": lambda count, **given: pb.PrototypeSelector(count, **given),
    "KMedoids": lambda count, **given: pb.KMedoids(count, **given),
}
INDICES = {"PrototypeSelector": "prototype_indices_", "KMedoids": "medoid_indices_"}
ROWS = {"PrototypeSelector": "prototypes_", "KMedoids": "cluster_centers_"}


CHECKED = [
    pb.PrototypeSelector(),
    pb.PrototypeSelector(compute_labels=False),
    pb.PrototypeSelector(metric="precomputed"),
    pb.KMedoids(),
    pb.KMedoids(method="pam"),
]


# `parametrize_with_checks` of scikit-learn < 1.9 passes a generator, deprecated in pytest 9.
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{estimator}-{check.func.__name__}")
        for given in CHECKED
        for estimator, check in estimator_checks_generator(given)
    ],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(name="X")
def table():
    return np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture(params=sorted(MAKERS))
def name(request):
    return request.param


@pytest.fixture
def make(name):
    return MAKERS[name]


def indices_of(estimator):
    return getattr(estimator, INDICES[type(estimator).__name__])


def rows_of(estimator):
    return getattr(estimator, ROWS[type(estimator).__name__])


def length_difference(a, b):
    return abs(len(a) - len(b)) + len(set(a) ^ set(b))


def absolute(a, b):
    return float(np.abs(a - b).sum())


# -- results --------------------------------------------------------------------------------------


def test_the_result_equals_that_of_select(X, make):
    estimator = make(5, method="spotgreedy", random_state=3).fit(X)
    selection = pb.select(X, k=5, method="spotgreedy", random_state=3)
    np.testing.assert_array_equal(indices_of(estimator), selection.indices)
    np.testing.assert_array_equal(rows_of(estimator), X[selection.indices])
    np.testing.assert_array_equal(estimator.labels_, selection.assign(X).labels)
    assert estimator.selection_.cost == selection.cost


def test_labels_transform_and_inertia_agree_with_brute_force(X, make):
    estimator = make(4).fit(X)
    new = X[::3] + 0.1
    distances = cdist(new, X[indices_of(estimator)])
    np.testing.assert_allclose(estimator.transform(new), distances)
    np.testing.assert_array_equal(estimator.predict(new), distances.argmin(axis=1))
    np.testing.assert_array_equal(estimator.predict(X), estimator.labels_)
    nearest = cdist(X, X[indices_of(estimator)]).min(axis=1)
    assert estimator.inertia_ == pytest.approx(nearest.sum())
    assert estimator.score(X) == pytest.approx(-nearest.mean())


def test_score_is_larger_for_more_prototypes_and_takes_weights(X, make):
    few, many = make(1).fit(X), make(20).fit(X)
    assert few.score(X) < many.score(X) < 0
    weights = np.zeros(len(X))
    weights[7] = 2.0
    assert few.score(X, sample_weight=weights) == pytest.approx(-few.transform(X)[7, 0])


def test_mass_and_gains_of_a_separate_target(X):
    target = X[:10] + 0.2
    weights = np.arange(1.0, 11.0)
    selector = pb.PrototypeSelector(3).fit(X, target=pb.Target(target, weights=weights))
    distances = cdist(target, X[selector.prototype_indices_])
    share = np.bincount(distances.argmin(axis=1), weights, minlength=3) / weights.sum()
    np.testing.assert_allclose(selector.mass_, share)
    assert selector.inertia_ == pytest.approx(weights @ distances.min(axis=1))
    costs = [np.average(distances[:, : i + 1].min(axis=1), weights=weights) for i in range(3)]
    assert np.isnan(selector.gains_[0])
    np.testing.assert_allclose(selector.gains_[1:], -np.diff(costs))
    assert selector.labels_.shape == (len(X),)


def test_an_array_as_target(X):
    with_rows = pb.PrototypeSelector(3).fit(X, target=X[:9] + 0.2)
    with_target = pb.PrototypeSelector(3).fit(X, target=pb.Target(X[:9] + 0.2))
    assert with_rows.inertia_ == with_target.inertia_
    assert with_rows.inertia_ != pb.PrototypeSelector(3).fit(X).inertia_


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_inertia_is_proportional_to_equal_weights(X, make, weight):
    plain = make(3).fit(X)
    weighted = make(3).fit(X, sample_weight=np.full(len(X), weight))
    assert weighted.inertia_ == pytest.approx(weight * plain.inertia_)


def test_sampled_inertia_is_within_its_error(make):
    X = np.random.default_rng(1).normal(size=(6000, 2))
    estimator = make(4, method="random", random_state=0).fit(X)
    nearest = cdist(X, X[indices_of(estimator)]).min(axis=1)
    error = estimator.selection_.cost_error * len(X)
    assert error > 0
    assert abs(estimator.inertia_ - nearest.sum()) < 5 * error


@pytest.mark.parametrize("is_labelled", [True, False])
def test_evaluations_are_the_calls_of_the_metric(X, is_labelled):
    calls = []

    def counted(a, b):
        calls.append(1)
        return absolute(a, b)

    selector = pb.PrototypeSelector(3, metric=counted, compute_labels=is_labelled).fit(X)
    assert selector.n_evaluations_ == len(calls)
    searched = selector.selection_.evaluations
    assert selector.n_evaluations_ == searched + (3 * len(X) if is_labelled else 0)


def test_labels_are_optional(X):
    selector = pb.PrototypeSelector(3).fit(X)
    labels = selector.labels_
    selector.set_params(compute_labels=False).fit(X)
    assert not hasattr(selector, "labels_")
    np.testing.assert_array_equal(selector.fit_predict(X), labels)


def test_a_fraction_of_the_rows(X, make):
    assert len(indices_of(make(0.1).fit(X))) == 4


def test_only_k_medoids_is_a_clusterer():
    assert is_clusterer(pb.KMedoids())
    assert not is_clusterer(pb.PrototypeSelector())


# -- weights --------------------------------------------------------------------------------------


def test_integer_weights_equal_repeated_rows(X, make):
    counts = np.random.default_rng(2).integers(0, 4, size=len(X))
    weighted = make(5).fit(X, sample_weight=counts)
    copied = make(5).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(rows_of(weighted), rows_of(copied))
    assert weighted.inertia_ == pytest.approx(copied.inertia_)
    np.testing.assert_allclose(weighted.transform(X), copied.transform(X))


KINDS = {
    "array": (lambda X: X, "euclidean"),
    "sparse": (csr_array, "euclidean"),
    "precomputed": (lambda X: cdist(X, X), "precomputed"),
    "objects": (lambda X: [f"{'a' * i}{'b' * (40 - i)}" for i in range(len(X))], length_difference),
}


@pytest.fixture(params=sorted(KINDS))
def half(request, X):
    """Return rows of which only the second half has weight, their weights and their metric."""
    convert, metric = KINDS[request.param]
    return convert(X), np.repeat([0.0, 1.0], len(X) // 2), metric


def test_rows_of_zero_weight_are_never_selected(half, make):
    rows, weights, metric = half
    assert indices_of(make(1, metric=metric).fit(rows, sample_weight=weights))[0] >= 20
    estimator = make(20, metric=metric).fit(rows, sample_weight=weights)
    assert sorted(indices_of(estimator)) == list(range(20, 40))
    assert estimator.inertia_ == pytest.approx(0, abs=1e-6)
    with pytest.raises(pb.InvalidInput, match="exceeds the 20 rows"):
        make(21, metric=metric).fit(rows, sample_weight=weights)


def test_row_numbers_include_rows_of_zero_weight(half, make):
    rows, weights, metric = half
    estimator = make(3, metric=metric).fit(rows, sample_weight=weights)
    selection, distances = estimator.selection_, estimator.transform(rows)
    assert [step.index for step in selection.steps] == list(indices_of(estimator))
    np.testing.assert_array_equal(estimator.labels_, distances.argmin(axis=1))
    assert set(selection.members(0)) == set(np.flatnonzero(estimator.labels_ == 0))
    assert selection.fingerprints == pb.select(rows, k=1, metric=metric).fingerprints


# -- kinds of rows --------------------------------------------------------------------------------


def test_float32_is_kept(X, make):
    estimator = make(3).fit(X.astype(np.float32))
    assert rows_of(estimator).dtype == np.float32
    assert estimator.transform(X.astype(np.float32)).dtype == np.float32
    assert estimator.transform(X).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.bool_])
def test_rows_keep_their_dtype(make, dtype):
    X = np.random.default_rng(0).integers(0, 200, size=(20, 3)).astype(dtype)
    assert rows_of(make(2).fit(X)).dtype == dtype


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_sparse_and_dense_rows_mix(X, make, container):
    X = np.where(X > 0, X, 0)
    # Rows of zeros are equal, so that the seed decides between them.
    dense, sparse = (make(4, random_state=0).fit(rows) for rows in (X, container(X)))
    np.testing.assert_array_equal(indices_of(dense), indices_of(sparse))
    assert issparse(rows_of(sparse))
    for estimator in (dense, sparse):
        for rows in (X, container(X)):
            np.testing.assert_allclose(estimator.transform(rows), dense.transform(X), atol=1e-7)
            np.testing.assert_array_equal(estimator.predict(rows), dense.labels_)
            assert estimator.score(rows) == pytest.approx(dense.score(X))


def test_a_dense_metric_raises_for_sparse_rows(X, make):
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        make(2, metric="chebyshev").fit(csr_array(X))


def test_precomputed(X, make):
    matrix = cdist(X, X)
    estimator, plain = make(4, metric="precomputed").fit(matrix), make(4).fit(X)
    np.testing.assert_array_equal(indices_of(estimator), indices_of(plain))
    np.testing.assert_array_equal(estimator.labels_, plain.labels_)
    assert estimator.inertia_ == pytest.approx(plain.inertia_)
    assert rows_of(estimator) is None
    assert estimator.__sklearn_tags__().input_tags.pairwise
    new = X[:5] + 0.3
    np.testing.assert_allclose(estimator.transform(cdist(new, X)), plain.transform(new))


def test_cross_validation_splits_both_sides_of_a_precomputed_matrix(X, make):
    scores = cross_val_score(make(4, metric="precomputed"), cdist(X, X), cv=4)
    np.testing.assert_allclose(scores, cross_val_score(make(4), X, cv=4))


def test_a_callable_metric_takes_strings(make):
    estimator = make(2, metric=length_difference).fit(WORDS)
    chosen = indices_of(estimator)
    assert rows_of(estimator) == [WORDS[i] for i in chosen]
    assert not hasattr(estimator, "n_features_in_")
    new = ["smitten", "ban"]
    distances = [[length_difference(a, WORDS[i]) for i in chosen] for a in new]
    np.testing.assert_array_equal(estimator.transform(new), distances)
    np.testing.assert_array_equal(estimator.predict(np.array(new)), np.argmin(distances, axis=1))


def test_a_callable_metric_takes_rows_of_different_lengths(make):
    estimator = make(2, metric=length_difference).fit([[1], [1, 2], [7, 8, 9], [7, 8, 9, 10]])
    assert estimator.predict([[2], [8, 9]]).shape == (2,)


def test_a_callable_metric_on_numbers_is_validated_as_usual(X, make):
    estimator = make(3, metric=absolute).fit(X)
    np.testing.assert_array_equal(
        indices_of(estimator), indices_of(make(3, metric="cityblock").fit(X))
    )
    assert estimator.n_features_in_ == 3
    with pytest.raises(ValueError, match="expecting 3 features"):
        estimator.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(np.full((9, 2), np.nan))


def test_refitting_on_strings_removes_the_feature_names(make):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0, 2.0], "b": [0.0, 1.0, 2.0]})
    estimator = make(2, metric=length_difference)
    estimator.set_params(metric=absolute).fit(frame)
    assert list(estimator.feature_names_in_) == ["a", "b"]
    estimator.set_params(metric=length_difference).fit(WORDS)
    assert not hasattr(estimator, "n_features_in_")
    assert not hasattr(estimator, "feature_names_in_")
    with pytest.raises(pb.InvalidInput, match="Pass both in the same format"):
        estimator.predict(frame.to_numpy())


def test_a_block_metric(X, make):
    estimator = make(3, metric=pb.block_metric(cdist)).fit(X)
    np.testing.assert_array_equal(indices_of(estimator), indices_of(make(3).fit(X)))


# -- frames and output ----------------------------------------------------------------------------


def test_feature_names_out(X, make, name):
    names = make(3).fit(X).get_feature_names_out()
    assert list(names) == [f"{name.lower()}{i}" for i in range(3)]


def test_pandas_in_and_out(X, make):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(100, 140))
    estimator = make(3).set_output(transform="pandas").fit(frame)
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    out = estimator.transform(frame)
    assert list(out.columns) == list(estimator.get_feature_names_out())
    assert list(out.index) == list(frame.index)
    np.testing.assert_allclose(out.to_numpy(), make(3).fit(X).transform(X))
    assert estimator.fit_transform(frame).equals(out)
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(frame.rename(columns={"a": "z"}))


def test_a_target_must_have_the_columns_of_x(X):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(pb.InvalidInput, match="target does not match X: X has 2 features"):
        pb.PrototypeSelector(3).fit(X, target=X[:, :2])
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(pb.InvalidInput, match=r"target does not match X: .*feature names"):
        pb.PrototypeSelector(3).fit(frame, target=pb.Target(frame[["b", "a", "c"]]))


def test_polars_in_and_out(X, make):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    out = make(3).set_output(transform="polars").fit(frame).transform(frame)
    assert isinstance(out, polars.DataFrame)
    np.testing.assert_allclose(out.to_numpy(), make(3).fit(X).transform(X))


# -- scikit-learn tools ---------------------------------------------------------------------------


def test_clone_and_repr(make, name):
    estimator = make(3, metric="manhattan", method=pb.methods.LazyGreedy(), random_state=4)
    assert clone(estimator).get_params() == estimator.get_params()
    assert repr(estimator).startswith(f"{name}(")
    assert "manhattan" in repr(estimator)


def test_a_pickle_predicts_the_same_without_the_data(make):
    X = np.random.default_rng(0).normal(size=(500, 40))
    estimator = make(3).fit(X)
    stored = pickle.dumps(estimator)
    assert len(stored) < X.nbytes / 5
    loaded = pickle.loads(stored)
    np.testing.assert_array_equal(loaded.predict(X), estimator.labels_)
    np.testing.assert_array_equal(loaded.transform(X[:5]), estimator.transform(X[:5]))
    assert estimator.selection_.problem is not None
    with pytest.raises(pb.NotAvailable, match="does not hold the target rows"):
        loaded.selection_.members(0)
    assert copy.deepcopy(loaded).score(X) == estimator.score(X)


def test_an_unfitted_estimator_pickles_and_raises(X, make):
    loaded = pickle.loads(pickle.dumps(make(3)))
    for ask in (loaded.predict, loaded.transform, loaded.score):
        with pytest.raises(NotFittedError):
            ask(X)


def test_pipeline(X, make):
    pipeline = make_pipeline(StandardScaler(), make(3)).fit(X)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline.predict(X), make(3).fit(scaled).labels_)
    np.testing.assert_array_equal(pipeline.fit_predict(X), pipeline.predict(X))


def test_sample_weight_is_routed_through_a_pipeline(X, make):
    weights = np.arange(len(X), dtype=float)
    with sklearn.config_context(enable_metadata_routing=True):
        last = make(3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), last)
        pipeline.fit(X, sample_weight=weights)
        score = pipeline.score(X, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    direct = make(3).fit(scaled, sample_weight=weights)
    np.testing.assert_array_equal(indices_of(pipeline[-1]), indices_of(direct))
    assert score == pytest.approx(direct.score(scaled, sample_weight=weights))
    assert indices_of(direct).tolist() != indices_of(make(3).fit(scaled)).tolist()


@pytest.mark.parametrize("is_routed", [True, False])
def test_grid_search_with_a_separate_target(X, is_routed):
    """Every fold represents the whole target, although the target has the length of X."""
    target = np.random.default_rng(5).normal(loc=2, size=X.shape)
    seen = []

    def recorded(a, b):
        seen.append(len(a))
        return cdist(a, b)

    selector = pb.PrototypeSelector(metric=pb.block_metric(recorded), compute_labels=False)
    grid = {"n_prototypes": [1, 4]}
    with sklearn.config_context(enable_metadata_routing=is_routed):
        if is_routed:
            selector.set_fit_request(target=True)
        search = GridSearchCV(selector, grid, cv=4, scoring=far_from(target))
        search.fit(X, target=pb.Target(target))
    assert search.best_params_ == {"n_prototypes": 4}
    expected = pb.PrototypeSelector(4).fit(X, target=target)
    np.testing.assert_array_equal(
        search.best_estimator_.prototype_indices_, expected.prototype_indices_
    )
    assert max(seen) == len(target)
    assert 30 not in seen, "a fold of the target was searched instead of the whole target"


def far_from(target):
    return lambda estimator, X, y=None: estimator.score(target)


def test_a_pipeline_can_transform_the_target(X):
    target = X[:7] + 1
    with sklearn.config_context(enable_metadata_routing=True):
        last = pb.PrototypeSelector(3).set_fit_request(target=True)
        steps = [("scale", StandardScaler()), ("select", last)]
        pipeline = Pipeline(steps, transform_input=["target"]).fit(X, target=target)
    scaler = StandardScaler().fit(X)
    expected = pb.PrototypeSelector(3).fit(scaler.transform(X), target=scaler.transform(target))
    assert pipeline[-1].inertia_ == expected.inertia_


def test_target_is_routed_to_fit_predict_and_fit_transform(X):
    target = pb.Target(X[:5] + 1)
    selector = pb.PrototypeSelector(3)
    fitted = clone(selector).fit(X, target=target)
    np.testing.assert_array_equal(selector.fit_predict(X, target=target), fitted.labels_)
    np.testing.assert_array_equal(selector.fit_transform(X, target=target), fitted.transform(X))


def test_fits_in_several_threads_equal_single_fits(make):
    rng = np.random.default_rng(6)
    tables = [rng.normal(size=(200, 30)) for _ in range(8)]
    alone = [indices_of(make(6, random_state=0).fit(X)) for X in tables]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda X: indices_of(make(6, random_state=0).fit(X)), tables))
    np.testing.assert_array_equal(alone, together)


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, -1, 1.5, 8.0, True, "3", None, np.nan])
def test_an_invalid_count(X, make, name, count):
    parameter = "n_clusters" if name == "KMedoids" else "n_prototypes"
    with pytest.raises(pb.InvalidInput, match=f"{parameter}=.*not allowed.*int from 1 to 40"):
        make(count).fit(X)


def test_the_count_exceeds_the_rows(X, make, name):
    parameter = "n_clusters" if name == "KMedoids" else "n_prototypes"
    with pytest.raises(pb.InvalidInput, match=rf"^{parameter}=9 exceeds the 5 rows .*n_samples=5"):
        make(9).fit(X[:5])


def test_weights_with_a_separate_target(X):
    with pytest.raises(pb.InvalidInput, match=r"Target\(rows, weights"):
        pb.PrototypeSelector(3).fit(X, target=X[:5], sample_weight=np.ones(len(X)))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(40), r"(?i)weight.* zero|zero"),
        (-np.ones(40), "(?i)negative"),
        (np.ones(3), "shape"),
    ],
)
def test_invalid_weights(X, make, weights, message):
    with pytest.raises(ValueError, match=message):
        make(3).fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        make(3).fit(X).score(X, sample_weight=weights)


def test_invalid_precomputed_input(X, make):
    with pytest.raises(
        pb.InvalidInput, match=r"an X of shape \(40, 3\).*square.*protobandit.select"
    ):
        make(2, metric="precomputed").fit(np.abs(X))
    with pytest.raises(pb.InvalidInput, match="a separate target"):
        pb.PrototypeSelector(2, metric="precomputed").fit(np.zeros((4, 4)), target=np.zeros((2, 4)))
    with pytest.raises(ValueError, match="Negative values"):
        make(2, metric="precomputed").fit(-np.ones((4, 4)))


@pytest.mark.parametrize(
    ("rows", "message"), [(None, "Expected 2D array"), ([], "0 rows"), ("abc", "Expected 2D array")]
)
def test_input_without_rows(make, rows, message):
    with pytest.raises(ValueError, match=message):
        make(1, metric=length_difference).fit(rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "no-such"}, "metric='no-such' is not known"),
        ({"method": "no-such"}, "method='no-such' is not known"),
        ({"random_state": "seed"}, "random_state='seed'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_invalid_parameters_raise_in_fit(X, make, given, message):
    estimator = make(2, **given)
    estimator.__sklearn_tags__()
    with pytest.raises(pb.InvalidInput, match=message):
        estimator.fit(X)


@pytest.mark.parametrize("weight", [3 + 1j, np.complex64(3)])
def test_one_complex_weight_is_refused(weight):
    with pytest.raises(pb.InvalidInput, match=r"sample_weight=.* is complex"):
        pb.KMedoids(2).fit(np.eye(3), sample_weight=weight)


@pytest.mark.parametrize("kind", [pb.PrototypeSelector, pb.KMedoids])
def test_partial_fit_updates_the_prototypes(kind):
    first, more = brute.normal(60, 2), 9 + brute.normal(30, 2, seed=1)
    model = kind(10, random_state=0).partial_fit(first)
    assert model.labels_.tolist() == kind(10, random_state=0).fit(first).labels_.tolist()
    before = model.selection_
    model.partial_fit(more, keep=0.7)
    indices = model.selection_.indices
    both = np.concatenate([first, more])
    assert len(set(indices) & set(before.indices)) == 7
    centres = model.prototypes_ if kind is pb.PrototypeSelector else model.cluster_centers_
    np.testing.assert_allclose(centres, both[indices])
    assert model.labels_.tolist() == model.predict(more).tolist()
    assert model.inertia_ == pytest.approx(-model.score(both) * 90)
    with pytest.raises(pb.NotAvailable, match="does not hold the target rows"):
        pickle.loads(pickle.dumps(model)).partial_fit(more)


def test_partial_fit_with_a_preparation_is_refused():
    model = pb.PrototypeSelector(3, preparation=pb.Preparation(standardize=True))
    model.partial_fit(brute.normal(20))
    with pytest.raises(pb.InvalidInput, match="does not support preparation"):
        model.partial_fit(brute.normal(20))


def test_get_prototypes_returns_rows(make, X):
    model = make(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.get_prototypes(), X[indices_of(model)])
    names = [f"row {i}" for i in range(40)]
    assert model.get_prototypes(names) == [names[i] for i in indices_of(model)]
    with pytest.raises(NotFittedError):
        make(4).get_prototypes()
