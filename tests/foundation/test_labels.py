from __future__ import annotations

import math

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.labels import as_labels, numbered


@pytest.mark.parametrize(
    ("labels", "names", "positions"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (np.array([3, 1, 3]), (1, 3), [1, 0, 1]),
        (("b", 1, "b"), ("b", 1), [0, 1, 0]),
    ],
)
def test_labels_become_positions(labels, names, positions):
    found, numbers = numbered(labels, 3, "groups")
    assert found == names
    assert numbers.tolist() == positions


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("abc", "groups='abc' is not a sequence"),
        (3, "groups=3 is not a sequence"),
        ([1, 2], "groups has 2 labels for 3 rows. Pass one label per row."),
        ([[1], [2], [3]], "labels that cannot be hashed"),
        ([1.0, math.nan, 2.0], r"groups\[1\]=nan is missing"),
        (["a", "b", None], r"groups\[2\]=None is missing"),
    ],
)
def test_invalid_labels_raise(labels, message):
    with pytest.raises(InvalidInput, match=message):
        numbered(labels, 3, "groups")


def test_labels_are_kept_unchanged():
    assert as_labels([1, 2]).dtype.kind == "i"
    assert as_labels(["a", 1]).tolist() == ["a", 1]
    assert as_labels([(1, 2), (3, 4)]).tolist() == [(1, 2), (3, 4)]
