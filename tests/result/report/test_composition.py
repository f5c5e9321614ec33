"""Labels as words: whatever their type, alike if they mean the same, and what is missing."""

import numpy as np
import pandas as pd
import pytest

from protobandit.result.report.composition import agreement, compose, told

EVEN = np.full(4, 0.25)
MISSING = {"None": None, "nan": float("nan"), "NA": pd.NA, "NaT": pd.NaT}


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2],
        ["1", "2"],
        [1.0, 2.0],
        np.array([1.0, 2.0]),
        np.array([1, 2], dtype=np.uint8),
        [np.float32(1), np.int64(2)],
        pd.Series([1, 2], dtype="Int64"),
        pd.Series(["1", "2"], dtype="category"),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_a_label_reads_alike_whatever_its_type(labels):
    assert told(labels) == ["1", "2"]


def test_numbers_that_are_not_whole_stay_as_they_are():
    assert told([1.5, -0.0, 1e300, float("inf"), True]) == ["1.5", "0", "1e+300", "inf", "True"]


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING)
def test_what_is_missing_has_a_word(missing):
    assert told([missing, "a"]) == ["(none)", "a"]
    assert told(pd.Series([missing, "a"], dtype=object)) == ["(none)", "a"]


def test_whole_numbers_with_a_gap_are_those_without():
    """A column of whole numbers that has a gap is read as floats."""
    shares = compose(
        "label", prototypes=[1, 2], mass=np.array([0.4, 0.6]), source=[1.0, 2.0, np.nan]
    )
    assert set(shares.values) == {"1", "2", "(none)"}
    found = agreement([1.0, 2.0, 1.0, 2.0], [1, 2], np.array([0, 1, 1, 1]), EVEN)
    assert found.share == pytest.approx(0.75)


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING)
def test_missing_labels_agree_with_nothing(missing):
    own = ["a", missing, "b", "b"]
    found = agreement(own, ["a", missing], np.array([0, 1, 1, 0]), np.array([0.4, 0.3, 0.2, 0.1]))
    assert found.share == pytest.approx(0.4 / 0.7)
    assert found.n_left_out == 1


def test_where_no_row_has_a_label_there_is_no_agreement():
    assert agreement([None] * 4, ["a"], np.zeros(4, dtype=int), EVEN) is None


def test_a_label_that_looks_like_what_is_missing_is_one():
    found = agreement(["(none)", "(none)"], ["(none)", None], np.array([0, 1]), EVEN[:2] * 2)
    assert found == (0.5, 0)


def test_labels_of_many_types_compose():
    labels = [1, "one", None, 2.0, (3, 4), True, b"x"]
    shares = compose("label", prototypes=labels, mass=np.full(7, 1 / 7), source=labels)
    assert len(shares.values) == 7
    assert shares.source.sum() == pytest.approx(1)
