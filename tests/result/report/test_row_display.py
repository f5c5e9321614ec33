import numpy as np
import pandas as pd
import pytest

from protobandit import InvalidInput
from protobandit.result.report.row_display import (
    RowDisplay,
    display_order,
    target_row_names,
    values_at,
)
from protobandit.result.report.sample import Nearest

THREE = np.arange(3)
NEAREST = Nearest(np.array([1500, 3]), np.array([0, 1]), np.array([0.5, 0.25]))


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


def names(*of_3_and_1500):
    given = ["other"] * 2000
    given[3], given[1500] = of_3_and_1500
    return target_row_names(RowDisplay(kind="texts", take=list, names=given), NEAREST).names


def test_names_are_in_the_order_given():
    assert names("third", "late") == ["late", "third"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, "", "  "])
def test_a_row_without_a_name_has_its_number(missing):
    assert names("third", missing) == ["row 1,500", "third"]


def test_integer_names_read_as_floats_are_integers():
    assert names(7.0, float("nan")) == ["row 1,500", "7"]


def test_rows_have_their_nearest_prototypes():
    named = target_row_names(RowDisplay(kind="texts", take=list), NEAREST)
    assert named.names is None
    assert named.nearest.tolist() == [0, 1]
    assert named.distances.tolist() == [0.5, 0.25]


def test_the_order_of_columns():
    columns = {"one": [1, 1], "b": [1, 2], "text": ["x", "y"], "a": [3, 4], "zero": [0, 0]}
    order = ["text", "a", "b", "one", "zero"]
    assert display_order(columns, ["text"], ["a", "b", "other"]) == order
    assert display_order(columns, ["zero"], ["one", "a"]) == ["zero", "a", "b", "text", "one"]
    assert display_order(columns, [], []) == ["b", "text", "a", "one", "zero"]
