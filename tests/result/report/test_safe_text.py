import json
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from protobandit.result.report.safe_text import (
    cell_value,
    clean,
    integral_as_int,
    rounded,
    script_json,
    shortened,
)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("a\x00b\x07c\x7f", "a␀b␇c␡"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("mac\rdos\r\n", "mac\ndos\n"),
        ("\ud800 alone", "\ufffd alone"),
        ("\u202eolleh\u202c", "[U+202E]olleh[U+202C]"),
        ("\u2067a\u2066b\u2068c\u2069", "[U+2067]a[U+2066]b[U+2068]c[U+2069]"),
        ("\u200ea\u200fb\u061c", "[U+200E]a[U+200F]b[U+061C]"),
        ("\x85next", "[U+0085]next"),
        ("שלום", "שלום"),
        (3.5, "3.5"),
    ],
)
def test_text_is_kept_and_control_characters_are_made_visible(given, kept):
    assert clean(given) == kept
    clean(given).encode("utf-8")


def test_a_long_text_ends_in_an_ellipsis():
    assert shortened("a" * 10, 10) == "a" * 10
    assert shortened("a" * 11, 10) == "a" * 10 + "…"


def test_json_can_stand_inside_a_script_element():
    hostile = ["</script><!--", "&lt;", "\u2028\u2029", 'q"\\']
    text = script_json(hostile)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == hostile


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        (True, True),
        (np.True_, True),
        (7, 7),
        (2**60, str(2**60)),
        (np.float32(0.1), 0.1),
        (np.float32(16777216.0), 16777216),
        (np.float16(0.1), 0.1),
        (1 / 3, 0.333333333333333),
        (12345.67, 12345.67),
        (1234567.891, 1234567.891),
        (1_700_000_000, 1_700_000_000),
        (np.int64(2021), 2021),
        (2.0, 2),
        (math.nan, None),
        (math.inf, None),
        (pd.NA, None),
        (pd.NaT, None),
        (Decimal("1.10"), "1.1…"),
        ([1, 2], "[1,…"),
        ("x" * 5, "xxx…"),
    ],
)
def test_cells_keep_their_value(given, kept):
    found = cell_value(given, 3)
    assert found == kept
    assert type(found) is type(kept)


def test_numbers_keep_six_digits():
    assert rounded(123456.789) == 123457
    assert rounded(1.23456789e-8) == 1.23457e-8


def test_floats_without_fraction_become_integers():
    values = [
        integral_as_int(value) for value in (2.0, np.float32(3), 2.5, -0.0, 1e300, math.inf, "4.0")
    ]
    assert values == [2, 3, 2.5, 0, 1e300, math.inf, "4.0"]
    assert [type(value) for value in values[:2]] == [int, int]
    assert math.isnan(integral_as_int(math.nan))
