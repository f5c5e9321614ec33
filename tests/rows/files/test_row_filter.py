"""Conditions on rows: what they mean, and what is said about those that cannot be read."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from protobandit import InvalidInput
from protobandit.data import open_rows
from protobandit.rows.files.row_filter import parse_filter

TABLE = pa.table(
    {
        "a": pa.array([1, 2, None, 4]),
        "x": [0.5, 1.5, 2.5, 3.5],
        "s": ["p", "q", None, "it's"],
        "day": [dt.date(2024, 1, i + 1) for i in range(4)],
        "when": [dt.datetime(2024, 1, i + 1) for i in range(4)],
        "time": [dt.time(i) for i in range(4)],
        "flag": [True, False, None, True],
        "two words": [1, 2, 3, 4],
        "price": [Decimal("1.50")] * 3 + [Decimal("2.50")],
        "kind": pa.array(["u", "v", "u", "v"]).dictionary_encode(),
        "large": pa.array([2**60, 2**60 + 1, 1, 2]),
        "small": pa.array([1, 2, 3, 4], pa.uint8()),
        "v": [[1.0]] * 3 + [None],
        "and": [1, 2, 3, 4],
        "a.b": [1, 2, 3, 4],
        "ü": [1, 2, 3, 4],
    }
)


def rows(condition):
    parsed = parse_filter(condition, TABLE.schema, owner="source: t", option="--where")
    numbered = TABLE.append_column("row", pa.array(range(4)))
    return numbered.filter(parsed.expression).column("row").to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a > 1", [1, 3]),
        ("a>=2 and not x<2", [3]),
        ("x > 3 or a = 1", [0, 3]),
        ("a = 1 or x > 1 and x < 2", [0, 1]),
        ("(a = 1 or x > 1) and x < 2", [0, 1]),
        ("not (a = 1 or x > 1)", []),
        ("not a > 1", [0]),
        ("A1 OR", None),
        ("a in (1, 4, 9)", [0, 3]),
        ("a in [1, 2.5]", [0]),
        ("a not in (1)", [1, 3]),
        ("small in (1, 300)", [0]),
        ("small < 300 AND small <> 2", [0, 2, 3]),
        ("s == 'p' or s = \"q\"", [0, 1]),
        ("s == 'it''s'", [3]),
        ('s == "it\'s"', [3]),
        (r"s == 'it\'s'", [3]),
        ("s < 'q'", [0, 3]),
        ("s is null", [2]),
        ("s is not null and x > 1", [1, 3]),
        ("v is null", [3]),
        ("1 < a <= 4", [1, 3]),
        ("2 == a", [1]),
        ("a > x", [0, 1, 3]),
        ("flag", [0, 3]),
        ("not flag", [1]),
        ("flag == false", [1]),
        ("`two words` >= 3", [2, 3]),
        ("`and` = 1", [0]),
        ("a.b = 2", [1]),
        ("ü = 2", [1]),
        ("day >= '2024-01-03'", [2, 3]),
        ("when < '2024-01-02 12:00'", [0, 1]),
        ("time > '01:30:00'", [2, 3]),
        ("price > 2", [3]),
        ("price == 1.5", [0, 1, 2]),
        ("kind in ('u', 'w')", [0, 2]),
        ("large == 1152921504606846977", [1]),
        ("a < 99999999999999999999999", [0, 1, 3]),
        ("x > -1e0 and x < +.6", [0]),
        ("\ta\n=\n1 ", [0]),
    ],
)
def test_rows_for_which_a_condition_is_true(condition, expected):
    if expected is None:
        with pytest.raises(InvalidInput, match="has no column 'A1'"):
            rows(condition)
    else:
        assert rows(condition) == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", "a column or a value is expected at character 1"),
        ("a >", "a column or a value is expected at character 4"),
        ("a > 1 and", "a column or a value is expected at character 10"),
        ("(a > 1", "')' is expected at character 7"),
        ("a > 1)", "'and' or 'or' is expected at character 6"),
        ("a > 1 x < 2", "'and' or 'or' is expected at character 7"),
        ("a", "a comparison such as == is expected after column 'a' (int64) at character 2"),
        ("a > 1 & x < 2", "'&' is not supported; write 'and' at character 7"),
        ("a > 1 || x < 2", "'|' is not supported; write 'or'"),
        ("~flag", "'~' is not supported; write 'not'"),
        ("s == 'open", "the ' is not closed at character 6"),
        ("`open > 1", "the ` is not closed at character 1"),
        ("a > 1; x", "';' is not expected at character 6"),
        ("a > 0x10", "'0' is not expected"),
        ("a not 1", "'in' is expected after 'not'"),
        ("a in 1", "a list such as ('a', 'b') is expected after 'in'"),
        ("a in ()", "a column or a value is expected"),
        ("a in (x)", "only literals are allowed in a list"),
        ("1 in (1)", "a column is expected before 'in'"),
        ("a is 3", "'null' is expected"),
        ("a == null", "null is compared with 'is null' or 'is not null'"),
        ("'x'", "'x' is not a condition"),
        ("1 == 1", "it names no column"),
        ("a == 'x'", "column 'a' (int64) cannot be compared with 'x' at character 6"),
        ("s > 3", "column 's' (string) cannot be compared with 3; write '3'"),
        ("a == true", "column 'a' (int64) cannot be compared with True"),
        ("flag > 1", "column 'flag' (bool) cannot be compared with 1"),
        ("a > flag", "column 'a' (int64) cannot be compared with column 'flag' (bool)"),
        ("a > s", "cannot be compared with column 's'"),
        ("v > 1", "column 'v' (list<"),
        ("v == v", "cannot be compared with column 'v'"),
        ("day > 'soon'", "column 'day' (date32[day]) cannot be compared with 'soon': Failed to"),
        ("nope > 1", "source: t has no column 'nope'."),
        ("kin == 'u'", "Did you mean 'kind'?"),
        ("s == p", "has no column 'p'. It has 'a', 'x', 's'"),
        ("__import__('os')", "has no column '__import__'"),
        ("(" * 200 + "a > 1" + ")" * 200, "more than 100 parentheses or 'not' are nested"),
        ("not " * 5000 + "flag", "more than 100 parentheses or 'not' are nested"),
    ],
)
def test_what_cannot_be_read_raises_and_shows_the_place(condition, message):
    with pytest.raises(InvalidInput) as caught:
        rows(condition)
    assert message in str(caught.value)
    assert str(caught.value).startswith("--where")


def test_another_type_than_a_text_raises():
    with pytest.raises(InvalidInput, match="where=3 is not a text"):
        parse_filter(3, TABLE.schema, owner="t", option="where")


# -- files ----------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    table = pa.table({"x": [float(i) for i in range(50)], "kind": ["a", "b"] * 25})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=7)
    return tmp_path / "rows.parquet"


def test_only_matching_rows_are_read_and_keep_their_numbers(path):
    found = open_rows(path, columns="x", where="kind == 'b' and x >= 10")
    expected = list(range(11, 50, 2))
    assert found.rows.ravel().tolist() == expected
    assert found.numbers.tolist() == expected
    assert found.column("kind").tolist() == ["b"] * 20
    assert found.records([1])["x"] == [13.0]
    assert found.remark.endswith("rows.parquet with kind == 'b' and x >= 10.")
    assert "The source has 20 of the 50 rows of" in found.remark


def test_a_sample_is_drawn_from_the_matching_rows(path, tmp_path):
    options = {"columns": "x", "sample": 5, "cache": tmp_path, "name": "target"}
    found = open_rows(path, where="x < 20", **options)
    assert len(found) == 5
    assert found.rows.max() < 20
    assert "a sample of 5 of 20 of the 50 rows of" in found.remark
    other = open_rows(path, where="x >= 20", **options)  # another sample in the same cache
    assert other.rows.min() >= 20


def test_no_matching_row_raises(path):
    with pytest.raises(InvalidInput, match=r"has no row for which where 'x > 99' is true \(50 "):
        open_rows(path, columns="x", where="x > 99")


def test_types_with_which_pyarrow_does_not_compute(tmp_path):
    texts = pa.array(["p", "q", "r"], pa.string_view())
    halves = pa.array([0.5, 1.5, 2.5], pa.float16())
    table = pa.table({"x": [1.0, 2.0, 3.0], "s": texts, "half": halves})
    pyarrow.feather.write_feather(table, tmp_path / "rows.arrow", compression="uncompressed")
    found = open_rows(tmp_path / "rows.arrow", columns="x", where="s != 'p' and half < 2")
    assert found.rows.tolist() == [[2]]
    assert found.records([0]) == {"x": [2.0], "s": ["q"], "half": [1.5]}


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_text_tables(tmp_path, name):
    lines = {"rows.csv": "x,t\n1,a\n2,b\n3,b\n", "rows.jsonl": '{"x":1}\n{"x":2}\n{"x":3}\n'}
    (tmp_path / name).write_text(lines[name])
    assert open_rows(tmp_path / name, columns="x", where="x > 1").rows.tolist() == [[2], [3]]
