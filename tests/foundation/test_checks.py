from __future__ import annotations

import math

import numpy as np
import pytest

from protobandit.foundation.checks import (
    is_integer,
    is_missing,
    is_number,
    optional_count,
    require_choice,
    require_integer,
    require_number,
    rounded_up,
    significant,
    weights_or_ones,
)
from protobandit.foundation.errors import InvalidInput


@pytest.mark.parametrize("value", [0, 1, -3, np.int32(4), np.uint8(2)])
def test_integers(value):
    assert is_integer(value)
    assert is_number(value)


@pytest.mark.parametrize("value", [True, np.bool_(True), "1", None, [1]])
def test_neither_integers_nor_numbers(value):
    assert not is_integer(value)
    assert not is_number(value)


@pytest.mark.parametrize("value", [0.5, np.float32(2), math.nan, math.inf])
def test_numbers_that_are_not_integers(value):
    assert is_number(value)
    assert not is_integer(value)


@pytest.mark.parametrize("value", [None, math.nan, np.nan, np.datetime64("NaT")])
def test_missing(value):
    assert is_missing(value)


def test_missing_of_pandas():
    pandas = pytest.importorskip("pandas")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)


@pytest.mark.parametrize("value", [0, "", "nan", 0.0, np.array([1.0, 2.0])])
def test_not_missing(value):
    assert not is_missing(value)


def test_require_integer():
    require_integer(1, "k")
    require_integer(0, "k", at_least=0)
    require_integer(None, "k", allows_none=True)
    for value in (0, 1.0, True, "3", None):
        with pytest.raises(InvalidInput, match=r"^k=.* is not allowed\. Pass an integer >= 1\.$"):
            require_integer(value, "k")
    with pytest.raises(InvalidInput, match=r"Pass an integer >= 1, or None\.$"):
        require_integer(0, "k", allows_none=True)


def test_require_number():
    require_number(0.5, "p", above=0, below=1)
    require_number(0, "p", at_least=0)
    require_number(None, "p", allows_none=True)
    with pytest.raises(InvalidInput, match=r"^p=1 is not allowed\. Pass .* > 0 and < 1\.$"):
        require_number(1, "p", above=0, below=1)
    for value in (math.nan, math.inf, "1", True, -1):
        with pytest.raises(InvalidInput, match=r"Pass a finite number >= 0\.$"):
            require_number(value, "p", at_least=0)


def test_require_number_at_most():
    require_number(1, "p", above=0, at_most=1)
    with pytest.raises(InvalidInput, match=r"Pass a finite number > 0 and <= 1\.$"):
        require_number(1.1, "p", above=0, at_most=1)


@pytest.mark.parametrize("value", [1, 10**9, 1e9, np.int64(10**9), np.float32(4)])
def test_optional_count_returns_an_int(value):
    assert optional_count(value, "n") == value
    assert type(optional_count(value, "n")) is int


def test_optional_count():
    assert optional_count(None, "n") is None
    for value in (0, -1, 0.5, math.nan, math.inf, "3", True, [1]):
        with pytest.raises(InvalidInput, match=r"^n=.* Pass a whole number > 0, or None\.$"):
            optional_count(value, "n")


def test_require_choice():
    require_choice("a", "kind", ("a", "b"))
    for value in ("c", None, 1):
        with pytest.raises(InvalidInput, match=r"is not known\. Use one of \['a', 'b'\]\.$"):
            require_choice(value, "kind", ("a", "b"))


def test_weights_or_ones():
    assert weights_or_ones(None, 3).tolist() == [1, 1, 1]
    given = np.array([1.0, 2.0])
    assert weights_or_ones(given, 2) is given


@pytest.mark.parametrize("value", [1 / 3, 2 / 3, 0.1, 1e-300, 2.5e7, 0.9999999, 123456.5, 5.0])
@pytest.mark.parametrize("digits", [1, 4, 6])
def test_significant_digits_are_rounded_to_the_safe_side(value, digits):
    low, high = (float(significant(value, is_up=up, digits=digits)) for up in (False, True))
    assert low <= value <= high
    assert high - low <= 1.1 * 10 ** (1 - digits) * value


def test_rounding_errors_are_not_significant():
    assert significant(1 - 0.9, is_up=False) == significant(0.1 + 1e-17, is_up=True) == "0.1"
    assert significant(0.05, is_up=True) == "0.05"


def test_ratios_are_rounded_up():
    assert rounded_up(1.00001) == "1.0001"
    assert rounded_up(1.0) == "1.0000"
    assert rounded_up(math.inf) == "inf"
