"""Updates compared with selecting from scratch: a small case, and the page of results."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.common import sessions
from benchmarks.common.records import read_records
from benchmarks.updates import KEEPS, NAME, Updated, measured, page

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "updates"


def test_a_small_case():
    found = measured(200, 50, 10)
    assert [each.keep for each in found] == list(KEEPS)
    for each in found:
        assert each.kept >= each.keep * 10
        assert each.updated_cost <= each.old_cost + 1e-6


@pytest.mark.skipif(not RESULTS.exists(), reason="docs/results is not available")
def test_the_page_agrees_with_its_figures():
    records = read_records(RESULTS / f"{NAME}.csv", Updated)
    made = sessions.read(RESULTS / sessions.FILE)[NAME]
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page(records, made)
