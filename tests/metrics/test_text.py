from __future__ import annotations

import sys

import numpy as np
import pytest

import protobandit as pb

WORDS = ["", "kitten", "sitting", "mitten", "été", "ete", "日本語", "日本", "smitten", "kit" * 9]
NAMES = ["levenshtein", "levenshtein-normalized"]


def edits(a, b):
    """Return the number of edits by dynamic programming."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def normalized(a, b):
    return edits(a, b) / max(len(a), len(b), 1)


DEFINITIONS = dict(zip(NAMES, (edits, normalized), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_distances_equal_the_definition(name):
    chosen = pb.select(WORDS, k=len(WORDS), metric=name, random_state=0)
    new = [*WORDS, "kitchen", "x"]
    truth = [[DEFINITIONS[name](t, WORDS[i]) for i in chosen.indices] for t in new]
    np.testing.assert_allclose(chosen.distances(new), truth, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_selects_the_same_rows_as_a_python_function(name):
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcd"), 8)) for _ in range(60)]
    ours, own = (
        pb.select(words, k=5, metric=metric, method="lazygreedy")
        for metric in (name, DEFINITIONS[name])
    )
    assert ours.indices.tolist() == own.indices.tolist()
    np.testing.assert_allclose(ours.costs, own.costs)
    assert ours.evaluations == own.evaluations


@pytest.mark.parametrize("name", NAMES)
def test_json_keeps_the_name(name):
    chosen = pb.select(WORDS, k=3, metric=name, random_state=0)
    loaded = pb.Selection.from_json(chosen.to_json())
    assert loaded.metric is pb.METRICS[name]
    np.testing.assert_array_equal(loaded.distances(WORDS), chosen.distances(WORDS))


def test_json_does_not_keep_a_users_function_of_the_same_name():
    chosen = pb.select(WORDS, k=3, metric=edits, random_state=0)
    loaded = pb.Selection.from_json(chosen.to_json())
    with pytest.raises(pb.NotAvailable, match="edits"):
        loaded.assign(WORDS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [["a", 3], [b"a", b"b"], [None, "a"], [["a"], ["b", "c"]]])
def test_rows_that_are_not_texts(name, rows):
    with pytest.raises(pb.InvalidInput, match=f"'{name}' compares texts, and one row is"):
        pb.select(rows, k=1, metric=name)


def test_rows_of_numbers():
    with pytest.raises(pb.InvalidInput, match="holds dense rows"):
        pb.select(np.ones((3, 2)), k=1, metric="levenshtein")


def test_message_if_rapidfuzz_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(pb.NotAvailable, match=r"protobandit\[text\]"):
        pb.select(WORDS, k=1, metric="levenshtein")
