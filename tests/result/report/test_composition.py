"""Labels as text, of any type or missing; shares by label, and label agreement."""

import numpy as np
import pandas as pd
import pytest

from protobandit.result.report.composition import (
    MOST_VALUES,
    compose,
    label_agreement,
    label_texts,
)

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
def test_equal_labels_of_different_types_have_equal_text(labels):
    assert label_texts(labels) == ["1", "2"]


def test_numbers_with_a_fraction_are_kept():
    assert label_texts([1.5, -0.0, 1e300, float("inf"), True]) == [
        "1.5",
        "0",
        "1e+300",
        "inf",
        "True",
    ]


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING)
def test_missing_labels_have_a_text(missing):
    assert label_texts([missing, "a"]) == ["(none)", "a"]
    assert label_texts(pd.Series([missing, "a"], dtype=object)) == ["(none)", "a"]


def test_integers_read_as_floats_equal_integers():
    """A column of integers with a missing value is read as floats."""
    shares = compose(
        "label", prototypes=[1, 2], mass=np.array([0.4, 0.6]), source=[1.0, 2.0, np.nan]
    )
    assert set(shares.values) == {"1", "2", "(none)"}
    found = label_agreement([1.0, 2.0, 1.0, 2.0], [1, 2], np.array([0, 1, 1, 1]), EVEN)
    assert found.share == pytest.approx(0.75)


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING)
def test_missing_labels_agree_with_nothing(missing):
    own = ["a", missing, "b", "b"]
    found = label_agreement(
        own, ["a", missing], np.array([0, 1, 1, 0]), np.array([0.4, 0.3, 0.2, 0.1])
    )
    assert found.share == pytest.approx(0.4 / 0.7)
    assert found.n_left_out == 1


def test_agreement_requires_labels():
    assert label_agreement([None] * 4, ["a"], np.zeros(4, dtype=int), EVEN) is None


def test_a_label_with_the_text_of_missing_ones_is_a_label():
    found = label_agreement(["(none)", "(none)"], ["(none)", None], np.array([0, 1]), EVEN[:2] * 2)
    assert found == (0.5, 0)


def test_labels_may_have_different_types():
    labels = [1, "one", None, 2.0, (3, 4), True, b"x"]
    shares = compose("label", prototypes=labels, mass=np.full(7, 1 / 7), source=labels)
    assert len(shares.values) == 7
    assert shares.source.sum() == pytest.approx(1)


def test_few_numbers_are_ascending_and_missing_labels_have_a_text():
    shares = compose(
        "label", prototypes=[10, 2], mass=np.array([0.4, 0.6]), source=[10, 2, 2, 2, 10]
    )
    assert shares.values == ("2", "10")
    named = compose("label", prototypes=[None], mass=np.ones(1), source=[None, float("nan"), "a"])
    assert named.values == ("(none)", "a")


def test_the_rarest_of_many_values_are_summed_up():
    labels = [f"v{i}" for i in range(100) for _ in range(100 - i)]
    shares = compose("label", prototypes=["v0", "v99"], mass=np.array([0.3, 0.7]), source=labels)
    assert len(shares.values) == MOST_VALUES
    assert shares.values[-1] == f"{100 - MOST_VALUES + 1} others"
    assert shares.source.sum() == pytest.approx(1)
    assert shares.mass.sum() == pytest.approx(1)
    assert shares.mass[-1] == pytest.approx(0.7)
    assert shares.counts.sum() == 2
