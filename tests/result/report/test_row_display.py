import numpy as np
import pandas as pd
import pytest

from protobandit import InvalidInput
from protobandit.result.report.row_display import RowDisplay, values_at

THREE = np.arange(3)


def test_the_number_of_rows_follows_from_names_labels_or_n():
    assert RowDisplay(kind="texts", take=list, names="abc").n_rows == 3
    assert RowDisplay(kind="texts", take=list, labels=[1, 2]).n_rows == 2
    assert RowDisplay(kind="texts", take=list, n=7).n_rows == 7
    assert RowDisplay(kind="texts", take=list).n_rows is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "sounds", "take": list}, "kind='sounds'"),
        ({"kind": "texts", "take": 3}, "take is a int"),
        ({"kind": "texts", "take": list, "names": "ab", "labels": "abc"}, "2 and 3 rows"),
    ],
)
def test_bad_arguments_raise(fields, message):
    with pytest.raises(InvalidInput, match=message):
        RowDisplay(**fields)


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        ("images", np.zeros((3, 2, 2)), "float64 of shape"),
        ("images", np.zeros((2, 2, 2), dtype=np.uint8), r"\(2, 2, 2\) for 3 images"),
        ("images", np.zeros((3, 2, 2, 4), dtype=np.uint8), "height, width, 3"),
        ("images", np.zeros((3, 0, 2), dtype=np.uint8), "shape"),
        ("texts", ["a"], "1 texts for 3 rows"),
        ("texts", "abc", "a single str for 3 rows"),
        ("records", [1, 2, 3], "a list for records"),
        ("records", {}, "no columns"),
        ("records", {"x": [1, 2]}, "2 values of column 'x' for 3 rows"),
    ],
)
def test_results_of_take_are_checked(kind, rows, message):
    with pytest.raises(InvalidInput, match=message):
        RowDisplay(kind=kind, take=lambda ids: rows).rows(THREE)


def test_values_are_taken_by_position():
    ids = np.array([2, 0])
    assert values_at(None, ids) is None
    assert values_at("abc", ids) == ["c", "a"]
    assert values_at(pd.Series([1, 2, 3], index=[9, 8, 7]), ids) == [3, 1]
