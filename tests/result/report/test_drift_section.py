"""The section on new rows."""

from __future__ import annotations

import numpy as np

from protobandit.result.drift import Drift, Quantile
from protobandit.result.report.drift_section import drift_section


def drift(**changes):
    given = {
        "cost": 2.0,
        "reference_cost": 1.0,
        "ratio": 2.0,
        "p_value": 0.001,
        "quantiles": (Quantile(0.5, 0.9, 1.8),),
        "share_beyond": 0.25,
        "worst_rows": np.array([1234, 5]),
        "mass_change": np.array([0.5, -0.5]),
        "rows_to_add": np.array([7]),
        "n_rows": 2000,
        "n_reference": 512,
        "evaluations": 1,
    }
    return Drift(**{**given, **changes})


def test_numbers_and_rows():
    text = drift_section(drift())
    for part in (
        "2 ×",
        "0.001",
        "25.0\u00a0%",
        "50.0\u00a0%",
        "<td>1.8</td>",
        "1,234, 5",
        "new rows 7.",
    ):
        assert part in text
    assert 'class="warning"' in text


def test_without_evidence():
    text = drift_section(drift(p_value=0.4, rows_to_add=np.array([], dtype=int)))
    assert 'class="warning"' not in text
    assert "Worth adding" not in text
    assert drift_section(None) == ""
