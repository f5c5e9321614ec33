"""A selection written as JSON and read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
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
def test_selections_are_equal_after_json(kind):
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
def test_selections_of_every_method_are_equal_after_json(name):
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
def test_parameters_of_numpy_types_become_python_numbers(method):
    chosen = pb.select(brute.normal(20), k=4, method=method, random_state=0)
    loaded = Selection.from_json(chosen.to_json())
    same(chosen, loaded)
    assert type(method)(**loaded.parameters) == method
    assert loaded.guarantee == chosen.guarantee


def test_precomputed_selections_are_equal_after_json():
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


def test_nan_is_written_as_null(rows):
    chosen = pb.select(rows, k=3, method=SpotGreedy(r=2))
    text = chosen.to_json()
    assert "NaN" not in text
    document = json.loads(text)
    assert document["gains"][0] is None
    assert [step["gain"] is None for step in document["steps"]] == [True, True, False]
    loaded = Selection.from_json(text)
    assert np.isnan(loaded.gains[0])
    assert [np.isnan(step.gain) for step in loaded.steps] == [True, True, False]


def test_the_fields_of_the_json_document(selection):
    document = json.loads(selection.to_json())
    assert document["format"] == "protobandit selection"
    assert document["indices"] == selection.indices.tolist()
    assert document["cost"] == selection.cost
    assert document["evaluations"] == selection.evaluations
    assert document["metric"]["name"] == "euclidean"


def test_json_as_bytes_and_with_other_scripts():
    words = ["Bär", "Bär!", "Käfer", "虫", "虫虫"]
    chosen = pb.select(words, k=2, metric=brute.edits)
    text = chosen.to_json()
    assert Selection.from_json(text.encode(), metric=brute.edits).prototypes == chosen.prototypes


def test_rows_that_json_cannot_represent_raise():
    chosen = pb.select([{1}, {1, 2}, {5}], k=1, metric=lambda a, b: len(a ^ b))
    with pytest.raises(pb.InvalidInput, match=r"cannot be written as JSON: .*set.*strings"):
        chosen.to_json()


def test_a_loaded_selection_has_no_target(selection):
    loaded = Selection.from_json(selection.to_json())
    with pytest.raises(pb.NotAvailable, match=r"does not hold the target rows.*assign\(rows\)"):
        loaded.members(0)
    assert loaded.take(list(range(30))) == selection.indices.tolist()


def test_fingerprints_identify_the_rows(rows):
    one, other = (pb.select(rows, k=2, method=name) for name in ("spotgreedy", "random"))
    assert one.fingerprints == other.fingerprints
    assert one.fingerprints["source"] == one.fingerprints["target"]
    moved = pb.select(rows + 1, rows, k=2)
    assert moved.fingerprints["target"] == one.fingerprints["target"]
    assert moved.fingerprints["source"] != one.fingerprints["source"]


BROKEN = {
    "no step": lambda d: d.update(steps=[]),
    "steps without a gain": lambda d: d["steps"][0].pop("gain"),
    "an index that is not a number": lambda d: d["steps"][0].update(index="first"),
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
def test_damaged_documents_raise(selection, what):
    document = json.loads(selection.to_json())
    BROKEN[what](document)
    with pytest.raises(pb.InvalidInput, match="text is not a whole protobandit selection"):
        Selection.from_json(json.dumps(document))


def test_truncated_documents_raise(selection):
    text = selection.to_json()
    for n in range(0, len(text), 97):
        with pytest.raises(pb.InvalidInput, match=r"text is not JSON.*cut short"):
            Selection.from_json(text[:n])


# -- stored files ---------------------------------------------------------------------------------

STORED = sorted((Path(__file__).parents[1] / "fixtures" / "selections").glob("*.json"))


def stored(name):
    (path,) = (path for path in STORED if path.stem == name)
    return Selection.from_json(path.read_text(encoding="utf-8"))


def contains(new, old):
    """Return whether a document has every entry of an older one, with the same value."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(
            key in new and contains(new[key], value) for key, value in old.items()
        )
    return type(new) is type(old) and new == old


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_files_of_every_version_are_read(path):
    """Nothing is lost: written again, the selection has all the stored entries."""
    document = json.loads(path.read_text(encoding="utf-8"))
    loaded = Selection.from_json(path.read_bytes())
    assert loaded.indices.tolist() == document["indices"]
    assert loaded.costs.tolist() == document["costs"]
    assert loaded.mass.tolist() == document["mass"]
    assert (loaded.method, loaded.status) == (document["method"], document["status"])
    assert loaded.evaluations == document["evaluations"]
    assert contains(json.loads(loaded.to_json()), document)


def test_this_version_has_stored_files_with_every_field():
    """A new field needs a stored file in which it is not empty, so that it stays readable."""
    own = [path for path in STORED if path.stem.startswith(f"{pb.__version__}-")]
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in own]
    written = json.loads(pb.select(brute.normal(9), k=2).to_json())
    assert documents, "store files of each version before it is released"
    nothing = (None, [], {})
    empty = [name for name in written if all(each.get(name) in nothing for each in documents)]
    assert not empty


def test_fields_of_stored_files():
    """Values that were read from the files by eye, not by the code under test."""
    first = stored("0.1.0.dev1-first")
    assert (first.certificate, first.warnings, first.pulls, first.rows_read) == (None, (), 0, None)
    assert (first.coefficients, first.criticisms, first.curve, first.spent) == (None,) * 4
    assert first.guarantee.scale == 3.8138956461864555
    assert first.prototypes.shape == (3, 2)
    assert stored("0.1.0.dev2-certificate").certificate.kind == "exact"
    assert stored("0.1.0-dense").prototypes.dtype == np.float32
    assert stored("0.1.0-sparse").prototypes.format == "csr"
    assert stored("0.1.0-sparse").metric.name == "cosine"
    words = stored("0.1.0-words")
    assert words.metric == "edits"
    assert set(words.prototypes) < {"Bär", "Käfer", "虫", "ant", "a long word"}
    certificate = stored("0.1.0-asymptotic").certificate
    assert (certificate.kind, len(certificate.conditions)) == ("asymptotic", 2)
    assert stored("0.1.0-columns").columns == ("a", "b")
    constraints = stored("0.1.0-constraints")
    assert (constraints.fixed, constraints.other_constraints) == ((5,), ("min_distance",))
    assert stored("0.1.0-transformer").preparation.description == "StandardScaler()"
    assert stored("0.1.0-budget").spent == 6.0
    assert stored("0.1.0-classes").prototype_labels.tolist() == ["a", "b", "b", "a"]
    assert len(stored("0.1.0-curve").curve) == 12
    assert len(stored("0.1.0-criticisms").criticisms) == 2
    stream = stored("0.1.0-stream")
    assert (stream.pulls, stream.rows_read) == (4224, 3000)
    assert [warning.kind.value for warning in stream.warnings] == ["stream ended"]
    prepared = stored("0.1.0-preparation")
    frame = pd.DataFrame({"size": [1.0, 11.0], "colour": ["r", "g"]})
    assert prepared.assign(frame).labels.tolist() == [0, 1]


def test_files_of_a_later_version_are_refused(selection):
    document = {**json.loads(selection.to_json()), "version": 2}
    with pytest.raises(pb.InvalidInput, match="text has version 2; this release reads 1"):
        Selection.from_json(json.dumps(document))
