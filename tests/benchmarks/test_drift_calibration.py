"""How often drift is reported: one draw of each case, and the page of results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.common import sessions
from benchmarks.common.records import read_records
from benchmarks.drift_calibration import CASES, FAMILIES, NAME, Alarms, Case, alarms, page

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "drift"


@pytest.mark.parametrize("family", FAMILIES)
def test_one_draw_of_each_family(family):
    (found,) = alarms(Case(family, 60, 6, new_rows=(30,)), 1, 1)
    assert (found.family, found.draws, found.new_rows) == (family, 1, 30)
    assert found.uncorrected_ratio > found.median_ratio > 0


def test_the_families_have_new_rows_in_every_size():
    random = np.random.default_rng(0)
    assert {len(FAMILIES[case.family](random, 7)) for case in CASES} == {7}


@pytest.mark.skipif(not RESULTS.exists(), reason="docs/results is not available")
def test_the_page_agrees_with_its_figures():
    records = read_records(RESULTS / f"{NAME}.csv", Alarms)
    made = sessions.read(RESULTS / sessions.FILE)[NAME]
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page(records, made)
    same = [each for each in records if each.change == "none" and each.k * 10 >= each.rows]
    assert len(same) >= 8
    for each in same:  # 3 to 7 %, and two standard errors of a share of few draws
        margin = 0.0 if each.draws >= 1000 else 2 * (0.05 * 0.95 / each.draws) ** 0.5
        assert 0.03 - margin <= each.alarms / each.draws <= 0.07 + margin
