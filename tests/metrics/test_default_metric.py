"""The metric of a call that names none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import protobandit as pb
from protobandit.metrics.default_metric import chosen_metric

WORDS = ["cat", "bat", "rat", "horse", "house", "mouse"]
TEXTS = {
    "list": WORDS,
    "tuple": tuple(WORDS),
    "array": np.array(WORDS),
    "array of objects": np.array(WORDS, dtype=object),
    "pandas": pd.Series(WORDS),
    "pandas categories": pd.Series(WORDS, dtype="category"),
    "polars": pl.Series(WORDS),
    "arrow": pa.array(WORDS),
    "arrow in chunks": pa.chunked_array([WORDS[:2], WORDS[2:]]),
}


@pytest.mark.parametrize("words", TEXTS.values(), ids=TEXTS)
def test_texts_are_compared_by_the_levenshtein_distance(words):
    selection = pb.select(words, k=2)
    assert selection.metric_name == "levenshtein"
    assert selection.cost == pb.select(WORDS, k=2, metric="levenshtein").cost
    assert selection.assign(words).labels.tolist() == selection.assign(WORDS).labels.tolist()
    assert pb.plan(words, k=2).evaluations > 0


def test_a_stream_of_texts(tmp_path):
    selection = pb.select(WORDS, pb.Stream(iter([WORDS, pd.Series(WORDS)])), k=2)
    assert selection.metric_name == "levenshtein"


MIXED = pd.DataFrame({"size": [1.0, 2.0, 9.0, 10.0], "colour": ["red", "red", "blue", "blue"]})


def test_gower_is_a_manhattan_distance():
    preparation = pb.Preparation(categories="gower")
    selection = pb.select(MIXED, k=2, preparation=preparation)
    assert selection.metric_name == "manhattan"
    fitted = selection.preparation
    assert pb.select(MIXED, k=2, preparation=fitted).metric_name == "manhattan"
    with pytest.raises(pb.InvalidInput, match="requires metric='manhattan'"):
        pb.select(MIXED, k=2, preparation=preparation, metric="euclidean")


def test_the_estimator_chooses_the_same_metrics():
    words = pb.PrototypeSelector(n_prototypes=2).fit(WORDS)
    assert words.selection_.metric_name == "levenshtein"
    assert words.predict(["hat"]).shape == (1,)
    gower = pb.PrototypeSelector(n_prototypes=2, preparation=pb.Preparation(categories="gower"))
    assert gower.fit(MIXED).selection_.metric_name == "manhattan"
    assert pb.PrototypeSelector().fit(np.eye(9)).selection_.metric_name == "euclidean"


@pytest.mark.parametrize("rows", [[[1.0], [2.0]], np.eye(2), [], ["a", 1], [["a"], ["b"]]])
def test_other_rows_are_compared_by_the_euclidean_distance(rows):
    assert chosen_metric(None, rows, None).name == "euclidean"


def test_texts_with_a_missing_one_raise():
    with pytest.raises(pb.InvalidInput, match=r"has no text in column 'values' at row 1"):
        pb.select(pd.Series(["a", None, "b"]), k=1)
