"""The result: assigning, explaining, taking, and surviving a trip through JSON."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import brute
import protobandit as pb
from protobandit import Selection
from protobandit.methods import METHODS, ProtoBandit, SpotGreedy, StochasticGreedy

WORDS = ["tree", "free", "three", "house", "mouse", "hose", "moss", "trees", "houses", "a"]


@pytest.fixture
def rows():
    return brute.normal(30, 3)


@pytest.fixture
def selection(rows):
    return pb.select(rows, brute.normal(50, 3, seed=1), k=4, weights=np.arange(1, 51))


def euclidean(target, source):
    return float(np.sqrt(((np.asarray(target) - np.asarray(source)) ** 2).sum()))


# -- assign, distances, explain, members -----------------------------------------------------------


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


def test_explain_gives_as_many_as_asked_for(rows, selection):
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
def test_members_share_the_target_out_nearest_first(metric):
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


def test_assigning_does_not_change_what_was_spent(rows, selection):
    spent = selection.evaluations
    selection.assign(rows)
    assert selection.evaluations == spent


def test_prototypes_are_nearest_to_themselves(rows, selection):
    labels, distances = selection.assign(rows[selection.indices])
    assert labels.tolist() == [0, 1, 2, 3]
    assert distances.tolist() == [0, 0, 0, 0]


def test_rows_that_are_lists_stay_lists():
    """Even where the prototypes, or the new rows, would make a table of numbers by themselves."""
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


# -- take ------------------------------------------------------------------------------------------


def test_take_keeps_index_and_columns_of_a_frame(rows, selection):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"], index=[f"row {i}" for i in range(30)])
    taken = selection.take(frame)
    assert list(taken.columns) == ["a", "b", "c"]
    assert taken.index.tolist() == [f"row {i}" for i in selection.indices]
    assert (taken.to_numpy() == rows[selection.indices]).all()
    assert selection.take(frame["b"]).tolist() == rows[selection.indices, 1].tolist()


def test_take_keeps_the_container(rows, selection):
    chosen = selection.indices.tolist()
    polars = selection.take(pl.DataFrame(rows, schema=["a", "b", "c"]))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["a", "b", "c"]
    assert (polars.to_numpy() == rows[chosen]).all()
    assert (selection.take(rows) == rows[chosen]).all()
    assert (selection.take(rows[:, 0]) == rows[chosen, 0]).all()
    assert selection.take(list(range(30))) == chosen
    assert selection.take(tuple(range(30))) == chosen
    assert (selection.take(sparse.csr_array(rows)).toarray() == rows[chosen]).all()
    assert selection.take(pl.Series(range(30))).to_list() == chosen


# -- JSON ------------------------------------------------------------------------------------------


def same(one, other):
    assert one.indices.tolist() == other.indices.tolist()
    assert one.indices.dtype == other.indices.dtype
    assert one.costs.tobytes() == other.costs.tobytes()
    assert one.mass.tobytes() == other.mass.tobytes()
    assert one.gains.tobytes() == other.gains.tobytes()
    assert repr(one) == repr(other)
    assert [str(step) for step in one.steps] == [str(step) for step in other.steps]
    names = (
        "cost_error",
        "evaluations_by_phase",
        "evaluations",
        "lookups",
        "guarantee",
        "status",
        "method",
        "parameters",
        "fingerprints",
        "seconds",
        "cost",
    )
    for name in names:
        assert getattr(one, name) == getattr(other, name), name


KINDS = {
    "float32": (brute.normal(20, dtype=np.float32), "euclidean"),
    "float64": (brute.normal(20), "manhattan"),
    "uint8": (brute.whole(20, top=200).astype(np.uint8), "euclidean"),
    "csr": (sparse.csr_matrix(brute.whole(20, 5) * (brute.whole(20, 5, seed=1) > 4)), "cosine"),
    "parameters": (brute.normal(20), pb.metric("minkowski", {"p": 3})),
    "matrix-parameters": (brute.normal(20), pb.metric("mahalanobis", {"VI": np.eye(3) + 0.1})),
    "variances": (brute.normal(20), pb.metric("seuclidean", {"V": [1.0, 0.1, 3]})),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_named_metric_survives_json(kind):
    rows, metric = KINDS[kind]
    chosen = pb.select(rows, k=4, metric=metric, random_state=0)
    loaded = Selection.from_json(chosen.to_json())
    same(chosen, loaded)
    assert loaded.metric.name == chosen.metric.name
    assert loaded.problem is None
    one, other = chosen.assign(rows), loaded.assign(rows)
    assert one.labels.tolist() == other.labels.tolist()
    assert one.distances.tobytes() == other.distances.tobytes()
    assert one.distances.dtype == other.distances.dtype
    assert (chosen.explain(rows).indices == loaded.explain(rows).indices).all()
    same(loaded, Selection.from_json(loaded.to_json()))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_survives_json(name):
    chosen = pb.select(brute.normal(20), k=4, method=name, random_state=0)
    same(chosen, Selection.from_json(chosen.to_json()))


@pytest.mark.parametrize(
    "method",
    [
        SpotGreedy(r=np.int64(2), memoize=False),
        StochasticGreedy(epsilon=np.float32(0.25)),
        ProtoBandit(nu=np.float64(0.1), early_stop=False, scale=9),
    ],
    ids=brute.name_of,
)
def test_parameters_survive_json_as_plain_numbers(method):
    chosen = pb.select(brute.normal(20), k=4, method=method, random_state=0)
    loaded = Selection.from_json(chosen.to_json())
    same(chosen, loaded)
    assert type(method)(**loaded.parameters) == method
    assert loaded.guarantee == chosen.guarantee


def test_a_precomputed_matrix_survives_json():
    d = np.random.default_rng(0).uniform(size=(30, 12))
    chosen = pb.select(d, k=3, metric="precomputed")
    loaded = Selection.from_json(chosen.to_json())
    same(chosen, loaded)
    assert loaded.assign(d).labels.tolist() == d[:, chosen.indices].argmin(axis=1).tolist()


@pytest.mark.parametrize("is_block", [False, True], ids=["pairs", "blocks"])
def test_a_callable_must_be_passed_again(is_block):
    def own(a, b):
        return [[brute.edits(t, s) for s in b] for t in a] if is_block else brute.edits(a, b)

    metric = pb.block_metric(own) if is_block else own
    chosen = pb.select(WORDS, k=3, metric=metric)
    text = chosen.to_json()
    alone = Selection.from_json(text)
    same(chosen, alone)
    assert alone.metric == "own"
    assert alone.prototypes == chosen.prototypes
    with pytest.raises(pb.NotAvailable, match=r"your own metric 'own'.*from_json\(text, metric="):
        alone.assign(WORDS)
    loaded = Selection.from_json(text, metric=metric)
    assert loaded.assign(WORDS).labels.tolist() == chosen.assign(WORDS).labels.tolist()
    again = Selection.from_json(alone.to_json(), metric=metric)
    assert again.assign(WORDS).labels.tolist() == chosen.assign(WORDS).labels.tolist()


def test_a_callable_on_numbers_must_be_passed_again(rows):
    chosen = pb.select(rows, k=3, metric=euclidean)
    loaded = Selection.from_json(chosen.to_json(), metric=euclidean)
    assert (loaded.distances(rows) == chosen.distances(rows)).all()


def test_the_same_named_metric_may_be_passed_again(rows):
    cubic = pb.metric("minkowski", {"p": 3})
    text = pb.select(rows, k=3, metric=cubic).to_json()
    assert Selection.from_json(text, metric=cubic).metric is cubic


def test_nan_is_null_and_back(rows):
    chosen = pb.select(rows, k=3, method=SpotGreedy(r=2))
    text = chosen.to_json()
    assert "NaN" not in text
    document = json.loads(text)
    assert document["gains"][0] is None
    assert [step["gain"] is None for step in document["steps"]] == [True, True, False]
    loaded = Selection.from_json(text)
    assert np.isnan(loaded.gains[0])
    assert [np.isnan(step.gain) for step in loaded.steps] == [True, True, False]


def test_json_is_for_reading_too(selection):
    document = json.loads(selection.to_json())
    assert document["format"] == "protobandit selection"
    assert document["indices"] == selection.indices.tolist()
    assert document["cost"] == selection.cost
    assert document["evaluations"] == selection.evaluations
    assert document["metric"]["name"] == "euclidean"


def test_json_as_bytes_and_beyond_ascii():
    words = ["Bär", "Bär!", "Käfer", "虫", "虫虫"]
    chosen = pb.select(words, k=2, metric=brute.edits)
    text = chosen.to_json()
    assert Selection.from_json(text.encode(), metric=brute.edits).prototypes == chosen.prototypes


def test_rows_json_cannot_hold_are_refused():
    chosen = pb.select([{1}, {1, 2}, {5}], k=1, metric=lambda a, b: len(a ^ b))
    with pytest.raises(pb.InvalidInput, match=r"cannot be written as JSON: .*set.*strings"):
        chosen.to_json()


def test_a_loaded_selection_has_no_target(selection):
    loaded = Selection.from_json(selection.to_json())
    with pytest.raises(pb.NotAvailable, match=r"does not hold the target rows.*assign\(rows\)"):
        loaded.members(0)
    assert loaded.take(list(range(30))) == selection.indices.tolist()


def test_fingerprints_tell_data_apart(rows):
    one, other = (pb.select(rows, k=2, method=name) for name in ("spotgreedy", "random"))
    assert one.fingerprints == other.fingerprints
    assert one.fingerprints["source"] == one.fingerprints["target"]
    moved = pb.select(rows + 1, rows, k=2)
    assert moved.fingerprints["target"] == one.fingerprints["target"]
    assert moved.fingerprints["source"] != one.fingerprints["source"]


BROKEN = {
    "no step": lambda d: d.update(steps=[]),
    "steps without a gain": lambda d: d["steps"][0].pop("gain"),
    "an index that is no number": lambda d: d["steps"][0].update(index="first"),
    "fewer costs": lambda d: d["costs"].pop(),
    "fewer indices": lambda d: d["indices"].pop(),
    "another mass": lambda d: d.update(mass=[[1.0]]),
    "huge indices": lambda d: d.update(indices=[10**30] * 4),
    "no metric": lambda d: d.pop("metric"),
    "metric of the wrong type": lambda d: d.update(metric="euclidean"),
    "no prototypes": lambda d: d.pop("prototypes"),
    "prototypes of another shape": lambda d: d["prototypes"].update(shape=[4, 7]),
    "prototypes of another kind": lambda d: d["prototypes"].update(kind="clay"),
    "fewer prototypes": lambda d: d["prototypes"].update(kind="list", values=[1]),
    "phases as a number": lambda d: d.update(evaluations_by_phase=7),
    "a guarantee of another shape": lambda d: d.update(guarantee={"method": "x"}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_damaged_document_is_refused(selection, what):
    document = json.loads(selection.to_json())
    BROKEN[what](document)
    with pytest.raises(pb.InvalidInput, match="text is not a whole protobandit selection"):
        Selection.from_json(json.dumps(document))


def test_every_truncation_is_refused(selection):
    text = selection.to_json()
    for n in range(0, len(text), 97):
        with pytest.raises(pb.InvalidInput, match=r"text is not JSON.*cut short"):
            Selection.from_json(text[:n])


# -- what it looks like ----------------------------------------------------------------------------


def test_repr_shows_what_matters(selection):
    shown = repr(selection)
    assert "4 prototypes by lazybandit (euclidean)" in shown
    assert ", ".join(map(str, selection.indices)) in shown
    assert f"{selection.cost:.6g}" in shown
    assert f"{selection.evaluations:,} ({selection.lookups:,} lookups)" in shown
    assert "f >= (1 - 1/e) f*" in shown
    assert selection.status in shown
    assert "±" not in shown


def test_repr_counts_a_certificate_apart(selection):
    certified = selection.certified()
    more = certified.evaluations - selection.evaluations
    assert more > 0
    said = f"evaluations  {selection.evaluations:,} (+ {more:,} for the certificate, "
    assert said in repr(certified)


def test_repr_of_a_sampled_run_shows_its_error_and_shortens():
    chosen = pb.select(brute.normal(20), brute.normal(5000, seed=1), k=10, method="random")
    shown = repr(chosen)
    assert f"± {chosen.cost_error:.2g}" in shown
    assert ", …" in shown
    assert str(chosen.indices[7]) in shown
    assert "guarantee    none" in shown


def test_a_selection_is_frozen(selection):
    with pytest.raises(AttributeError):
        selection.status = "better"


# -- rows given back ------------------------------------------------------------------------------


def reloaded(selection, **options):
    return pb.Selection.from_json(selection.to_json(), **options)


def test_a_loaded_selection_is_given_its_rows_back():
    rows, target = np.random.default_rng(0).normal(size=(2, 50, 3))
    weights = np.arange(50.0)
    made = pb.select(rows, target, k=4, weights=weights, method="lazygreedy")
    loaded = reloaded(made)
    attached = loaded.attached(rows, target, weights=weights)
    assert loaded.problem is None
    assert attached.members(1).tolist() == made.members(1).tolist()
    assert attached.certify() == made.certify()
    assert attached.extended(6).indices.tolist() == made.extended(6).indices.tolist()
    assert attached.at(2).mass.tolist() == made.at(2).mass.tolist()
    assert attached.to_json() == made.to_json()


def test_rows_given_back_are_prepared_again():
    rows = np.random.default_rng(0).normal(size=(60, 3)) * [1, 100, 1]
    made = pb.select(rows, k=3, preparation=pb.Preparation(standardize=True))
    attached = reloaded(made).attached(rows)
    assert attached.members(0).tolist() == made.members(0).tolist()
    assert attached.certify() == made.certify()


@pytest.mark.parametrize("side", ["source", "target"])
def test_other_rows_are_refused(side):
    rows, target = np.random.default_rng(0).normal(size=(2, 50, 3))
    loaded = reloaded(pb.select(rows, target, k=2))
    given = {"source": rows, "target": target, side: rows + target}
    with pytest.raises(pb.InvalidInput, match=rf"{side} is not what this selection was made from"):
        loaded.attached(**given)
    with pytest.raises(pb.InvalidInput, match="target is not what"):
        loaded.attached(rows)


def test_a_metric_of_ones_own_is_given_back_with_the_rows():
    def gap(a, b):
        return abs(len(a) - len(b))

    words = ["a", "bb", "ccc", "dddddd", "eeeeeee"]
    made = pb.select(words, k=2, metric=gap)
    loaded = reloaded(made)
    with pytest.raises(pb.NotAvailable, match="your own metric 'gap'"):
        loaded.attached(words)
    with pytest.raises(pb.InvalidInput, match="metric='len' is not the 'gap'"):
        loaded.attached(words, metric=len)
    assert loaded.attached(words, metric=gap).members(0).tolist() == made.members(0).tolist()
