import json
import math

import numpy as np
import pytest

from protobandit.report._words import as_json, cell, clean, number, shortened


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("a\x00b\x07c\x7f", "a␀b␇c␡"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("mac\rdos\r\n", "mac\ndos\n"),
        ("\ud800 alone", "\ufffd alone"),
        ("\u202eolleh\u202c", "[U+202E]olleh[U+202C]"),
        ("\x85next", "[U+0085]next"),
        ("שלום", "שלום"),
        (3.5, "3.5"),
    ],
)
def test_text_is_kept_and_what_a_page_would_obey_is_shown(given, kept):
    assert clean(given) == kept
    clean(given).encode("utf-8")


def test_a_long_text_ends_in_an_ellipsis():
    assert shortened("a" * 10, 10) == "a" * 10
    assert shortened("a" * 11, 10) == "a" * 10 + "…"


def test_json_can_stand_inside_a_script_element():
    hostile = ["</script><!--", "&lt;", "\u2028\u2029", 'q"\\']
    text = as_json(hostile)
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
        (1 / 3, 0.333333),
        (2.0, 2),
        (math.nan, None),
        (math.inf, None),
        ("x" * 5, "xxx…"),
    ],
)
def test_a_cell_is_a_short_value(given, kept):
    assert cell(given, 3) == kept


def test_numbers_keep_six_digits():
    assert number(123456.789) == 123457
    assert number(1.23456789e-8) == 1.23457e-8
