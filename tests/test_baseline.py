"""Every method returns the recorded indices, costs and counts."""

from __future__ import annotations

import json
import math

import pytest

import baseline

RECORDED = json.loads(baseline.FILE.read_text(encoding="utf-8"))
CASES = baseline.cases()


def test_every_case_is_recorded():
    assert sorted(CASES) == sorted(RECORDED)


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_result_is_the_recorded_one(name):
    assert baseline.differences(RECORDED[name], baseline.outcome(CASES[name])) == []


def test_differences_are_detected():
    recorded = {"indices": [1, 2], "costs": [1.0, math.nan], "is_stopped": False}
    assert baseline.differences(recorded, {**recorded, "costs": [1.0 + 1e-8, math.nan]}) == []
    for changed in (
        {"indices": [2, 1]},
        {"indices": [1]},
        {"costs": [1.0 + 1e-5, math.nan]},
        {"costs": [1.0, 1.0]},
        {"is_stopped": True},
        {"more": 1},
    ):
        assert baseline.differences(recorded, {**recorded, **changed})
    assert baseline.differences(recorded, {"refused": "InvalidInput"})
