from __future__ import annotations

import csv

import numpy as np
import pytest

from protobandit.interfaces.jobs.spreadsheets import (
    formula_columns,
    is_formula,
    without_formulas,
)
from protobandit.interfaces.jobs.table_formats import table_bytes

TABLE = {
    "rank": np.arange(2),
    "=name": ["=1+1", "plain"],
    "text": ["-5", "@SUM(A1)"],
    "number": [-1.5, None],
    "array": np.array(["+cmd|x", "-1e3"]),
}


@pytest.mark.parametrize("value", ["=1", "+a", "-a", "@a", "\tx", "\rx", "\nx", "-1+1", "＝1"])
def test_texts_that_a_spreadsheet_evaluates(value):
    assert is_formula(value)


@pytest.mark.parametrize("value", ["", "a=1", "-1", "+2.5", "-1e-3", "-inf", -1, 1.5, None, "'=1"])
def test_texts_and_numbers_that_it_does_not_evaluate(value):
    assert not is_formula(value)


def test_formulas_are_counted_by_column():
    found = formula_columns(table_bytes(TABLE, "csv"))
    assert found == {"=name": 2, "text": 1, "array": 1}


def test_formulas_are_quoted_and_nothing_else():
    content = table_bytes(without_formulas(TABLE), "csv")
    assert formula_columns(content) == {}
    header, first, second = csv.reader(content.decode().splitlines())
    assert header == ["rank", "'=name", "text", "number", "array"]
    assert first == ["0", "'=1+1", "-5", "-1.5", "'+cmd|x"]
    assert second == ["1", "plain", "'@SUM(A1)", "", "-1e3"]
