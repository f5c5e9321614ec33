"""README.md and docs/benchmarks.md say what docs/results holds."""

from __future__ import annotations

import re

import pytest

from benchmarks import readme


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_results(page):
    words = page.read_text(encoding="utf-8")
    assert words == readme.renewed(words), "run python -m benchmarks.readme"


def test_every_table_stands_somewhere():
    words = "".join(page.read_text(encoding="utf-8") for page in readme.PAGES)
    assert set(re.findall(r"<!-- table (\S+) -->", words)) == set(readme.TABLES)


def test_what_is_between_the_marks_is_replaced():
    words = "before\n<!-- table paper -->\nold\n<!-- end -->\nafter\n"
    new = readme.renewed(words)
    assert new.startswith("before\n<!-- table paper -->\n| | evaluations |")
    assert new.endswith(" |\n<!-- end -->\nafter\n")
    assert "old" not in new


@pytest.mark.parametrize(
    ("n", "whole", "share"), [(0, 9, "0"), (9, 9, "all"), (2, 9, "1/4"), (2, 14731, "1/7,370")]
)
def test_shares(n, whole, share):
    assert readme._share(n, whole) == share


def test_losses_have_signs_and_deviations():
    assert readme._percent(0.0022, 0.00087) == "0.22 ± 0.09 %"
    assert readme._percent(-0.0007, 0.0007) == "−0.07 ± 0.07 %"
    assert readme._percent(0.0, 0.0) == "0"
