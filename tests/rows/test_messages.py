"""Parts of error messages."""

from __future__ import annotations

import pytest

from protobandit.rows.messages import reason_of, shortened, suggestion


@pytest.mark.parametrize(
    ("n", "expected"), [(0, ""), (1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2, … (4 in all)")]
)
def test_long_lists_are_shortened(n, expected):
    assert shortened(map(str, range(n)), 3) == expected


def test_similar_names_are_suggested():
    assert suggestion("lable", ["id", "label"]) == " Did you mean 'label'?"
    assert suggestion("lable", ["id"]) == ""


def test_the_reason_is_one_short_line():
    assert reason_of(ValueError("first line.\nsecond")) == "first line"
    assert reason_of(ValueError()) == "ValueError"
    assert len(reason_of(ValueError("x" * 500))) == 160


def test_similar_names_are_found_whatever_their_capitals():
    assert suggestion("Euclidean", ["euclidean", "seuclidean"]) == " Did you mean 'euclidean'?"
    assert suggestion("age", ["Age"]) == " Did you mean 'Age'?"
    assert suggestion(3, ["3"]) == ""
