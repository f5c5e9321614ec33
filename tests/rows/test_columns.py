"""Columns: their rows, their checks and their missing values."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit import InvalidInput
from protobandit.rows.columns import Columns, require_no_missing, text_of
from protobandit.rows.convert import as_rows

MIXED = Columns(
    numbers=np.array([[31, 1.5], [np.nan, 1.75], [45, np.nan]]),
    names=("age", "height"),
    categories={"colour": ["red", None, "blue"]},
)


def test_take_keeps_rows_together():
    columns = MIXED
    for where in (slice(1, 3), np.array([1, 2])):
        some = columns.take(where)
        np.testing.assert_array_equal(some.numbers, columns.numbers[1:])
        assert some.categories["colour"].tolist() == [None, "blue"]
        assert some.names == columns.names
        assert len(some) == 2


def test_take_of_unnamed_columns_stays_unnamed():
    assert (
        not Columns(numbers=np.eye(3), names=tuple("012"), is_named=False)
        .take(slice(0, 2))
        .is_named
    )


def test_columns_without_categories_become_rows():
    columns = Columns(numbers=np.eye(3), names=("a", "b", "c"))
    np.testing.assert_array_equal(as_rows(columns, name="source").take(slice(0, 3)), np.eye(3))


def test_columns_with_categories_do_not_become_rows():
    with pytest.raises(InvalidInput, match=r"columns of categories \('colour'\).*Preparation"):
        as_rows(MIXED, name="source")


BAD_COLUMNS = {
    "one dimension": ({"numbers": np.arange(3.0), "names": ("a",)}, r"shape \(3,\)"),
    "texts": ({"numbers": np.array([["a"]]), "names": ("a",)}, "type <U1"),
    "names": ({"numbers": np.eye(2), "names": ("a",)}, "1 entries but numbers has 2 columns"),
    "twice": (
        {"numbers": np.eye(2), "names": ("a", "b"), "categories": {"a": ["x", "y"]}},
        "'a' more than once",
    ),
    "lengths": (
        {"numbers": np.eye(2), "names": ("a", "b"), "categories": {"c": ["x"]}},
        r"categories\['c'\] has 1 values but numbers has 2 rows",
    ),
}


@pytest.mark.parametrize(("fields", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_inconsistent_columns_raise(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Columns(**fields)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (None, None),
        (np.nan, None),
        (np.datetime64("NaT"), None),
        (31.0, "31"),
        (0.5, "0.5"),
        (True, "True"),
        (np.int8(3), "3"),
    ],
)
def test_values_of_categories_are_texts(value, text):
    assert text_of(value) == text


def test_missing_values_are_counted_by_column():
    with pytest.raises(InvalidInput, match=r"missing values \(3 .*\): 1 in 'age', 1 in 'h"):
        require_no_missing(MIXED, name="rows")
    require_no_missing(MIXED.take(slice(0, 1)), name="rows")


def test_columns_are_labelled_by_name_or_position():
    assert MIXED.label("age") == "'age'"
    assert Columns(numbers=np.eye(1), names=("0",), is_named=False).label("0") == "column 0"
