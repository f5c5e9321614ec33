"""Warnings about ids, labels, unequal scales and many categories among the compared columns."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.run_warning import WarningKind
from protobandit.rows.column_choice import COMMAND_LINE
from protobandit.rows.column_warnings import MOST_ROWS, column_warnings, some_rows
from protobandit.rows.columns import Columns

N = 200
RANDOM, OTHER = np.random.default_rng(0), np.random.default_rng(1)


def warnings_of(columns=None, categories=None, *, is_scaled=False, **numbers):
    rows = np.column_stack([*numbers.values()]) if numbers else np.empty((N, 0))
    table = Columns(numbers=rows, names=tuple(numbers), categories=categories or {})
    return column_warnings(
        table, columns or table.features, is_scaled=is_scaled, options=COMMAND_LINE
    )


def test_ordinary_columns_cause_no_warning():
    x, y = RANDOM.normal(size=(2, N))
    assert warnings_of(x=x, y=30 * y, z=RANDOM.integers(0, 9, N)) == ()
    assert warnings_of(x=x, constant=np.full(N, 1e9)) == ()


def test_an_all_distinct_column_of_integers_looks_like_ids():
    (warning,) = warnings_of(user=np.arange(N)[::-1], x=50 * RANDOM.normal(size=N))
    assert warning.kind is WarningKind.ID_COLUMN
    assert "'user' holds a different whole number in each of the 200 rows" in warning.message
    assert warning.message.endswith("pass --exclude user.")


@pytest.mark.parametrize(
    "values",
    [
        np.arange(N) + 0.5,
        np.arange(N) // 2,
        np.where(np.arange(N) < N - 1, np.arange(N), 0.5),
    ],
    ids=["fractions", "repeated", "one fraction at the end"],
)
def test_other_columns_do_not_look_like_ids(values):
    assert warnings_of(a=values, x=50 * RANDOM.normal(size=N)) == ()


def test_ids_are_found_among_missing_values_but_not_in_few_rows_or_alone():
    gaps = np.where(np.arange(N) % 5 == 0, np.nan, np.arange(N))
    assert len(warnings_of(user=gaps, x=50 * RANDOM.normal(size=N))) == 1
    assert warnings_of(user=np.arange(9), x=RANDOM.normal(size=9)) == ()
    assert warnings_of(user=np.arange(N)) == ()


@pytest.mark.parametrize("name", ["label", "Class", " target "])
def test_few_whole_numbers_under_a_usual_name_look_like_labels(name):
    classes = np.where(np.arange(N) % 7 == 0, np.nan, np.arange(N) % 3)
    (warning,) = warnings_of(**{name: classes, "x": OTHER.normal(size=N)})
    assert warning.kind is WarningKind.LABEL_COLUMN
    assert f"{name!r} seems to hold class labels" in warning.message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("label", OTHER.normal(size=N)),
        ("label", np.arange(N) % 150),
        ("label", np.ones(N)),
        ("rooms", np.arange(N) % 3),
    ],
    ids=["measurements", "many numbers", "one number", "another name"],
)
def test_other_columns_do_not_look_like_labels(name, values):
    assert warnings_of(**{name: values, "x": 50 * OTHER.normal(size=N)}) == ()


def test_labels_alone_or_in_few_rows_cause_no_warning():
    assert warnings_of(label=np.arange(N) % 3) == ()
    assert warnings_of(label=np.arange(9) % 3, x=OTHER.normal(size=9)) == ()


def test_a_column_looks_like_ids_or_like_labels_and_not_like_both():
    (warning,) = warnings_of(label=np.arange(30), x=OTHER.normal(size=30))
    assert warning.kind is WarningKind.ID_COLUMN


def test_very_unequal_scales():
    (warning,) = warnings_of(age=RANDOM.normal(size=N), income=1000 * RANDOM.normal(size=N))
    assert warning.kind is WarningKind.UNEQUAL_SCALES
    assert "so that 'age' hardly counts. Pass --standardize" in warning.message
    assert "'income' is 1e+03" in warning.message


def test_equal_scales_by_the_metric_or_the_preparation_cause_no_warning():
    found = warnings_of(a=RANDOM.normal(size=N), b=1e5 * RANDOM.normal(size=N), is_scaled=True)
    assert found == ()


def test_a_column_of_vectors_has_one_scale():
    parts = {f"v[{at}]": 10.0**at * RANDOM.normal(size=N) for at in range(4)}
    assert warnings_of(["v"], **parts) == ()
    assert warnings_of(["v", "x"], x=100 * RANDOM.normal(size=N), **parts) == ()
    (warning,) = warnings_of(["v", "x"], x=RANDOM.normal(size=N), **parts)
    assert "that of 'x' 1, so that 'x' hardly counts" in warning.message


def test_categories_have_a_scale_too():
    texts = {"city": np.array(["a", "b"] * (N // 2), dtype=object)}
    (warning,) = warnings_of(categories=texts, income=1000 * RANDOM.normal(size=N))
    assert "'city' hardly counts" in warning.message


@pytest.mark.parametrize(
    ("n_levels", "n_rows", "is_many"),
    [(101, 1000, True), (100, 1000, False), (15, 20, True), (5, 6, False), (10, 40, False)],
)
def test_many_categories(n_levels, n_rows, is_many):
    texts = np.array([f"t{i % n_levels}" for i in range(n_rows)], dtype=object)
    table = Columns(numbers=np.empty((n_rows, 0)), names=(), categories={"name": texts})
    found = column_warnings(table, ("name",), is_scaled=True, options=COMMAND_LINE)
    assert [each.kind for each in found] == [WarningKind.MANY_CATEGORIES] * is_many
    if is_many:
        assert found[0].message.endswith("If they hold names or ids, pass --exclude name.")


def test_some_rows_are_spread_over_all():
    assert some_rows(5, 3).tolist() == [0, 1, 2, 3, 4]
    assert len(some_rows(MOST_ROWS, 10**4)) == 256  # wide rows would need much memory
    rows = some_rows(10 * MOST_ROWS, 3)
    assert len(rows) == MOST_ROWS
    assert (rows[0], rows[-1]) == (0, 10 * MOST_ROWS - 1)
    assert np.diff(rows).min() > 0
