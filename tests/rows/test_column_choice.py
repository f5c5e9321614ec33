"""Which columns are compared, and what is said about the others."""

from __future__ import annotations

import pytest

from protobandit import InvalidInput
from protobandit.rows.column_choice import (
    COMMAND_LINE,
    FRAME,
    ColumnDescription,
    ColumnRequest,
    choose_columns,
    described,
    owners_of,
)

PLAIN = {"id": "number", "age": "number", "income": "number"}
VECTORS = {"id": "number", "title": "text", "when": "other", "v": "vector"}


def choose(kinds, texts=(), **asked):
    columns = [ColumnDescription(name, kind, f"type of {name}") for name, kind in kinds.items()]
    asked = {"owner": "source: a.csv", "options": COMMAND_LINE, **asked}
    return choose_columns(columns, ColumnRequest(**asked), lambda name: texts)


def refusal(*arguments, **asked):
    with pytest.raises(InvalidInput) as caught:
        choose(*arguments, **asked)
    return str(caught.value)


def test_all_numbers_are_compared():
    choice = choose(PLAIN)
    assert choice.compared == ("id", "age", "income")
    assert choice.left_out == {}
    assert described(choice) == "Compared columns: 'id', 'age', 'income'."


def test_vectors_are_compared_alone():
    choice = choose(VECTORS)
    assert choice.compared == ("v",)
    assert choice.left_out == dict.fromkeys(["id", "title", "when"], "beside the vectors of 'v'")
    assert described(choice) == (
        "Compared columns: 'v'. Left out: 'id', 'title', 'when' (beside the vectors of 'v')."
    )


def test_named_columns_are_compared_whatever_stands_beside_them():
    assert choose(VECTORS, columns=["id", "v"]).compared == ("id", "v")
    assert choose(VECTORS, columns=["v", "id"]).compared == ("v", "id")


def test_texts_as_categories_are_compared_with_vectors():
    kinds = {"v": "vector", "city": "text", "n": "number"}
    assert choose(kinds, has_categories=True).compared == ("v", "city", "n")


def test_vectors_that_are_excluded_do_not_count():
    choice = choose(VECTORS, exclude=["v", "title,when"])
    assert choice.compared == ("id",)
    assert set(choice.left_out.values()) == {"named by --exclude"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["age,income"], ("age", "income")),
        (["age", "income"], ("age", "income")),
        (["income, age"], ("income", "age")),
        (["i*"], ("id", "income")),
        (["i*", "id,age"], ("id", "income", "age")),
    ],
)
def test_lists_globs_and_repetitions(words, expected):
    choice = choose(PLAIN, columns=words)
    assert choice.compared == expected
    assert set(choice.left_out) == set(PLAIN) - set(expected)
    assert set(choice.left_out.values()) <= {"not named by --columns"}


def test_names_with_commas_brackets_and_stars_are_names_first():
    kinds = dict.fromkeys(["a,b", "x[0]", "c*", "cc", "", "ü 😀"], "number")
    words = ["a,b", "x[0],c*", "", "ü 😀"]
    assert choose(kinds, columns=words).compared == ("a,b", "x[0]", "c*", "", "ü 😀")


def test_a_name_wins_over_another_use_but_a_glob_does_not():
    roles = {"id": "row ids, --id"}
    assert choose(PLAIN, roles=roles).left_out == roles
    assert choose(PLAIN, roles=roles, columns=["*"]).left_out == roles
    assert choose(PLAIN, roles=roles, columns=["id,age"]).compared == ("id", "age")
    assert choose(PLAIN, roles=roles, columns=["*", "id"]).compared == tuple(PLAIN)


def test_exclude_wins_over_columns():
    choice = choose(PLAIN, columns=["*"], exclude=["in*"])
    assert choice.compared == ("id", "age")
    assert choice.left_out == {"income": "named by --exclude"}


def test_row_numbers_of_pandas_are_compared_only_on_request():
    kinds = {"Unnamed: 0": "number", "x": "number"}
    assert choose(kinds).left_out == {"Unnamed: 0": "row numbers written by pandas"}
    assert choose(kinds, columns=["Unnamed: 0"]).compared == ("Unnamed: 0",)


def test_a_pattern_that_matches_nothing_raises():
    assert refusal(PLAIN, columns=["agee"]).endswith(
        "has no column 'agee', and none that matches it as a pattern. Did you mean 'age'? It has "
        "'id', 'age', 'income'."
    )
    assert "has no column 'x*'" in refusal(PLAIN, exclude=["x*"])
    assert "has no column ','" in refusal(PLAIN, columns=[","])


def test_no_column_left():
    assert refusal(PLAIN, exclude=["*"]).endswith("Remove columns from --exclude.")
    roles = dict.fromkeys(PLAIN, "row ids, --id")
    assert refusal(PLAIN, roles=roles).endswith("Pass --columns NAME to name some.")
    assert refusal({}) == "source: a.csv has no columns. Pass a table with at least one."


# -- columns that cannot be compared --------------------------------------------------------------

MIXED = {"x": "number", "city": "text", "when": "other"}


def test_the_error_names_the_columns_at_fault_and_one_option():
    assert refusal(MIXED) == (
        "source: a.csv has column(s) that are not numbers: 'city' (type of city), 'when' (type of "
        "when). Pass --exclude city,when to leave them out."
    )


def test_with_categories_texts_are_not_at_fault():
    message = refusal(MIXED, has_categories=True)
    assert "city" not in message
    assert message.endswith("Pass --exclude when to leave them out.")


def test_texts_that_repeat_are_recommended_as_categories():
    kinds = {"x": "number", "city": "text"}
    message = refusal(kinds, ["a", "b"] * 10)
    assert message.endswith("Pass --categories one-hot to compare them as categories.")
    assert message.count("--") == 1
    assert refusal(kinds, [f"name {i}" for i in range(20)]).endswith(
        "Pass --exclude city to leave them out."
    )


def test_each_interface_has_its_own_words():
    asked = {"columns": None, "owner": "source"}
    message = refusal(MIXED, **asked, options=FRAME)
    assert message.endswith("Pass the frame without ['city', 'when'] to leave them out.")
    assert "--" not in message
    odd = {"x": "number", "a b": "other", "c,d": "other"}
    assert "Pass --exclude 'a b' --exclude c,d to" in refusal(odd)


def test_many_columns_at_fault_are_not_listed_twice():
    kinds = {"x": "number", **dict.fromkeys(map(str, range(30)), "other")}
    message = refusal(kinds)
    assert "'4' (type of 4), … (30 in all). Pass --columns NAME to" in message
    assert len(message) < 250


def test_a_table_of_texts():
    kinds = {"name": "text", "when": "other"}
    advice = "Pass --columns name to compare the texts of one column."
    assert refusal(kinds, ["a", "b"]).endswith(advice)
    assert choose(kinds, columns=["name"]).compared == ("name",)
    message = refusal(kinds, ["a", "b"], columns=None, options=FRAME)
    assert message.endswith("Pass frame['name'] to compare the texts of one column.")
    assert refusal({"when": "other"}).endswith("Pass a table with columns of numbers.")


def test_features_of_vectors_belong_to_their_column():
    assert owners_of(["a", "v[0]", "v[1]"], ["v", "a", "b"]) == ["a", "v"]
    assert owners_of(["v[0]"], ["v[0]", "v"]) == ["v[0]"]
    assert owners_of(["c", "v[0]"], ["v", "a"]) is None
