"""The comparison by field, on very small problems and without other packages."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.common import machine
from benchmarks.comparison.results import FAILED, OK

from benchmarks import fields


@pytest.mark.parametrize("field", [f for f in fields.FIELDS if f.make], ids=lambda f: f.name)
def test_rows_are_reproducible_and_of_their_kind(field):
    rows, again = (field.make(200, np.random.default_rng(0)) for _ in range(2))
    assert (rows == again).all()
    assert rows.dtype == (bool if field.metric == "jaccard" else np.float32)
    assert np.isfinite(rows).all()
    if field.metric == "cosine":
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_gower_is_a_mean_over_columns():
    rows = fields.mixed_table(100, np.random.default_rng(0))
    numbers, categories = rows[:, :10], rows[:, 10:].reshape(100, 6, 5)
    np.testing.assert_allclose(np.ptp(numbers, axis=0), 1 / 16, rtol=1e-5)
    other = np.abs(categories[0] - categories[1]).sum(axis=1)
    assert {*np.round(other * 16, 5)} <= {0.0, 1.0}


def test_costs():
    bits = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]], dtype=bool)
    assert fields.cost_of(bits[:1], bits, "jaccard") == pytest.approx((0 + 1 / 2 + 1) / 3)
    rows = np.array([[0.0, 0.0], [1.0, 2.0]], dtype=np.float32)
    assert fields.cost_of(rows[:1], rows, "manhattan") == pytest.approx(1.5)


def test_warped_series_are_near():
    bump = np.exp(-0.5 * ((np.arange(40) - 20) / 3) ** 2)
    rows = np.array([bump, np.roll(bump, 4), -bump])
    cost = fields.cost_of(rows[:1], rows, "dtw")
    assert cost == pytest.approx(fields.cost_of(rows[:1], rows[2:], "dtw") / 3, abs=0.05)


def test_a_run_continues_and_its_table_shows_failures(tmp_path, monkeypatch, capsys):
    calls = []

    def report_of(command, limits, metric):
        calls.append(command)
        if "farthest" in command:
            return FAILED, {"reason": "over 60 s"}
        name = {"random": [0, 1, 2]}.get(command[-1], [3, 4, 5])
        sizes = {"peak_mb": 30.0, "baseline_mb": 10.0}
        return OK, {"indices": name, "version": "1", "seconds": 0.5, **sizes}

    monkeypatch.setattr(fields, "report_of", report_of)
    monkeypatch.setattr(machine, "commit", lambda: "abc1234")
    arguments = ["--only", "bits", "--scale", "0.01", "--out", str(tmp_path / "fields.json")]
    fields.main(arguments)
    assert len(calls) == 4  # two contestants need --peers
    printed = capsys.readouterr().out
    assert (
        "| bit vectors (made) | 200 × 1024 | 10 | jaccard | protobandit | 1 | 0.5 s | 20 MB |"
        in printed
    )
    assert "farthest first | over 60 s | – | – |" in printed
    assert "geosketch | not installed (--peers) |" in printed
    document = json.loads((tmp_path / "fields.json").read_text(encoding="utf-8"))
    assert document["command"].startswith("python -m benchmarks.fields --only bits")
    fields.main(arguments)
    assert len(calls) == 4, "continued"
    assert (
        len(json.loads((tmp_path / "fields.json").read_text(encoding="utf-8"))["figures"]["fits"])
        == 6
    )
    monkeypatch.setattr(machine, "commit", lambda: "def5678")
    fields.main(arguments)
    assert len(calls) == 8, "another commit starts again"
