import numpy as np
import pandas as pd
import pytest

from protobandit import InvalidInput
from protobandit.result.report.exhibit import RowDisplay, picked

THREE = np.arange(3)


def test_the_number_of_rows_is_what_names_labels_or_n_say():
    assert RowDisplay(kind="texts", take=list, names="abc").n_rows == 3
    assert RowDisplay(kind="texts", take=list, labels=[1, 2]).n_rows == 2
    assert RowDisplay(kind="texts", take=list, n=7).n_rows == 7
    assert RowDisplay(kind="texts", take=list).n_rows is None


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"kind": "sounds", "take": list}, "kind='sounds'"),
        ({"kind": "texts", "take": 3}, "take is a int"),
        ({"kind": "texts", "take": list, "names": "ab", "labels": "abc"}, "2 and 3 rows"),
    ],
)
def test_a_bad_exhibit_is_refused(fields, says):
    with pytest.raises(InvalidInput, match=says):
        RowDisplay(**fields)


@pytest.mark.parametrize(
    ("kind", "rows", "says"),
    [
        ("images", np.zeros((3, 2, 2)), "float64 of shape"),
        ("images", np.zeros((2, 2, 2), dtype=np.uint8), r"\(2, 2, 2\) for 3 images"),
        ("images", np.zeros((3, 2, 2, 4), dtype=np.uint8), "height, width, 3"),
        ("images", np.zeros((3, 0, 2), dtype=np.uint8), "shape"),
        ("texts", ["a"], "1 texts for 3 rows"),
        ("texts", "abc", "texts for 3 rows"),
        ("records", [1, 2, 3], "a list for records"),
        ("records", {}, "without columns"),
        ("records", {"x": [1, 2]}, "2 values of column 'x' for 3 rows"),
    ],
)
def test_what_take_returns_is_checked(kind, rows, says):
    with pytest.raises(InvalidInput, match=says):
        RowDisplay(kind=kind, take=lambda ids: rows).rows(THREE)


def test_values_are_picked_by_place_from_anything():
    ids = np.array([2, 0])
    assert picked(None, ids) is None
    assert picked("abc", ids) == ["c", "a"]
    assert picked(pd.Series([1, 2, 3], index=[9, 8, 7]), ids) == [3, 1]
