"""The tables of README.md and docs/benchmarks.md agree with docs/results."""

from __future__ import annotations

import re

import pytest
from benchmarks.common.pages import with_tables

from benchmarks import readme


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.name)
def test_tables_agree_with_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert text == with_tables(text, readme.TABLES), "run python -m benchmarks.readme"


def test_every_table_is_on_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in readme.PAGES)
    assert set(re.findall(r"<!-- table (\S+) -->", text)) == set(readme.TABLES)


def test_text_between_the_markers_is_replaced():
    text = "before\n<!-- table paper -->\nold\n<!-- end -->\nafter\n"
    new = with_tables(text, readme.TABLES)
    assert new.startswith("before\n<!-- table paper -->\n| | evaluations |")
    assert new.endswith(" |\n<!-- end -->\nafter\n")
    assert "old" not in new


@pytest.mark.parametrize(
    ("n", "whole", "share"), [(0, 9, "0"), (9, 9, "all"), (2, 9, "1/4"), (2, 14731, "1/7,370")]
)
def test_shares(n, whole, share):
    assert readme._share(n, whole) == share


def test_losses_with_sign_and_deviation():
    assert readme._percent(0.0022, 0.00087) == "0.22 ± 0.09 %"
    assert readme._percent(-0.0007, 0.0007) == "−0.07 ± 0.07 %"
    assert readme._percent(0.0, 0.0) == "0"
